package terminal

import (
	"encoding/json"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/approvals/pending"
)

// The protocol on the socket between a Queue and its responders: one JSON object a line, in both directions.

// wireVersion changes when a responder of another version could misread a line.
const wireVersion = 3

// A Told is a line to a responder. Kind says which fields apply.
type Told struct {
	Kind string `json:"kind"` // hello, pending, shown, answered or outcome
	V    int    `json:"v,omitempty"`
	Who  string `json:"who,omitempty"` // hello: who answers, in the record
	// pending: all of them, and those of them that can be answered together
	Calls   []pending.Asked `json:"calls,omitempty"`
	Batches []Batch         `json:"batches,omitempty"`
	ID      string          `json:"id,omitempty"`    // shown, answered, outcome: of the question, or of the batch
	IDs     []string        `json:"ids,omitempty"`   // shown: of the calls
	View    prompt.View     `json:"view,omitzero"`   // shown: the question whole
	Text    string          `json:"text,omitempty"`  // outcome: what became of the call
	Error   string          `json:"error,omitempty"` // shown, answered: why not
}

// A Batch is several calls of one run shown as one question, see [pending.Together]. Each is answered by its own ID
// and digest.
type Batch struct {
	ID     string         `json:"id"`     // stays the same while calls of the run wait
	IDs    []string       `json:"ids"`    // of the calls
	Rows   []string       `json:"rows"`   // a line for each of them, see [prompt.Rows]
	View   prompt.View    `json:"view"`   // all of them
	Offers []prompt.Offer `json:"offers"` // the ways of saying yes to all of them
}

// A Said is a line of a responder.
type Said struct {
	Kind   string          `json:"kind"` // width, show or answer
	Width  int             `json:"width,omitempty"`
	ID     string          `json:"id,omitempty"`
	IDs    []string        `json:"ids,omitempty"` // show: the calls of the batch ID
	Digest string          `json:"digest,omitempty"`
	Yes    bool            `json:"yes,omitempty"`
	Scope  call.Scope      `json:"scope,omitempty"`
	Reason string          `json:"reason,omitempty"`
	Code   string          `json:"code,omitempty"`
	Uses   int             `json:"uses,omitempty"`   // with a scope: for how many calls; 0 is what is offered
	Length time.Duration   `json:"length,omitempty"` // with a scope: for how long; 0 is what is offered
	Args   json.RawMessage `json:"args,omitempty"`

	Selected []int  `json:"selected,omitempty"` // with Yes: the answer to an Inquiry
	Text     string `json:"text,omitempty"`
}

// describe describes open questions to a responder, and the batches that a person can answer together.
func describe(open []approvals.Open, width int) (calls []pending.Asked, batches []Batch) {
	calls = []pending.Asked{}
	for _, o := range open {
		a := pending.Describe(o, width)
		if a.Editable && len(a.Offers) > 0 {
			a.Args = o.Request.Args
		}
		calls = append(calls, a)
	}
	for _, those := range pending.Together(open) {
		if len(those) == 1 {
			continue
		}
		var together []*prompt.Request
		b := Batch{ID: "run " + calls[those[0]].Run}
		for _, i := range those {
			b.IDs, together = append(b.IDs, calls[i].ID), append(together, open[i].Request)
		}
		b.Rows, _ = prompt.Rows(together)
		b.View = prompt.RenderAll(together, prompt.RenderOptions{Width: width})
		b.Offers = prompt.Offers(together, time.Now())
		batches = append(batches, b)
	}
	return calls, batches
}
