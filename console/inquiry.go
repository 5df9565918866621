package console

import "github.com/codemode-project/codemode/approvals/prompt"

// An Inquiry is a question that a program asks in its own words. The answer goes to the program and allows nothing.
type Inquiry struct {
	Options   []Option `json:"options,omitempty"`
	Multiple  bool     `json:"multiple,omitempty"`
	TakesText bool     `json:"takesText,omitempty"`
}

// An Option is an answer that can be chosen, by its place in the list.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

func inquiryOf(r *prompt.Request) *Inquiry {
	if r.Inquiry == nil {
		return nil
	}
	q := &Inquiry{Multiple: r.Inquiry.Multiple, TakesText: r.Inquiry.TakesText()}
	for _, o := range r.Inquiry.Options {
		q.Options = append(q.Options, Option{word(o.Label), prompt.Words(o.Description)})
	}
	return q
}
