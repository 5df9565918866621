package responder

import (
	"fmt"
	"slices"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/approvals/terminal"
	"github.com/codemode-project/codemode/internal/visible"
)

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

// list makes items of the questions. A batch takes the place of its oldest call.
func (s *screen) list() []item {
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

func single(w waiting, row, in string) item {
	return item{id: w.ID, calls: []waiting{w}, row: row, view: &w.View, in: in}
}

// batchOf is the batch that a question belongs to, with its calls; nil if there is none.
func (s *screen) batchOf(w waiting) (*terminal.Batch, []waiting) {
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

// targets are the calls that an answer applies to: the marked ones of a batch, or all.
func (s *screen) targets(it item) []waiting {
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

// mark toggles the mark of a call of a batch; on the batch, of all its calls.
func (s *screen) mark(it item) {
	switch {
	case it.batch:
		all := !slices.ContainsFunc(it.calls, func(w waiting) bool { return s.marked[w.ID] })
		for _, w := range it.calls {
			s.setMark(w.ID, all)
		}
	case it.in != "":
		s.setMark(it.id, !s.marked[it.id])
	default:
		s.notice = "Only calls of a batch can be marked."
	}
}

func (s *screen) setMark(id string, on bool) {
	if delete(s.marked, id); on {
		s.marked[id] = true
	}
}
