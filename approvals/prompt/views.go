package prompt

import (
	"fmt"

	"github.com/codemode-project/codemode/internal/secrets"
)

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

// aheadView shows the plan of a program that does not run yet. It cuts nothing.
func aheadView(r *Request, o RenderOptions) View {
	q := newQuestion(r, o, whole, newMasker(r.Display, o.Whole))
	q.block.Heading = ours(title, "plan of a program")
	q.label("risk")
	q.risk()
	q.facts("profile", r.Profile, "program", shortDigest(r.Definition), "code", r.Code)
	q.block.Facts = q.take()
	q.newline(margin)
	q.wrapped("In one run of it these calls need no further question. Each is decided again when it is made, " +
		"and whatever is not as it stands here is asked about:")
	q.planned()
	q.block.Arguments = q.take()
	q.total, q.sum = len(r.Args), r.Args
	q.lookTwice()
	v := q.alone(ours("", "You can allow calls of a program before it runs. Nothing happens now."), nil)
	v.Preview = q.preview()
	return v
}

// plan shows what a person can allow together with this call. It cuts nothing: a person must have read what they allow.
func (q *question) plan() [][]Span {
	q.limits, q.masker = whole, newMasker(q.request.Display, q.options.Whole)
	q.newline(margin)
	q.wrapped("You can allow these calls with it, which the program's text shows next. Each is decided again when it is " +
		"made, and whatever is not as it stands here is asked about:")
	q.planned()
	return q.take()
}

// planned shows the calls of a plan.
func (q *question) planned() {
	for i, g := range q.request.Plan {
		q.newline(margin + 2)
		q.put(fmt.Sprintf("%2d. %s, %s, with", i+1, Heading(&Request{Name: g.Name}), g.Times()))
		for _, v := range g.Envelope.Fixed {
			q.newline(margin + 6)
			pointer, _ := shorten(v.Pointer)
			q.put(pointer + " ")
			value, _ := parseArgs([]byte(v.JSON)) // see PlanGrants
			q.value(value, secrets.Place{}, 0, margin+6)
		}
		for _, f := range g.Envelope.Free {
			q.newline(margin + 6)
			q.put(g.Envelope.free(f))
		}
		if len(g.Envelope.Fixed)+len(g.Envelope.Free) == 0 {
			q.put(" no arguments")
		}
	}
}
