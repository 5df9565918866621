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
