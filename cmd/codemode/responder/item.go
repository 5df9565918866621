package responder

import (
	"slices"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/approvals/pending"
	"github.com/codemode-project/codemode/internal/visible"
)

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
