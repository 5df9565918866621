package responder

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/approvals/pending"
	"github.com/codemode-project/codemode/internal/approvals/terminal"
	"github.com/codemode-project/codemode/internal/visible"
)

// A link is the connection to one process.
type link struct {
	say func(terminal.Said) error
	end func() error
}

type (
	toldMsg struct {
		from *link
		told *terminal.Told
	}
	goneMsg    struct{ from *link }
	problemMsg struct{ text string }
)

// An inbox has the questions of all processes.
type inbox struct {
	told    []waiting // several processes may report one question
	batches map[*link][]terminal.Batch
	waiting []waiting // each question once, the oldest first
}

// replace replaces the questions of a process.
func (s *inbox) replace(from *link, t *terminal.Told) {
	s.told = slices.DeleteFunc(s.told, func(w waiting) bool { return w.from == from })
	for _, c := range t.Calls {
		s.told = append(s.told, waiting{c, from})
	}
	s.batches[from] = t.Batches
	s.waiting = nil
	for _, w := range s.told {
		if !slices.ContainsFunc(s.waiting, func(x waiting) bool { return x.ID == w.ID }) {
			s.waiting = append(s.waiting, w)
		}
	}
	slices.SortStableFunc(s.waiting, func(a, b waiting) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
	})
}

// items makes items of the questions. A batch takes the place of its oldest call.
func (s *inbox) items() []item {
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
		name := visible.Line(calls[0].Tool)
		if slices.ContainsFunc(calls, func(c waiting) bool { return c.Tool != calls[0].Tool }) {
			name = "several tools"
		}
		all = append(all, item{
			id: b.ID, batch: true, calls: calls, view: &b.View, offers: b.Offers,
			row: fmt.Sprintf("%d calls: %s", len(calls), name),
		})
		for i, c := range calls {
			placed[c.ID] = true
			all = append(all, single(c, visible.Line(b.Rows[i]), b.ID))
		}
	}
	return all
}

// batchOf is the batch that a question belongs to, with its calls; nil if there is none.
func (s *inbox) batchOf(w waiting) (*terminal.Batch, []waiting) {
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

// A waiting is a question and the process that it comes from.
type waiting struct {
	pending.Asked
	from *link
}

// An item of the list is a question, or a batch of calls that a person can answer together. The calls of a batch follow
// it as items of their own.
type item struct {
	id     string
	batch  bool
	calls  []waiting      // those of a batch, or the question alone
	row    string         // in the list
	view   *prompt.View   // shown below the list
	offers []prompt.Offer // to allow a batch
	in     string         // of a call in a batch: the ID of the batch
}

func single(w waiting, row, in string) item {
	return item{id: w.ID, calls: []waiting{w}, row: row, view: &w.View, in: in}
}

// holds reports whether two items have the same calls.
func (it *item) holds(other item) bool {
	return it.id == other.id && slices.EqualFunc(it.calls, other.calls, func(a, b waiting) bool {
		return a.ID == b.ID && a.Digest == b.Digest
	})
}

// one is the call of an item that is not a batch.
func (it *item) one() waiting { return it.calls[0] }

// of names an item in the prompt for its answer.
func (it *item) of() string {
	if it.batch {
		return it.row
	}
	switch it.one().Kind {
	case "account":
		return "an account to connect"
	case "question":
		return "the program's question"
	}
	return visible.Line(it.one().Tool)
}

// kind is the risk of a call, or batch or question.
func (it *item) kind() string {
	switch {
	case it.batch:
		return "batch"
	case it.one().Inquiry != nil:
		return visible.Line(it.one().Kind)
	}
	return visible.Line(it.one().Risk)
}

// inquiry is the question of a program; nil for calls.
func (it *item) inquiry() *prompt.Inquiry {
	if it.batch {
		return nil
	}
	return it.one().Inquiry
}

func (it *item) needsCode() bool { return !it.batch && it.one().NeedsCode }
