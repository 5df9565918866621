// Package pending describes open questions to the places that list them: responders over their socket, and the page
// with its API.
package pending

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// An Asked is an open question as responders and front ends are told of it, in one marshalled form. All its texts are
// rendered: they consist of visible characters.
type Asked struct {
	ID        string      `json:"id"`
	Digest    string      `json:"digest"` // the answer must repeat it
	Kind      string      `json:"kind"`   // see [prompt.Request.Kind]
	Run       string      `json:"run"`
	Call      int         `json:"call"`
	Principal string      `json:"principal"`
	Profile   string      `json:"profile"`
	Tool      string      `json:"tool"` // server.tool
	Summary   string      `json:"summary"`
	View      prompt.View `json:"view"`
	Text      string      `json:"text"` // View as text
	Risk      string      `json:"risk"`
	Code      string      `json:"code,omitempty"`
	Since     time.Time   `json:"since"`
	// Expires is when the time to answer ends; it is absent while the question waits behind others of its run.
	Expires time.Time `json:"expires,omitzero"`

	NeedsCode bool `json:"needsCode,omitempty"` // a yes must include the code
	// a yes must include "whole": true, after the person saw the whole question
	MustSee bool `json:"mustSee,omitempty"`
	// NeedsSignIn says that a yes needs a new sign-in of the person for this question: open the path prove/ID.
	NeedsSignIn bool `json:"needsSignIn,omitempty"`
	Cut         bool `json:"cut,omitempty"` // something is cut or masked; GET /api/pending/ID has all of it
	Editable    bool `json:"editable,omitempty"`
	// Own says that this person asked for the call, and that the profile wants somebody else to answer.
	Own bool `json:"own,omitempty"`

	Offers  []prompt.Offer  `json:"offers"`            // the ways of saying yes; none if it is answered elsewhere
	Inquiry *prompt.Inquiry `json:"inquiry,omitempty"` // a program's own question, or an account to connect; no call
	Args    json.RawMessage `json:"args,omitempty"`    // if the person may change them, where they are asked for
	Input   json.RawMessage `json:"input,omitempty"`   // with Args: their JSON Schema, as the server wrote it
}

// Describe describes a question, with a View that is laid out for a number of columns.
func Describe(o approvals.Open, width int) Asked {
	r := o.Request
	view := prompt.Render(r, prompt.RenderOptions{Width: width})
	a := Asked{
		ID: r.ID, Digest: r.Digest, Kind: r.Kind(), Run: prompt.Words(r.Run), Call: r.Call,
		Principal: prompt.Words(r.Principal), Profile: prompt.Words(r.Profile), Tool: prompt.Heading(r),
		Summary: prompt.Summary(r), Risk: prompt.Words(string(cmp.Or(r.Risk, call.Medium))), Code: prompt.Words(r.Code),
		Since: o.Since, Expires: r.Deadline(), NeedsCode: r.Risk.Grave(), MustSee: r.Risk.Grave() && !view.Complete,
		Cut: view.Cut || view.Masked > 0, Editable: r.Edit != nil, Own: o.Own, Inquiry: r.Inquiry.Rendered(),
		Offers: []prompt.Offer{},
	}
	if o.Notice == nil {
		a.Offers = append(a.Offers, prompt.Offers([]*prompt.Request{r}, time.Now())...)
	} else {
		a.MustSee, a.Summary = false, "(elsewhere) "+a.Summary
		view.Notice = [][]prompt.Span{{{Text: prompt.Words(o.Notice.Error()) + "."}}}
	}
	a.View, a.Text = view, view.Text()
	return a
}

// Together groups questions by their indexes: the calls of one run that a person may answer at once, in the order of
// their numbers. A call that needs a code stands alone, and so does what is no call, or is not this person's to answer.
func Together(open []approvals.Open) [][]int {
	var all [][]int
	place := map[string]int{}
	for i, o := range open {
		r := o.Request
		at, ok := place[r.Run]
		switch alone := r.Risk.Grave() || r.Inquiry != nil || o.Own || r.Run == ""; {
		case ok && !alone:
			all[at] = append(all[at], i)
			continue
		case !alone:
			place[r.Run] = len(all)
		}
		all = append(all, []int{i})
	}
	for _, those := range all {
		slices.SortStableFunc(those, func(a, b int) int { return cmp.Compare(open[a].Request.Call, open[b].Request.Call) })
	}
	return all
}
