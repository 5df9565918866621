package console

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/console/records"
	"github.com/codemode-project/codemode/internal/console/text"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
)

const (
	// maxAnswered is how many answers of a session the page shows with their outcome, and answeredFor is for how long.
	// The history has the rest.
	maxAnswered, answeredFor = 12, 15 * time.Minute
	// maxShownValue bounds a result on the page, in bytes; the page of the run shows it whole.
	maxShownValue = 2000
)

// errGone refuses an answer to a question that is closed, already answered, or not this person's.
const errGone = "this question is answered already, or its time is over"

// recorded reports whether the record will contain the end of a request, as it does for calls.
func (c replies) recorded(r *prompt.Request) bool {
	return c.options.Record != nil && r.Run != "" && r.Kind() == "call"
}

// keepAnswered stores the answers that counted, so that pages can show their outcome.
func (s *session) keepAnswered(results []Result, allowed bool, now time.Time) {
	byRun := map[string]*answered{}
	calls := map[string][]*prompt.Request{}
	var all []*answered
	for _, x := range results {
		if !x.OK || x.about == nil {
			continue
		}
		run := x.about.Run
		a := byRun[run]
		if a == nil {
			a = &answered{
				time: now, principal: x.about.Principal, allowed: allowed, inquiry: x.about.Inquiry != nil, edited: x.edited,
				other: x.other, results: map[int]*Result{}, said: map[int]string{},
			}
			a.tool = prompt.Heading(x.about)
			byRun[run] = a
			all = append(all, a)
		}
		if a.tool != prompt.Heading(x.about) {
			a.tool = "one program"
		}
		a.ids, calls[run] = append(a.ids, x.ID), append(calls[run], x.about)
		a.calls = append(a.calls, answeredCall{x.about.Call, prompt.Summary(x.about)})
		if x.asked != nil {
			a.run = run
			if x.Outcome != "" {
				a.results[x.about.Call] = &x
			}
		}
	}
	for run, a := range byRun {
		if len(a.calls) == 1 {
			continue
		}
		rows, _ := prompt.Rows(calls[run])
		for i, row := range rows {
			a.calls[i].summary = row
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered = append(s.answered, all...)
	s.answered = s.answered[max(0, len(s.answered)-maxAnswered):]
}

// keepGone keeps as answered the questions that the session's pages showed and that are not open any more, so that no
// card vanishes without a word.
func (c replies) keepGone(s *session, open []*asked) {
	var gone []Result
	s.mu.Lock()
	for id, r := range s.listed {
		if !slices.ContainsFunc(open, func(a *asked) bool { return a.ID == id }) {
			x := Result{ID: id, OK: true, about: r, other: true}
			if c.recorded(r) {
				x.asked = r
			}
			gone = append(gone, x)
			delete(s.listed, id)
		}
	}
	s.mu.Unlock()
	slices.SortFunc(gone, func(a, b Result) int {
		return cmp.Or(cmp.Compare(a.about.Run, b.about.Run), cmp.Compare(a.about.Call, b.about.Call), cmp.Compare(a.ID, b.ID))
	})
	s.keepAnswered(gone, true, c.logins.now())
}

// goneBecause is [errGone], with who answered what if the session showed the question and may know it.
func (c replies) goneBecause(ctx context.Context, s *session, id string) string {
	s.mu.Lock()
	r := s.listed[id]
	s.mu.Unlock()
	if r == nil || !c.recorded(r) {
		return errGone
	}
	_, said, err := c.ended(ctx, s, r.Run)
	if err != nil || said[r.Call] == "" {
		return errGone
	}
	return errGone + ": " + said[r.Call]
}

// An answeredView is an answer as a page shows it.
type answeredView struct {
	ID, For string // of its element, and of the questions
	Mark    string // changes with the content
	Class   string // of its worst call: open, bad, good, or plainly
	State   string
	Summary string
	Edited  bool
	Other   bool // this session did not answer it
	Time    time.Time
	Run     string        // with a page of details; "" if this person may not see it
	Why     string        // of one call
	Value   []prompt.Span // the result of one call
	Calls   []endedView   // if they are several
	Closed  bool          // all of them ended the same way
}

// An endedView is one call of an answer.
type endedView struct {
	Class, State, Summary, Why string
}

// answered lists a person's latest answers, newest first, with the outcome in the record.
func (c replies) answered(r *http.Request, s *session) (list []*answeredView) {
	now := c.logins.now()
	s.mu.Lock()
	s.answered = slices.DeleteFunc(s.answered, func(a *answered) bool { return now.Sub(a.time) > answeredFor })
	all := slices.Clone(s.answered)
	s.mu.Unlock()
	slices.Reverse(all)
	for _, a := range all {
		c.lookUp(r.Context(), s, a)
		list = append(list, c.showAnswered(s, a))
	}
	return list
}

// lookUp reads from the record how an answer's calls ended, and who gave it if it was not this session.
func (c replies) lookUp(ctx context.Context, s *session, a *answered) {
	s.mu.Lock()
	known := len(a.results)
	if a.other {
		known = len(a.said)
	}
	missing := a.run != "" && known < len(a.calls)
	s.mu.Unlock()
	if !missing {
		return
	}
	ended, said, err := c.ended(ctx, s, a.run)
	if err != nil {
		return // the next lookUp may succeed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, call := range a.calls {
		if got := ended[call.number]; got != nil {
			a.results[call.number] = got
		}
		if text := said[call.number]; text != "" {
			a.said[call.number] = text
		}
	}
}

// ended reads from the record how the calls of a run ended, and what closed their questions, by their numbers.
func (c replies) ended(ctx context.Context, s *session, run string) (ends map[int]*Result, said map[int]string,
	err error) {
	ends, said = map[int]*Result{}, map[int]string{}
	q := store.Query{Run: run, Kinds: []string{audit.Call, audit.Approval}}
	err = c.options.Record.Entries(ctx, q, func(e *audit.Entry) error {
		switch {
		case e.Kind == audit.Approval && e.State != call.Late:
			said[e.Call] = c.saidIn(s, e)
		case e.Kind == audit.Call && audit.Ended(e.State):
			ends[e.Call] = &Result{}
			ends[e.Call].tell(e)
			said[e.Call] = cmp.Or(said[e.Call], records.StateWord(cmp.Or(e.Reason, e.State)))
		}
		return nil
	})
	return ends, said, err
}

// saidIn says what an answer in the record was, and by whom if the person of the session sees that entry.
func (c replies) saidIn(s *session, e *audit.Entry) string {
	if e.DecidedBy == nil || e.DecidedBy.How != call.ByPerson {
		return records.StateWord(e.State)
	}
	what, by := "denied", "somebody else"
	if e.State == call.Allowed {
		what = "allowed"
	}
	if sees := c.sees(s.person); slices.Contains(sees, "") || slices.Contains(sees, e.Principal) {
		by = records.RowOf(e).By
	}
	return what + " by " + by
}

// showAnswered makes the view of an answer.
func (c replies) showAnswered(s *session, a *answered) *answeredView {
	v := &answeredView{ID: "given-" + a.ids[0], For: strings.Join(a.ids, " "), Time: a.time, Edited: a.edited}
	if sees := c.sees(s.person); a.run != "" && (slices.Contains(sees, "") || slices.Contains(sees, a.principal)) {
		v.Run = a.run
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	count := map[string]int{}
	var states []string
	for _, call := range a.calls {
		x := endedView{Summary: call.summary}
		x.State, x.Class = a.state(call.number)
		if got := a.results[call.number]; got != nil {
			x.Why = got.Why
		}
		if count[x.State]++; count[x.State] == 1 {
			states = append(states, x.State)
		}
		v.Calls = append(v.Calls, x)
	}
	slices.SortStableFunc(states, func(x, y string) int { return cmp.Compare(count[y], count[x]) })
	for _, class := range []string{"plainly", "good", "bad", "open"} {
		if slices.ContainsFunc(v.Calls, func(x endedView) bool { return x.Class == class }) {
			v.Class = class
		}
	}
	if len(v.Calls) == 1 {
		one := v.Calls[0]
		v.State, v.Summary, v.Why, v.Calls = one.State, one.Summary, one.Why, nil
		if got := a.results[a.calls[0].number]; got != nil && got.Outcome == audit.OK {
			v.Value = shownValue(got.Value)
		}
	} else {
		v.State, v.Closed = states[0], len(states) == 1
		if !v.Closed {
			var counts []string
			for _, state := range states {
				counts = append(counts, fmt.Sprintf("%d %s", count[state], state))
			}
			v.State = strings.Join(counts, ", ")
		}
		v.Summary = fmt.Sprintf("%d calls of %s", len(v.Calls), a.tool)
	}
	v.Mark, v.Other = fmt.Sprint(len(a.results), " ", v.State), a.other
	return v
}

// shownValue is the result of a call, if it is short enough to show beside others.
func shownValue(value json.RawMessage) []prompt.Span {
	if len(value) == 0 || len(value) > maxShownValue || string(value) == "null" {
		return nil
	}
	return text.Lines(text.Editable(value))
}
