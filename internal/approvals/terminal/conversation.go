package terminal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// A conversation is about what the terminal shows at once: one call, several together, or a question of a program.
type conversation interface {
	// label is the text shown before a person types. The hint says how to see what is left out.
	label(hint string) string
	// read parses the typed line. A hint says what to type instead; then the line is not an answer. err ends the
	// conversation.
	read(line string, shown *prompt.View) (answer call.Answer, hint string, err error)
}

// maxUnclear is how many unclear lines end the conversation without an answer.
const maxUnclear = 5

// errEach says that a person wants to decide the calls one by one.
var errEach = errors.New("one by one")

// converse shows calls as one question, and reads until there is an answer.
func (t *Terminal) converse(ctx context.Context, c conversation, calls ...*prompt.Request) (call.Answer, error) {
	o := prompt.RenderOptions{Width: t.width}
	for unclear := 0; unclear < maxUnclear; {
		shown := prompt.RenderAll(calls, o)
		hint := ""
		if shown.Cut || shown.Masked > 0 {
			hint = ", show to see all of it"
		}
		label := c.label(hint)
		grave := calls[0].Inquiry == nil && calls[0].Risk.Grave()
		if no, err := t.show(ctx, &shown, label, grave); err != nil {
			return call.Answer{}, err
		} else if no != nil {
			return *no, nil
		}
		for unclear < maxUnclear {
			line, err := t.typed(ctx, label)
			if err != nil {
				return call.Answer{}, err
			}
			if word, rest := firstWord(line); line == "show" || calls[0].Inquiry == nil && word == "show" && rest == "" {
				o.Whole = true // other spellings may answer an inquiry
				break
			}
			answer, hint, err := c.read(line, &shown)
			if answer.Typed = true; hint == "" || err != nil {
				return answer, err
			}
			unclear++
			if err := t.print(hint + "\n"); err != nil {
				return call.Answer{}, err
			}
		}
	}
	return call.Answer{}, prompt.ErrUnclear
}

// show shows a question. Where a person must see all of it, page by page, they may refuse before its end.
func (t *Terminal) show(ctx context.Context, v *prompt.View, label string, paged bool) (no *call.Answer, err error) {
	text := "\n" + v.Text()
	if t.options.Color {
		text = "\n" + colored(v)
	}
	if !paged {
		return nil, t.print(text)
	}
	return t.pages(ctx, text, strings.Count(label, "\n")+2)
}

// colors are the ANSI colours of tones.
var colors = map[string]string{"title": "1", "label": "2", "danger": "1;31", "caution": "33"}

// colored is the text of v with colours on our own words.
func colored(v *prompt.View) string {
	var b strings.Builder
	for _, line := range v.Lines() {
		for _, s := range line {
			if color := colors[s.Tone]; color != "" {
				s.Text = "\x1b[" + color + "m" + s.Text + "\x1b[0m"
			}
			b.WriteString(s.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// pages shows a text that a person must see whole: as much at a time as fits above a number of lines, and more when the
// person asks for it. The person may also refuse. Nothing typed meanwhile is a yes.
func (t *Terminal) pages(ctx context.Context, text string, below int) (no *call.Answer, err error) {
	lines := strings.SplitAfter(text, "\n")
	for {
		room := len(lines)
		if rows := t.rows(); rows > 0 {
			room = min(room, max(rows-below, 1))
		}
		if err := t.print(strings.Join(lines[:room], "")); err != nil {
			return nil, err
		}
		if lines = lines[room:]; len(lines) == 0 {
			return nil, nil
		}
		more := "1 more line"
		if len(lines) > 1 {
			more = strconv.Itoa(len(lines)) + " more lines"
		}
		line, err := t.typed(ctx, fmt.Sprintf("Type Enter for the next of %s, no to refuse: ", more))
		if err != nil {
			return nil, err
		}
		if word, rest := firstWord(line); word == "n" || word == "no" {
			return &call.Answer{Reason: rest, Typed: true}, nil
		}
	}
}

// firstWord returns the first word of a line, without final punctuation, and the rest.
func firstWord(line string) (word, rest string) {
	word, rest, _ = strings.Cut(line, " ")
	return strings.ToLower(strings.TrimRight(word, ".,:;!")), strings.TrimSpace(rest)
}

// An approval is one call that needs a yes.
type approval struct {
	*prompt.Request
	code   string         // must be typed with a yes; "" for none
	offers []prompt.Offer // beyond a single yes
}

func newApproval(r *prompt.Request) *approval {
	a := &approval{Request: r, offers: prompt.Offers([]*prompt.Request{r}, time.Now())[1:]}
	if r.Risk.Grave() {
		if r.Code == "" {
			coded := *r
			coded.Code = prompt.NewCode()
			a.Request = &coded
		}
		a.code = prompt.Words(a.Code)
	}
	return a
}

func (a *approval) label(hint string) string {
	yes := "yes"
	if a.code != "" {
		yes += " " + a.code
	}
	var remember strings.Builder
	for _, o := range a.offers {
		fmt.Fprintf(&remember, "  %s %s: %s\n", yes, o.Scope, o.Text)
	}
	if slices.ContainsFunc(a.offers, func(o prompt.Offer) bool { return o.Scope != call.ForPlan }) {
		remember.WriteString("  (a number of calls or a time may follow, such as 5, 15m, or 5 15m)\n")
	}
	return fmt.Sprintf("%sType %s to allow, no to refuse (a reason may follow)%s: ", remember.String(), yes, hint)
}

func (a *approval) read(line string, shown *prompt.View) (answer call.Answer, hint string, err error) {
	word, rest := firstWord(line)
	if word == "n" || word == "no" {
		return call.Answer{Reason: rest}, "", nil
	}
	meant, answer, wrong := a.remembered(rest)
	switch {
	case a.code != "" && (word == "y" || word == "yes") && meant != "" && meant != a.code:
		return answer, fmt.Sprintf("The code is wrong. Please type yes %s or no.", a.code), nil
	case !a.approves(word, meant) && a.code != "":
		return answer, fmt.Sprintf("Please type yes %s or no.", a.code), nil
	case !a.approves(word, meant):
		return answer, "Please type yes or no.", nil
	case a.Risk.Grave() && !shown.Complete:
		return answer, "Please type show first: a call of this risk has to be seen whole.", nil
	case wrong == nil && answer.Scope != "":
		_, wrong = a.Draft(answer, time.Now())
	}
	if wrong != nil {
		return call.Answer{}, wrong.Error() + ".", nil
	}
	answer.Allowed = true
	return answer, "", nil
}

// approves reports whether a line is a yes: the word alone, or with the code where one is needed.
func (a *approval) approves(word, rest string) bool {
	yes := word == "y" || word == "yes"
	if a.code == "" {
		return yes && rest == ""
	}
	return yes && rest == a.code || word == a.code && rest == ""
}

// remembered splits a line into the words that say for what to remember a yes, and the rest. These words are one of the
// offers, followed by its limits, see [prompt.ReadLimits]. The error says what is wrong with them.
func (a *approval) remembered(line string) (rest string, wish call.Answer, err error) {
	words := strings.Fields(line)
	for i, word := range words {
		if slices.ContainsFunc(a.offers, func(o prompt.Offer) bool { return word == o.Scope }) {
			wish.Scope = word
			wish.Uses, wish.Length, err = prompt.ReadLimits(strings.Join(words[i+1:], " "))
			return strings.Join(words[:i], " "), wish, err
		}
	}
	return line, wish, nil
}

// A together is several calls that a person decides at once, or one by one.
type together struct {
	n     int
	offer []prompt.Offer // to allow the plan
}

func (c *together) label(hint string) string {
	plan := ""
	for _, o := range c.offer {
		plan = fmt.Sprintf("  yes plan: %s\n", o.Text)
	}
	return fmt.Sprintf("%sType yes to allow all %d calls, no to refuse all (a reason may follow), each to decide one by one%s: ",
		plan, c.n, hint)
}

func (c *together) read(line string, _ *prompt.View) (answer call.Answer, hint string, err error) {
	word, rest := firstWord(line)
	yes := word == "y" || word == "yes"
	switch {
	case word == "n" || word == "no":
		return call.Answer{Reason: rest}, "", nil
	case yes && (rest == "" || rest == "all"):
		return call.Answer{Allowed: true}, "", nil
	case yes && rest == call.ForPlan && len(c.offer) > 0:
		return call.Answer{Allowed: true, Scope: call.ForPlan}, "", nil
	case word == "each" && rest == "":
		return call.Answer{}, "", errEach
	}
	return call.Answer{}, "Please type yes, no or each.", nil
}

func (t *Terminal) Ask(ctx context.Context, s *approvals.Showing) (call.Answer, error) {
	done, err := t.acquire(ctx, s)
	if err != nil {
		return call.Answer{}, err
	}
	defer done()
	return t.ask(ctx, s.Request)
}

// AskAll shows calls together, and accepts one answer to all of them or one to each.
func (t *Terminal) AskAll(ctx context.Context, s *approvals.Showing) ([]call.Answer, error) {
	done, err := t.acquire(ctx, s)
	if err != nil {
		return nil, err
	}
	defer done()
	err = errEach
	if !slices.ContainsFunc(s.Calls, func(r *prompt.Request) bool { return r.Risk.Grave() }) {
		var one call.Answer
		c := &together{len(s.Calls), prompt.Offers(s.Calls, time.Now())[1:]}
		if one, err = t.converse(ctx, c, s.Calls...); err == nil {
			return slices.Repeat([]call.Answer{one}, len(s.Calls)), nil
		}
	}
	if !errors.Is(err, errEach) {
		return nil, err
	}
	all := make([]call.Answer, len(s.Calls))
	for i, r := range s.Calls {
		s.Waiting()() // each has its own time
		if all[i], err = t.ask(ctx, r); ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		all[i].Err = err
		s.Answered(i, all[i])
	}
	return all, nil
}

// ask shows r and reads until there is an answer.
func (t *Terminal) ask(ctx context.Context, r *prompt.Request) (call.Answer, error) {
	if r.Inquiry != nil {
		return t.converse(ctx, programQuestion{r}, r)
	}
	a := newApproval(r)
	return t.converse(ctx, a, a.Request)
}
