package approvals

import (
	"encoding/json"
	"time"
)

// What goes over the socket between a Queue and those who answer: one JSON object a line, in both directions.

// wireVersion changes when a responder of another version could misread what it is told.
const wireVersion = 2

// A Told is what a responder is told. Kind says which of the fields count.
type Told struct {
	Kind  string  `json:"kind"` // hello, pending, shown or answered
	V     int     `json:"v,omitempty"`
	Who   string  `json:"who,omitempty"`   // hello: who answers, in the record
	Calls []Asked `json:"calls,omitempty"` // pending: all of them
	ID    string  `json:"id,omitempty"`    // shown, answered
	Text  string  `json:"text,omitempty"`  // shown: the question whole
	Error string  `json:"error,omitempty"` // shown, answered: why not
}

// An Asked is a question as a responder is told of it. All texts are rendered: they are made of visible characters.
type Asked struct {
	ID      string          `json:"id"`
	Digest  string          `json:"digest"`
	Heading string          `json:"heading"`
	Summary string          `json:"summary"`
	Text    string          `json:"text"`
	Risk    string          `json:"risk"`
	Profile string          `json:"profile"`
	Code    string          `json:"code,omitempty"` // has to be typed for a yes
	Whole   bool            `json:"whole"`          // nothing is left out of Text
	Unseen  bool            `json:"unseen"`         // it has to be shown whole before it can be allowed
	Since   time.Time       `json:"since"`
	Offers  []Offer         `json:"offers,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"` // when they may be changed
	// Inquiry is the question of a program: then there is no call, and nothing to allow.
	Inquiry *Inquiry `json:"inquiry,omitempty"`
}

// An Offer is a way of saying yes.
type Offer struct {
	Scope Scope  `json:"scope"`
	Text  string `json:"text"`
}

// A Said is what a responder says.
type Said struct {
	Kind   string          `json:"kind"` // width, show or answer
	Width  int             `json:"width,omitempty"`
	ID     string          `json:"id,omitempty"`
	Digest string          `json:"digest,omitempty"`
	Yes    bool            `json:"yes,omitempty"`
	Scope  Scope           `json:"scope,omitempty"`
	Reason string          `json:"reason,omitempty"`
	Code   string          `json:"code,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"`

	Selected []int  `json:"selected,omitempty"` // with Yes: the answer to an Inquiry
	Text     string `json:"text,omitempty"`
}

// describe tells a responder of a question.
func describe(o Open, width int) Asked {
	r := o.Request
	shown := Render(r, RenderOptions{Width: width})
	risk, _ := shorten(r.Risk)
	profile, _ := shorten(r.Profile)
	a := Asked{
		ID: r.ID, Digest: r.Digest, Heading: Heading(r), Summary: Summary(r), Text: shown.Text, Risk: risk, Profile: profile,
		Whole: !shown.Cut && shown.Masked == 0, Unseen: grave(r.Risk) && !shown.Complete, Since: o.Since,
		Offers: []Offer{{Once, "Allow this call"}},
	}
	if r.Inquiry != nil {
		a.Offers, a.Inquiry = nil, r.Inquiry.rendered()
		return a
	}
	if grave(r.Risk) {
		a.Code, _ = shorten(r.Code)
	}
	for _, g := range Offers(r, time.Now()) {
		a.Offers = append(a.Offers, Offer{g.Scope, g.Text()})
	}
	if r.Edit != nil {
		a.Args = r.Args
	}
	return a
}
