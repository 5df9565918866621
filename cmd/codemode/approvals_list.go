package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/approvals/terminal"
	"github.com/codemode-project/codemode/internal/visible"
)

// An item of the list is a question, or a batch of calls that can be answered together, whose calls come right behind
// it.
type item struct {
	id    string
	batch bool
	calls []waiting // those of a batch, or the question alone
	row   string    // in the list
	text  string    // as it is shown
	whole bool      // nothing is left out of text
	plan  string    // of a batch: the words of the offer that goes with all of them
	in    string    // of a call: the ID of its batch
}

// list makes items of what waits. A batch stands where its oldest call is.
func (s *approvalsScreen) list() []item {
	var all []item
	placed := map[string]bool{}
	for _, w := range s.waiting {
		if placed[w.ID] {
			continue
		}
		b, calls := s.batchOf(w)
		if b == nil {
			all = append(all, single(w, visible.Line(w.Summary), ""))
			continue
		}
		name := visible.Line(calls[0].Heading)
		if slices.ContainsFunc(calls, func(c waiting) bool { return c.Heading != calls[0].Heading }) {
			name = "several tools"
		}
		all = append(all, item{
			id: b.ID, batch: true, calls: calls, text: b.Text, whole: b.Whole, plan: visible.Line(b.Plan),
			row: fmt.Sprintf("%d calls: %s", len(calls), name),
		})
		for i, c := range calls {
			placed[c.ID] = true
			all = append(all, single(c, visible.Line(b.Rows[i]), b.ID))
		}
	}
	return all
}

func single(w waiting, row, in string) item {
	return item{id: w.ID, calls: []waiting{w}, row: row, text: w.Text, whole: w.Whole, in: in}
}

// batchOf is the batch that a question belongs to, with its calls; nil if there is none.
func (s *approvalsScreen) batchOf(w waiting) (*terminal.Batch, []waiting) {
	for _, b := range s.batches[w.from] {
		if !slices.Contains(b.IDs, w.ID) || len(b.Rows) != len(b.IDs) {
			continue
		}
		var calls []waiting
		for _, id := range b.IDs {
			if at := slices.IndexFunc(s.waiting, func(x waiting) bool { return x.ID == id }); at >= 0 {
				calls = append(calls, s.waiting[at])
			}
		}
		if len(calls) == len(b.IDs) {
			return &b, calls
		}
	}
	return nil, nil
}

// holds reports whether it is about the same calls as other.
func (it *item) holds(other item) bool {
	return it.id == other.id && slices.EqualFunc(it.calls, other.calls, func(a, b waiting) bool {
		return a.ID == b.ID && a.Digest == b.Digest
	})
}

// one is the only call of an item, which is no batch.
func (it *item) one() waiting { return it.calls[0] }

// of names an item in the question for its answer.
func (it *item) of() string {
	if it.batch {
		return it.row
	}
	if it.one().Inquiry != nil {
		return "the program's question"
	}
	return visible.Line(it.one().Heading)
}

// kind is the risk of a call, or what else an item is.
func (it *item) kind() string {
	switch {
	case it.batch:
		return "batch"
	case it.one().Inquiry != nil:
		return "question"
	}
	return visible.Line(it.one().Risk)
}

// targets are the calls that an answer to it is about: the marked ones of a batch, or all.
func (s *approvalsScreen) targets(it item) []waiting {
	var some []waiting
	for _, w := range it.calls {
		if it.batch && s.marked[w.ID] {
			some = append(some, w)
		}
	}
	if len(some) > 0 {
		return some
	}
	return it.calls
}

// mark marks a call of a batch or takes the mark away; on the batch, it does so for all of them.
func (s *approvalsScreen) mark(it item) {
	switch {
	case it.batch:
		all := !slices.ContainsFunc(it.calls, func(w waiting) bool { return s.marked[w.ID] })
		for _, w := range it.calls {
			s.setMark(w.ID, all)
		}
	case it.in != "":
		s.setMark(it.id, !s.marked[it.id])
	default:
		s.notice = "This one is answered by itself."
	}
}

func (s *approvalsScreen) setMark(id string, on bool) {
	if delete(s.marked, id); on {
		s.marked[id] = true
	}
}

// An outcome is what became of an answer, which may be to several calls.
type outcome struct {
	verb, what string
	calls      []string          // IDs
	state      map[string]string // of each; "" is that it is on its way
}

// States of an answer before anything became of the call.
const (
	stateTaken = "taken"
	notTaken   = "not taken: "
)

// answered notes that an answer was taken, or why not.
func (s *approvalsScreen) answered(t *terminal.Told) {
	delete(s.sent, t.ID)
	state := stateTaken
	if t.Error != "" {
		state = notTaken + visible.Line(t.Error)
		s.notice = "Not taken: " + visible.Line(t.Error)
		if s.drafts[t.ID] != "" && s.place(t.ID) >= 0 {
			s.back(t.ID)
		}
	}
	s.note(t.ID, state)
}

// ended notes what became of a call that was allowed here.
func (s *approvalsScreen) ended(t *terminal.Told) { s.note(t.ID, visible.Line(t.Text)) }

func (s *approvalsScreen) note(id, state string) {
	for _, o := range slices.Backward(s.outcomes) {
		if slices.Contains(o.calls, id) {
			if state != stateTaken || o.state[id] == "" {
				o.state[id] = state
			}
			return
		}
	}
}

// mostOutcomes is how many outcomes are remembered.
const mostOutcomes = 20

func (s *approvalsScreen) remember(o *outcome) {
	if s.outcomes = append(s.outcomes, o); len(s.outcomes) > mostOutcomes {
		s.outcomes = s.outcomes[1:]
	}
}

// line says what became of an answer: the state first, so that it is read before what it is about.
func (o *outcome) line() string {
	if len(o.calls) == 1 {
		switch state := o.state[o.calls[0]]; {
		case state == "":
			return o.verb + ", on its way: " + o.what
		case state == stateTaken && (o.verb == verbAllowed || o.verb == verbChanged):
			return o.verb + ", not done yet: " + o.what
		case state == stateTaken:
			return o.verb + ": " + o.what
		case strings.HasPrefix(state, notTaken):
			return "Not " + strings.ToLower(o.verb[:1]) + o.verb[1:] + ", " + strings.TrimPrefix(state, notTaken) + ": " + o.what
		default:
			return o.verb + ", " + state + ": " + o.what
		}
	}
	ways := []string{}
	times := map[string]int{}
	for _, id := range o.calls {
		way := o.state[id]
		switch {
		case way == "":
			way = "on the way"
		case way == stateTaken && o.verb == verbAllowed:
			way = "not done yet"
		case strings.HasPrefix(way, "done "):
			way = "done"
		}
		if times[way]++; !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	for i, way := range ways {
		ways[i] = fmt.Sprintf("%d %s", times[way], way)
	}
	return fmt.Sprintf("%s, %s: %s", o.verb, strings.Join(ways, ", "), o.what)
}

// What an answer says.
const (
	verbAllowed  = "Allowed"
	verbChanged  = "Allowed with changes"
	verbRefused  = "Refused"
	verbAnswered = "Answered"
)
