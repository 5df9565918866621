package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
)

// TerminalOptions say how a terminal asks. The zero value suits a terminal.
type Options struct {
	Color bool
	// Plain says that in is to be believed although it is no terminal, as in a test. Otherwise such a channel has no person.
	Plain bool
}

const (
	widest     = 120 // columns; longer lines are hard to read
	plainWidth = 80
	maxUnclear = 5 // answers that are neither yes nor no, after which it is nobody's
)

// Terminal asks on a terminal, one question at a time. A person types a whole word, and for a high risk the code of the
// question with it; what was typed before the question appeared is thrown away.
//
// With a nil or closed in, or one that is no terminal, nobody is there. Reading stops when an ask ends, so that a terminal can be
// used for other things in between. Write access to out should be the channel's alone while it asks.
func New(in io.Reader, out io.Writer, o Options) approvals.Channel {
	t := &terminal{out: out, options: o, turn: make(chan struct{}, 1), width: plainWidth, rows: func() int { return 0 }}
	switch f, isFile := in.(*os.File); {
	case isFile && f != nil && term.IsTerminal(int(f.Fd())):
		t.in = newTTY(f)
	case o.Plain:
		t.in = newLines(in)
	}
	if f, ok := out.(*os.File); ok && f != nil {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			t.width = min(w-1, widest)
		}
		t.rows = func() int {
			if _, h, err := term.GetSize(int(f.Fd())); err == nil {
				return h
			}
			return 0
		}
	}
	return t
}

// A lineSource is where typed lines come from.
type lineSource interface {
	drop() error                              // throws away what was typed so far
	line(ctx context.Context) (string, error) // without its end; returns when ctx ends
}

type terminal struct {
	in      lineSource // nil when nobody is there
	out     io.Writer
	options Options
	width   int
	rows    func() int    // of the screen; 0 is that it has no end
	turn    chan struct{} // holds an element while a question is on the screen
}

func (t *terminal) Name() string { return "terminal" }

// Strong: the answer is typed by whoever sits at the terminal where the program was started, and not by the program.
func (t *terminal) Strong() bool { return true }

func (t *terminal) Ask(ctx context.Context, r *prompt.Request) (prompt.Reply, error) {
	done, err := t.take(ctx)
	if err != nil {
		return prompt.Reply{}, err
	}
	defer done()
	return t.ask(ctx, r)
}

func (t *terminal) Inquires() bool { return true }

// take waits for the terminal.
func (t *terminal) take(ctx context.Context) (done func(), err error) {
	if t.in == nil {
		return nil, fmt.Errorf("standard input is not a terminal: %w", approvals.ErrNoPerson)
	}
	select {
	case t.turn <- struct{}{}:
	default:
		shown := approvals.Waiting(ctx)
		select {
		case t.turn <- struct{}{}:
			shown()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if ctx.Err() != nil {
		<-t.turn
		return nil, context.Cause(ctx)
	}
	return func() { <-t.turn }, nil
}

// AskAll shows calls together, and takes one answer to all of them or one to each.
func (t *terminal) AskAll(ctx context.Context, calls []*prompt.Request) ([]prompt.Result, error) {
	done, err := t.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	one := prompt.Reply{}
	if slices.ContainsFunc(calls, func(r *prompt.Request) bool { return r.Risk.Grave() }) {
		err = errEach
	} else {
		one, err = t.askTogether(ctx, calls)
	}
	if err != nil && !errors.Is(err, errEach) {
		return nil, err
	}
	var all []prompt.Result
	for i, r := range calls {
		x := prompt.Result{Reply: one}
		if err != nil {
			approvals.Waiting(ctx)() // each has its own time
			if x.Reply, x.Err = t.ask(ctx, r); ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			approvals.Answered(ctx, i, x)
		}
		all = append(all, x)
	}
	return all, nil
}

// errEach says that a person wants to decide about calls one by one.
var errEach = errors.New("one by one")

func (t *terminal) askTogether(ctx context.Context, calls []*prompt.Request) (prompt.Reply, error) {
	o := prompt.RenderOptions{Width: t.width, Color: t.options.Color}
	shown := prompt.RenderAll(calls, o)
	if err := t.print("\n" + shown.Text); err != nil {
		return prompt.Reply{}, err
	}
	more := ""
	if shown.Cut || shown.Masked > 0 {
		more = ", show to see all of it"
	}
	plan := prompt.PlanOf(calls)
	if plan != nil {
		if err := t.print(fmt.Sprintf("  yes plan: %s\n", plan.Text())); err != nil {
			return prompt.Reply{}, err
		}
	}
	question := fmt.Sprintf("Type yes to allow all %d calls, no to refuse all (a reason may follow), each to decide one by one%s: ", len(calls), more)
	for unclear := 0; unclear < maxUnclear; {
		word, rest, err := t.typed(ctx, question)
		switch {
		case err != nil:
			return prompt.Reply{}, err
		case word == "n" || word == "no":
			return prompt.Reply{Decision: prompt.Refuse, Reason: rest, Typed: true}, nil
		case (word == "y" || word == "yes") && (rest == "" || rest == "all"):
			return prompt.Reply{Decision: prompt.AllowOnce, Typed: true}, nil
		case (word == "y" || word == "yes") && rest == string(prompt.ForPlan) && plan != nil:
			return prompt.Reply{Decision: prompt.AllowOnce, Scope: prompt.ForPlan, Typed: true}, nil
		case word == "each" && rest == "":
			return prompt.Reply{}, errEach
		case word == "show" && rest == "":
			o.Full, o.Reveal = true, true
			err = t.print("\n" + prompt.RenderAll(calls, o).Text)
		default:
			unclear++
			err = t.print("Please type yes, no or each.\n")
		}
		if err != nil {
			return prompt.Reply{}, err
		}
	}
	return prompt.Reply{}, prompt.ErrUnclear
}

// typed shows a prompt and returns the first word that is typed after it, and the rest of its line.
func (t *terminal) typed(ctx context.Context, label string) (word, rest string, err error) {
	line, err := t.typedLine(ctx, label)
	if err != nil {
		return "", "", err
	}
	word, rest, _ = strings.Cut(line, " ")
	return strings.ToLower(strings.TrimRight(word, ".,:;!")), strings.TrimSpace(rest), nil
}

// typedLine shows a prompt and returns the line that is typed after it.
func (t *terminal) typedLine(ctx context.Context, label string) (string, error) {
	if err := t.in.drop(); err != nil {
		return "", fmt.Errorf("dropping what was typed early: %w", err)
	}
	if err := t.print(label); err != nil {
		return "", err
	}
	line, err := t.in.line(ctx)
	switch {
	case ctx.Err() != nil:
		t.print("\n(" + prompt.Words(context.Cause(ctx).Error()) + ")\n")
		return "", context.Cause(ctx)
	case err != nil:
		t.print("\n")
		return "", fmt.Errorf("the input ended: %w", approvals.ErrNoPerson)
	}
	return strings.TrimSpace(line), nil
}

// ask shows r and reads until there is an answer.
func (t *terminal) ask(ctx context.Context, r *prompt.Request) (prompt.Reply, error) {
	if r.Inquiry != nil {
		return t.inquire(ctx, r)
	}
	code := ""
	if r.Risk.Grave() {
		if r.Code == "" {
			coded := *r
			coded.Code = prompt.NewCode()
			r = &coded
		}
		code, _ = prompt.Shorten(r.Code)
	}
	o := prompt.RenderOptions{Width: t.width, Color: t.options.Color}
	shown := prompt.Render(r, o)
	offers := prompt.Offers(r, time.Now())
	put := func() (no *prompt.Reply, err error) {
		if r.Risk.Grave() {
			return t.pages(ctx, "\n"+shown.Text, strings.Count(approvalPrompt(code, shown, offers), "\n")+2)
		}
		return nil, t.print("\n" + shown.Text)
	}
	if no, err := put(); no != nil || err != nil {
		return refusalOr(no), err
	}
	for unclear := 0; unclear < maxUnclear; {
		word, rest, err := t.typed(ctx, approvalPrompt(code, shown, offers))
		if err != nil {
			return prompt.Reply{}, err
		}
		meant, wish, wrong := wished(rest, offers)
		hint := "Please type yes or no."
		switch {
		case word == "n" || word == "no":
			return prompt.Reply{Decision: prompt.Refuse, Reason: rest, Typed: true}, nil
		case word == "show" && rest == "":
			o.Full, o.Reveal = true, true
			shown = prompt.Render(r, o)
			if no, err := put(); no != nil || err != nil {
				return refusalOr(no), err
			}
			continue
		case approves(word, meant, code) && r.Risk.Grave() && !shown.Complete:
			hint = "Please type show first: a call of this risk has to be seen whole."
		case approves(word, meant, code) && wrong != nil:
			hint = wrong.Error() + "."
		case approves(word, meant, code):
			if wish.Scope != "" {
				_, wrong = r.Draft(wish, time.Now())
			}
			if wrong == nil {
				return prompt.Reply{Decision: prompt.AllowOnce, Scope: wish.Scope, Uses: wish.Uses, Length: wish.Length, Typed: true}, nil
			}
			hint = wrong.Error() + "."
		case code != "":
			hint = fmt.Sprintf("Please type yes %s or no.", code)
		}
		unclear++
		if err := t.print(hint + "\n"); err != nil {
			return prompt.Reply{}, err
		}
	}
	return prompt.Reply{}, prompt.ErrUnclear
}

// pages shows a text that has to be seen whole: as much at a time as there is room for above so many lines, and more when a person
// asks for it. The person may also refuse. Nothing that is typed meanwhile is a yes.
func (t *terminal) pages(ctx context.Context, text string, below int) (no *prompt.Reply, err error) {
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
		word, rest, err := t.typed(ctx, fmt.Sprintf("Type Enter for the next of %s, no to refuse: ", more(len(lines))))
		switch {
		case err != nil:
			return nil, err
		case word == "n" || word == "no":
			return &prompt.Reply{Decision: prompt.Refuse, Reason: rest, Typed: true}, nil
		}
	}
}

// refusalOr is a refusal, or nothing.
func refusalOr(no *prompt.Reply) prompt.Reply {
	if no == nil {
		return prompt.Reply{}
	}
	return *no
}

// approves reports whether a line is a yes: the word alone, or with the code where one is needed.
func approves(word, rest, code string) bool {
	if code == "" {
		return (word == "y" || word == "yes") && rest == ""
	}
	return (word == "y" || word == "yes") && rest == code || word == code && rest == ""
}

// wished takes the words off a line that say what a yes is remembered for: one of the offers, and behind it how far it goes, see
// [ReadLimits]. An error says what is wrong with that.
func wished(line string, offers []*prompt.Grant) (rest string, w prompt.Wish, err error) {
	words := strings.Fields(line)
	for i, word := range words {
		if !slices.ContainsFunc(offers, func(g *prompt.Grant) bool { return prompt.Scope(word) == g.Scope }) {
			continue
		}
		w.Scope = prompt.Scope(word)
		w.Uses, w.Length, err = prompt.ReadLimits(strings.Join(words[i+1:], " "))
		return strings.Join(words[:i], " "), w, err
	}
	return line, w, nil
}

func approvalPrompt(code string, shown prompt.Rendering, offers []*prompt.Grant) string {
	yes := "yes"
	if code != "" {
		yes += " " + code
	}
	var remember strings.Builder
	for _, g := range offers {
		fmt.Fprintf(&remember, "  %s %s: %s\n", yes, g.Scope, g.Text())
	}
	if slices.ContainsFunc(offers, func(g *prompt.Grant) bool { return g.Scope != prompt.ForPlan }) {
		remember.WriteString("  (a number of calls or a time may follow, such as 5, 15m, or 5 15m)\n")
	}
	more := ""
	if shown.Cut || shown.Masked > 0 {
		more = ", show to see all of it"
	}
	return fmt.Sprintf("%sType %s to allow, no to refuse (a reason may follow)%s: ", remember.String(), yes, more)
}

func (t *terminal) print(s string) error {
	if _, err := io.WriteString(t.out, s); err != nil {
		return fmt.Errorf("writing the question: %w", err)
	}
	return nil
}

func more(lines int) string {
	if lines == 1 {
		return "1 more line"
	}
	return strconv.Itoa(lines) + " more lines"
}
