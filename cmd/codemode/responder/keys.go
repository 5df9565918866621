package responder

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/approvals/terminal"
	"github.com/codemode-project/codemode/internal/visible"
)

// key handles a key.
func (s *screen) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if name == "ctrl+c" || name == "q" && s.mode == choosing {
		return tea.Quit
	}
	i := s.list.index()
	if i < 0 || s.now().Sub(s.since) < settle && !(s.typesWords() && k.Key().Text != "") {
		return nil
	}
	s.reader.look(s.now())
	s.notice = ""
	if s.mode == editing {
		return s.edit(k)
	}
	switch name {
	case "pgdown", "ctrl+d":
		s.reader.turn(1)
		return nil
	case "pgup", "ctrl+u":
		s.reader.turn(-1)
		return nil
	}
	switch s.mode {
	case choosing:
		s.choose(name, i)
	case answering:
		return s.pick(name)
	case reasoning, coding, writing, limiting:
		s.typing(k)
	}
	return nil
}

func (s *screen) choose(key string, i int) {
	it := s.list.items[i]
	s.list.byHand = true
	switch key {
	case "up", "k":
		i = max(i-1, 0)
	case "down", "j":
		i = min(i+1, len(s.list.items)-1)
	case "s":
		s.show(it)
	case "space":
		if !s.list.mark(it) {
			s.notice = "Only calls of a batch can be marked."
		}
	case "enter":
		s.begin(it)
	}
	if id := s.list.items[i].id; id != s.list.chosen {
		s.list.chosen, s.reader.scroll = id, 0
		clear(s.ticked)
	}
}

// begin opens the answers to an item, with the refusal chosen, and keeps its arguments in view.
func (s *screen) begin(it item) {
	if s.outcomes.open(it) {
		s.notice = "Your answer was already sent."
		return
	}
	s.asked, s.answer, s.edited = it, 0, false
	s.enter(answering)
	if s.reader.scroll == 0 {
		s.reader.scroll = s.reader.argumentsLine(it, s.room())
	}
}

// back opens the changed arguments of a question again, after the process did not accept them.
func (s *screen) back(id string) {
	i := s.list.place(id)
	if s.drafts[id] == "" || i < 0 || s.mode != choosing || s.list.chosen != id {
		return // the person looks at another question now
	}
	it := s.list.items[i]
	s.begin(it)
	s.answer = slices.IndexFunc(s.options(it), func(o option) bool { return o.edits })
	if len(s.command()) == 0 {
		s.enter(editing)
	}
}

// An option is one of the answers to an item.
type option struct {
	text  string
	scope call.Scope // of a yes to calls
	edits bool       // with other arguments
	ticks bool       // an option of a program's question
	do    func()     // when it is chosen; nil if it edits
}

func (s *screen) options(it item) []option {
	w := it.one()
	switch {
	case it.batch:
		return s.together(it)
	case w.Inquiry != nil:
		return s.replies(it, w.Inquiry)
	case len(w.Offers) == 0:
		return []option{{text: "Nothing can be answered here: see above", do: func() {
			s.notice = "People answer this call in another place, as said above it."
		}}}
	}
	all := s.refusals(it, "")
	for _, o := range w.Offers {
		all = append(all, s.yes(it, o))
	}
	if len(w.Args) > 0 {
		text := "Change the arguments, and allow those"
		if s.drafts[w.ID] != "" {
			text = "Continue changing the arguments, and allow those"
		}
		all = append(all, option{text: text, edits: true})
	}
	return all
}

// together are the answers to a batch: for all calls, or for the marked ones.
func (s *screen) together(it item) []option {
	which, offers := fmt.Sprintf(" all %d calls", len(it.calls)), it.offers
	if n := len(s.list.targets(it)); n < len(it.calls) {
		which = fmt.Sprintf(" the %d marked calls", n)
		if n == 1 {
			which = " the marked call"
		}
		offers = []prompt.Offer{{Scope: call.Once, Text: "Allow" + which + ", once each"}}
	}
	all := s.refusals(it, which)
	for _, o := range offers {
		all = append(all, s.yes(it, o))
	}
	return all
}

func (s *screen) refusals(it item, which string) []option {
	return []option{{text: "Refuse" + which, do: func() { s.send(it, terminal.Said{}) }},
		{text: "Refuse" + which + ", and say why", do: func() { s.enter(reasoning) }}}
}

func (s *screen) yes(it item, o prompt.Offer) option {
	return option{text: visible.Line(o.Text), scope: o.Scope, do: func() {
		if s.seenEnough(it, o.Scope) {
			s.allow(it, terminal.Said{Scope: o.Scope, Uses: s.uses, Length: s.length})
		}
	}}
}

func (s *screen) pick(key string) tea.Cmd {
	it := s.asked
	all := s.options(it)
	s.answer = min(s.answer, len(all)-1)
	switch o := all[s.answer]; {
	case key == "up" || key == "k":
		s.answer = max(s.answer-1, 0)
	case key == "down" || key == "j":
		s.answer = min(s.answer+1, len(all)-1)
	case key == "esc":
		s.enter(choosing)
	case key == "s":
		s.show(it)
	case key == "l" && o.limited():
		s.enter(limiting)
	case key == "enter" && o.edits:
		if s.seenEnough(it, "") {
			return s.openEditor(it.one())
		}
	case key == "enter", key == "space" && o.ticks:
		o.do()
	}
	return nil
}

// limited reports whether a person can limit a yes.
func (o option) limited() bool {
	return o.scope != "" && o.scope != call.Once && o.scope != call.ForPlan
}

// limit sends the chosen yes with the limits that the person typed.
func (s *screen) limit(it item) {
	uses, length, err := prompt.ReadLimits(s.typed)
	if err != nil {
		s.notice, s.typed = err.Error()+".", ""
		return
	}
	o := s.options(it)[s.answer]
	if !s.seenEnough(it, o.scope) {
		s.mode = answering
		return
	}
	s.uses, s.length = uses, length
	s.allow(it, terminal.Said{Scope: o.scope, Uses: uses, Length: length})
}

// seenEnough reports whether the person may say yes. The screen must have shown all lines of a call of high risk, of a
// plan and of a batch. It scrolls to the first unseen line.
func (s *screen) seenEnough(it item, scope call.Scope) bool {
	why := ""
	switch {
	case !it.batch && it.one().NeedsCode:
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
func (s *screen) allow(it item, said terminal.Said) {
	said.Yes = true
	if !it.batch && it.one().NeedsCode {
		s.enter(coding)
		return
	}
	s.send(it, said)
}

// typing handles the keys of a reason, a code or an answer.
func (s *screen) typing(k tea.KeyPressMsg) {
	it := s.asked
	switch name := k.String(); name {
	case "esc":
		s.edited = false
		s.enter(answering)
	case "backspace":
		if r := []rune(s.typed); len(r) > 0 {
			s.typed = string(r[:len(r)-1])
		}
	case "enter":
		switch s.mode {
		case reasoning:
			s.send(it, terminal.Said{Reason: s.typed})
		case writing:
			s.wrote(it)
		case limiting:
			s.limit(it)
		default:
			s.coded(it)
		}
	default:
		s.write(k.Key().Text)
	}
}

// write adds to the typed text.
func (s *screen) write(text string) {
	most := prompt.MaxWords
	if s.mode == writing {
		most = prompt.MaxAnswer
	}
	for _, r := range text {
		if len([]rune(s.typed)) < most && visible.Rune(r) {
			s.typed += string(r)
		}
	}
}

// typesWords reports whether the person is writing words. They chose to, so no letter of them is lost; only the key that
// sends the words has to wait.
func (s *screen) typesWords() bool { return s.mode == reasoning || s.mode == writing }

// paste handles a text that the terminal pastes.
func (s *screen) paste(msg tea.PasteMsg) tea.Cmd {
	switch {
	case s.typesWords():
		s.write(msg.Content)
	case s.mode == editing && s.now().Sub(s.since) >= settle:
		var cmd tea.Cmd
		s.editor, cmd = s.editor.Update(msg)
		return cmd
	}
	return nil
}

// coded sends a yes if the typed code is correct.
func (s *screen) coded(it item) {
	w := it.one()
	if s.typed != w.Code {
		s.notice = "That is not the code of this question."
		s.typed = ""
		return
	}
	said := terminal.Said{Yes: true, Code: s.typed}
	if s.edited {
		said.Args = []byte(s.drafts[w.ID])
	} else {
		said.Scope, said.Uses, said.Length = s.options(it)[s.answer].scope, s.uses, s.length
	}
	s.send(it, said)
}

// send answers the calls of an item and returns to the list.
func (s *screen) send(it item, said terminal.Said) {
	o := &outcome{verb: verbRefused, what: it.row, state: map[string]state{}}
	switch {
	case !it.batch && it.one().Inquiry != nil && said.Yes:
		o.verb = verbAnswered
	case said.Yes && said.Args != nil:
		o.verb = verbChanged
	case said.Yes:
		o.verb = verbAllowed
	}
	calls := s.list.targets(it)
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
	clear(s.ticked)
	s.reader.scroll = 0
	s.enter(choosing)
}
