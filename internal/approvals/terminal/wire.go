package terminal

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// The protocol on the socket between a Queue and its responders: one JSON object a line, in both directions.

// wireVersion changes when a responder of another version could misread a line.
const wireVersion = 2

// A Told is a line to a responder. Kind says which fields apply.
type Told struct {
	Kind    string  `json:"kind"` // hello, pending, shown, answered or outcome
	V       int     `json:"v,omitempty"`
	Who     string  `json:"who,omitempty"`     // hello: who answers, in the record
	Calls   []Asked `json:"calls,omitempty"`   // pending: all of them
	Batches []Batch `json:"batches,omitempty"` // pending: those of them that can be answered together
	ID      string  `json:"id,omitempty"`      // shown, answered, outcome: of the question, or with shown of the batch
	Text    string  `json:"text,omitempty"`    // shown: the question whole; outcome: what became of the call
	Error   string  `json:"error,omitempty"`   // shown, answered: why not
}

// An Asked describes a question to a responder. All texts are rendered: they consist of visible characters.
type Asked struct {
	ID      string          `json:"id"`
	Digest  string          `json:"digest"`
	Heading string          `json:"heading"`
	Summary string          `json:"summary"`
	Text    string          `json:"text"`
	Risk    string          `json:"risk"`
	Profile string          `json:"profile"`
	Code    string          `json:"code,omitempty"` // must be typed for a yes
	Whole   bool            `json:"whole"`          // nothing is left out of Text
	Unseen  bool            `json:"unseen"`         // must be shown whole before a yes
	Since   time.Time       `json:"since"`
	Ends    time.Time       `json:"ends,omitzero"` // deadline; zero while it waits for its turn elsewhere
	Offers  []Offer         `json:"offers,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"` // set if a person may change them
	// Inquiry is the question of a program. Then there is no call, and nothing to allow.
	Inquiry *prompt.Inquiry `json:"inquiry,omitempty"`
}

// A Batch is several calls of one run shown as one question, see [Batches]. Each is answered by its own ID and digest.
type Batch struct {
	ID    string   `json:"id"`             // stays the same while calls of the run wait
	IDs   []string `json:"ids"`            // of the calls
	Rows  []string `json:"rows"`           // a line for each of them, see [Rows]
	Text  string   `json:"text"`           // all of them, rendered
	Whole bool     `json:"whole"`          // nothing is left out of Text
	Plan  string   `json:"plan,omitempty"` // the words of the offer that goes with all of them
}

// An Offer is one way to say yes.
type Offer struct {
	Scope call.Scope `json:"scope"`
	Text  string     `json:"text"`
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

// describe makes the line for a question.
func describe(o approvals.Open, width int) Asked {
	r := o.Request
	shown := prompt.Render(r, prompt.RenderOptions{Width: width})
	risk, _ := prompt.Shorten(string(r.Risk))
	profile, _ := prompt.Shorten(r.Profile)
	a := Asked{
		ID: r.ID, Digest: r.Digest, Heading: prompt.Heading(r), Summary: prompt.Summary(r), Text: shown.Text, Risk: risk,
		Profile: profile,
		Whole:   !shown.Cut && shown.Masked == 0, Unseen: r.Risk.Grave() && !shown.Complete,
		Since: o.Since, Ends: r.Deadline(),
		Offers: []Offer{{call.Once, r.Yes()}},
	}
	if o.Notice != nil {
		a.Offers, a.Unseen = nil, false
		a.Summary, a.Text = "(elsewhere) "+a.Summary, prompt.Words(o.Notice.Error())+".\n\n"+a.Text
		return a
	}
	if r.Inquiry != nil {
		a.Offers, a.Inquiry = nil, r.Inquiry.Rendered()
		return a
	}
	if r.Risk.Grave() {
		a.Code, _ = prompt.Shorten(r.Code)
	}
	for _, g := range prompt.Offers(r, time.Now()) {
		a.Offers = append(a.Offers, Offer{g.Scope, g.Text()})
	}
	if r.Edit != nil {
		a.Args = r.Args
	}
	return a
}

// describeAll describes questions, and the batches that a person can answer together.
func describeAll(open []approvals.Open, width int) (calls []Asked, batches []Batch) {
	calls = []Asked{}
	var requests []*prompt.Request
	for _, o := range open {
		calls, requests = append(calls, describe(o, width)), append(requests, o.Request)
	}
	for _, those := range byRun(requests) {
		if len(those) == 1 {
			continue
		}
		slices.SortStableFunc(those, func(a, b int) int { return cmp.Compare(requests[a].Call, requests[b].Call) })
		var together []*prompt.Request
		b := Batch{ID: "run " + prompt.Words(requests[those[0]].Run)}
		for _, i := range those {
			b.IDs, together = append(b.IDs, calls[i].ID), append(together, requests[i])
		}
		shown := prompt.RenderAll(together, prompt.RenderOptions{Width: width})
		b.Rows, b.Text, b.Whole = prompt.Rows(together), shown.Text, !shown.Cut && shown.Masked == 0
		if g := prompt.PlanOf(together); g != nil {
			b.Plan = g.Text()
		}
		batches = append(batches, b)
	}
	return calls, batches
}

// byRun groups the calls that a person may answer together: those of one run that need no code. The others stand alone.
func byRun(calls []*prompt.Request) [][]int {
	var all [][]int
	place := map[string]int{}
	for i, r := range calls {
		if alone := r.Risk.Grave() || r.Inquiry != nil || r.Run == ""; alone {
			all = append(all, []int{i})
			continue
		}
		at, ok := place[r.Run]
		if !ok {
			at = len(all)
			place[r.Run] = at
			all = append(all, nil)
		}
		all[at] = append(all[at], i)
	}
	return all
}
