package responder

import (
	"fmt"
	"os"
	"time"

	"charm.land/bubbles/v2/textarea"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/approvals/terminal"
	"github.com/codemode-project/codemode/internal/visible"
)

// A screen is the model of codemode approvals. It lists questions and batches of questions, shows the text of the
// chosen one, and sends the person's answers.
type screen struct {
	links    map[*link]bool
	inbox    inbox
	list     list
	reader   reader // of the chosen item
	form     form   // unless choosing
	outcomes outcomes
	mode     mode
	editor   textarea.Model // while editing: with the draft

	width, height int
	light         bool // the background is light
	notice        string
	since         time.Time // keys count from then on, see settle

	leave bool      // end when it has been alone for leaveAfter
	alone time.Time // since when no process is connected

	now func() time.Time
	env func(string) string
}

// leaveAfter is how long a screen that codemode opened stays without a connected process.
const leaveAfter = 20 * time.Second

// settle is how long keys are ignored after a change of the screen: the person meant them for the earlier content.
const settle = 400 * time.Millisecond

func newScreen() *screen {
	return &screen{
		width: 80, height: 24, links: map[*link]bool{}, inbox: inbox{batches: map[*link][]terminal.Batch{}},
		list:   list{marked: map[string]bool{}},
		reader: reader{width: 80, whole: map[string]*prompt.View{}, read: map[string]*seenText{}},
		form:   form{ticked: map[int]bool{}, drafts: map[string]string{}}, outcomes: outcomes{sent: map[string]bool{}},
		now: time.Now, env: os.Getenv,
	}
}

func (s *screen) enter(m mode) { s.mode, s.form.typed, s.since = m, "", s.now() }

func (s *screen) say(to *link, said terminal.Said) bool {
	err := to.say(said)
	if err != nil {
		s.notice = "Not sent: " + visible.Line(err.Error())
	}
	return err == nil
}

// show asks for the complete text of an item.
func (s *screen) show(it item) {
	said := terminal.Said{Kind: "show", ID: it.id}
	if it.batch {
		for _, w := range it.calls {
			said.IDs = append(said.IDs, w.ID)
		}
	}
	s.say(it.calls[0].from, said)
	s.reader.scroll = 0
}

// seenEnough reports whether the person may say yes. The screen must have shown all lines of a call of high risk, of a
// plan and of a batch. It scrolls to the first unseen line.
func (s *screen) seenEnough(it item, scope call.Scope) bool {
	why := ""
	switch {
	case it.needsCode():
		why = "You have to see all of a call of this risk before you allow it"
	case scope == call.ForPlan:
		why = "You have to see all of a plan before you allow it"
	case it.batch:
		why = "You have to see all calls before you allow them"
	default:
		return true
	}
	if !it.batch && it.one().MustSee && s.reader.whole[it.id] == nil {
		s.show(it)
		s.since = s.now()
		s.notice = why + ": here is all of it. Page down to its end, and choose again."
		return false
	}
	at, left := s.reader.unseen(it, it.batch && scope != call.ForPlan)
	if left == 0 {
		return true
	}
	s.reader.scroll, s.since = at, s.now()
	s.notice = fmt.Sprintf("%s: %s not shown yet. Page down, and choose again.", why, cli.Count(left, "more line"))
	return false
}

// allow sends a yes, or first asks for the code that it needs.
func (s *screen) allow(said terminal.Said) {
	if !s.form.asked.needsCode() {
		s.send(said)
		return
	}
	s.form.said = said
	s.enter(coding)
}

// send sends an answer to the item and returns to the list.
func (s *screen) send(said terminal.Said) {
	it, calls := s.form.asked, s.form.calls
	o := &outcome{verb: verbRefused, what: it.row, state: map[string]state{}}
	switch {
	case it.inquiry() != nil && said.Yes:
		o.verb = verbAnswered
	case said.Yes && said.Args != nil:
		o.verb = verbChanged
	case said.Yes:
		o.verb = verbAllowed
	}
	if len(calls) < len(it.calls) {
		o.what = fmt.Sprintf("%d of %s", len(calls), it.row)
	}
	for _, w := range calls {
		said.Kind, said.ID, said.Digest = "answer", w.ID, w.Digest
		if s.say(w.from, said) {
			o.calls = append(o.calls, w.ID)
			delete(s.list.marked, w.ID)
		}
	}
	if len(o.calls) > 0 {
		s.outcomes.add(o)
	}
	clear(s.form.ticked)
	s.reader.scroll = 0
	s.enter(choosing)
}
