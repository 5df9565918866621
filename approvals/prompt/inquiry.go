package prompt

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/codemode-project/codemode/call"
)

// An Inquiry is a question that a program asks a person, in its own words. It approves nothing: the answer goes to the
// program.
type Inquiry struct {
	Header   string   `json:"header,omitempty"` // a word or two
	Question string   `json:"question"`
	Options  []Option `json:"options,omitempty"`
	Multiple bool     `json:"multiple,omitempty"` // several options may be chosen
	// The person may answer in words, instead of or besides an option. Without options they always may.
	FreeText bool `json:"freeText,omitempty"`

	// Connect makes it the request to connect an account at the server of its [Request], on the page at this address.
	// Only a login answers it with a yes. A program cannot set it.
	Connect string `json:"connect,omitempty"`

	// Server is the upstream that asks, under the name that a person gave it; "" is the program. A program cannot set
	// it.
	Server string `json:"-"`
}

// Connection returns the request that a principal connects its account at a server, on the page at an address.
func Connection(principal, server, address string) *Inquiry {
	return &Inquiry{Connect: address, Question: fmt.Sprintf("Connect the account of %s at %s, on the page %s",
		principal, server, address)}
}

// An Option is an answer that a person can choose.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// InquiryTool is the name of the calls that ask an Inquiry.
const InquiryTool = "ask_user"

// ConnectTool is the name in the place of a tool's where an account is to be connected.
const ConnectTool = "connect_account"

// Length limits of the parts of an Inquiry, in characters, so that a person can see all of it; and of an answer.
const (
	maxHeader      = 80
	maxQuestion    = 2000
	maxOptions     = 20
	maxLabel       = 200
	maxDescription = 400
	MaxAnswer      = 4000
)

// Check returns an error if a question is invalid.
func (q *Inquiry) Check() error {
	long := func(what, s string, most int) error {
		if n := utf8.RuneCountInString(s); n > most {
			return fmt.Errorf("%s has %d characters, and %d is the most", what, n, most)
		}
		return nil
	}
	blank := func(s string) bool { return strings.TrimSpace(s) == "" }
	switch {
	case blank(q.Question):
		return errors.New("there is no question")
	case len(q.Options) > maxOptions:
		return fmt.Errorf("there are %d options, and %d is the most", len(q.Options), maxOptions)
	case q.Multiple && len(q.Options) == 0:
		return errors.New("multiple needs options to choose from")
	}
	err := errors.Join(long("the header", q.Header, maxHeader), long("the question", q.Question, maxQuestion))
	seen := map[string]bool{}
	for i, o := range q.Options {
		name := fmt.Sprintf("option %d", i+1)
		switch {
		case blank(o.Label):
			err = errors.Join(err, fmt.Errorf("%s has no label", name))
		case seen[o.Label]:
			err = errors.Join(err, fmt.Errorf("%s has the label of another one", name))
		}
		seen[o.Label] = true
		err = errors.Join(err, long("the label of "+name, o.Label, maxLabel), long("the description of "+name,
			o.Description, maxDescription))
	}
	return err
}

// takesText reports whether a person may answer in words of their own.
func (q *Inquiry) takesText() bool { return q.Connect == "" && (q.FreeText || len(q.Options) == 0) }

// CheckAnswer returns an error if a is not a valid answer to q.
func (q *Inquiry) CheckAnswer(a *call.Answer) error {
	wrong := func(what string) error { return fmt.Errorf("%w: %s", ErrUnclear, what) }
	switch {
	case q.Connect != "":
		return wrong("only a login connects an account: open " + q.Connect)
	case len(a.Selected) == 0 && strings.TrimSpace(a.Text) == "":
		return wrong("nothing was answered")
	case a.Text != "" && !q.takesText():
		return wrong("an answer in words was not asked for")
	case utf8.RuneCountInString(a.Text) > MaxAnswer:
		return wrong(fmt.Sprintf("the answer has more than %d characters", MaxAnswer))
	case len(a.Selected) > 1 && !q.Multiple:
		return wrong("more than one option was chosen")
	}
	for i, n := range a.Selected {
		if n < 0 || n >= len(q.Options) || slices.Contains(a.Selected[:i], n) {
			return wrong("an option was chosen that there is not")
		}
	}
	return nil
}

// inquiryView shows the question of a program. It puts the program's words between quotation marks, so that nobody
// takes them for ours.
func inquiryView(r *Request, o RenderOptions) View {
	l := ample
	if o.Whole {
		l = whole
	}
	q := newQuestion(r, o, l, nil)
	if r.Kind() == "account" {
		q.block.Heading = ours(title, "Connect an account")
		q.facts("server", r.Server, "account", r.Principal, "page", r.Inquiry.Connect, "profile", r.Profile, "run", r.Run,
			"code", r.Code)
		q.block.Facts = q.take()
		return q.alone(ours("", "A program calls a server that it reaches with the account of whoever runs it, and no "+
			"account is connected.", "The call waits until it is. Connecting allows no call: your rules decide about it "+
			"afterwards."),
			ours(label, "Nobody else can connect it. A refusal ends the wait, and the call is not made."))
	}
	who := "program"
	if r.Inquiry.Server != "" {
		who = "server"
	}
	q.block.Heading = ours(title, "Question of a "+who)
	q.facts("server", r.Inquiry.Server, "profile", r.Profile, "run", r.Run, "code", r.Code)
	q.block.Facts = q.take()
	words := func(indent int, label, text string) {
		q.newline(indent)
		q.put(label)
		q.text(characters(text), nil)
	}
	if r.Inquiry.Header != "" {
		words(margin, "header:   ", r.Inquiry.Header)
	}
	words(margin, "question: ", r.Inquiry.Question)
	if len(r.Inquiry.Options) > 0 {
		q.newline(margin)
		q.put(r.Inquiry.choices())
	}
	for i, option := range r.Inquiry.Options {
		words(margin+2, fmt.Sprintf("%2d. ", i+1), option.Label)
		if option.Description != "" {
			q.put(": ")
			q.text(characters(option.Description), nil)
		}
	}
	q.block.Arguments = q.take()
	q.total, q.sum = len(r.Args), r.Args
	q.lookTwice()
	return q.alone(ours("", "A "+who+" asks you something, in its own words.", "Your answer goes to the "+who+
		", and allows no call."),
		ours(label, "Give no password or other secret: the "+who+" reads the answer."))
}

// Rendered is q in visible characters, for those who show the fields of its answer; nil if q is nil.
func (q *Inquiry) Rendered() *Inquiry {
	if q == nil {
		return nil
	}
	shown := &Inquiry{Header: Words(q.Header), Question: Words(q.Question), Multiple: q.Multiple, FreeText: q.takesText(),
		Connect: Words(q.Connect)}
	for _, o := range q.Options {
		shown.Options = append(shown.Options, Option{Label: Words(o.Label), Description: Words(o.Description)})
	}
	return shown
}

// choices says how many of the options may be chosen.
func (q *Inquiry) choices() string {
	s := "answers, one of them"
	if q.Multiple {
		s = "answers, one or more of them"
	}
	if q.FreeText {
		s += ", or words of your own"
	}
	return s + ":"
}
