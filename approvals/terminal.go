package approvals

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// TerminalOptions say how a terminal asks. The zero value suits a terminal.
type TerminalOptions struct {
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
func Terminal(in io.Reader, out io.Writer, o TerminalOptions) Channel {
	t := &terminal{out: out, options: o, turn: make(chan struct{}, 1), width: plainWidth}
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
	options TerminalOptions
	width   int
	turn    chan struct{} // holds an element while a question is on the screen
}

func (t *terminal) Name() string { return "terminal" }

// Strong: the answer is typed by whoever sits at the terminal where the program was started, and not by the program.
func (t *terminal) Strong() bool { return true }

func (t *terminal) Ask(ctx context.Context, r *Request) (Reply, error) {
	if t.in == nil {
		return Reply{}, fmt.Errorf("standard input is not a terminal: %w", ErrNoPerson)
	}
	select {
	case t.turn <- struct{}{}:
	default:
		shown := Waiting(ctx)
		select {
		case t.turn <- struct{}{}:
			shown()
		case <-ctx.Done():
			return Reply{}, context.Cause(ctx)
		}
	}
	defer func() { <-t.turn }()
	if ctx.Err() != nil {
		return Reply{}, context.Cause(ctx)
	}
	return t.ask(ctx, r)
}

// ask shows r and reads until there is an answer.
func (t *terminal) ask(ctx context.Context, r *Request) (Reply, error) {
	code := ""
	if grave(r.Risk) {
		if r.Code == "" {
			coded := *r
			coded.Code = NewCode()
			r = &coded
		}
		code, _ = shorten(r.Code)
	}
	o := RenderOptions{Width: t.width, Color: t.options.Color}
	shown := Render(r, o)
	if err := t.print("\n" + shown.Text); err != nil {
		return Reply{}, err
	}
	for unclear := 0; unclear < maxUnclear; {
		if err := t.in.drop(); err != nil {
			return Reply{}, fmt.Errorf("dropping what was typed early: %w", err)
		}
		if err := t.print(prompt(code, shown)); err != nil {
			return Reply{}, err
		}
		typed, err := t.in.line(ctx)
		switch {
		case ctx.Err() != nil:
			t.print("\n(" + Words(context.Cause(ctx).Error()) + ")\n")
			return Reply{}, context.Cause(ctx)
		case err != nil:
			t.print("\n")
			return Reply{}, fmt.Errorf("the input ended: %w", ErrNoPerson)
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(typed), " ")
		word, rest = strings.ToLower(strings.TrimRight(word, ".,:;!")), strings.TrimSpace(rest)
		hint := "Please type yes or no."
		switch {
		case word == "n" || word == "no":
			return Reply{Decision: Refuse, Reason: rest, Typed: true}, nil
		case word == "show" && rest == "":
			o.Full, o.Reveal = true, true
			shown = Render(r, o)
			if err := t.print("\n" + shown.Text); err != nil {
				return Reply{}, err
			}
			continue
		case approves(word, rest, code) && grave(r.Risk) && !shown.Complete:
			hint = "Please type show first: a call of this risk has to be seen whole."
		case approves(word, rest, code):
			return Reply{Decision: AllowOnce, Typed: true}, nil
		case code != "":
			hint = fmt.Sprintf("Please type yes %s or no.", code)
		}
		unclear++
		if err := t.print(hint + "\n"); err != nil {
			return Reply{}, err
		}
	}
	return Reply{}, ErrUnclear
}

// approves reports whether a line is a yes: the word alone, or with the code where one is needed.
func approves(word, rest, code string) bool {
	if code == "" {
		return (word == "y" || word == "yes") && rest == ""
	}
	return (word == "y" || word == "yes") && rest == code || word == code && rest == ""
}

func prompt(code string, shown Rendering) string {
	yes := "yes"
	if code != "" {
		yes += " " + code
	}
	more := ""
	if shown.Cut || shown.Masked > 0 {
		more = ", show to see all of it"
	}
	return fmt.Sprintf("Type %s to allow, no to refuse (a reason may follow)%s: ", yes, more)
}

func (t *terminal) print(s string) error {
	if _, err := io.WriteString(t.out, s); err != nil {
		return fmt.Errorf("writing the question: %w", err)
	}
	return nil
}
