package terminal

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"golang.org/x/term"
)

// Options say how a terminal asks. The zero value suits a terminal.
type Options struct {
	Color bool
	// Plain says to accept in as input although it is not a terminal, as in a test. Otherwise such a channel has no
	// person.
	Plain bool
}

const (
	widest     = 120 // columns; longer lines are hard to read
	plainWidth = 80
)

// New asks on a terminal, one question at a time. A person types a whole word, and for a high risk also the code of the
// question. New discards what was typed before the question appeared.
//
// With a nil or closed in, or one that is not a terminal, nobody is there. Reading stops when an ask ends, so that
// other code can use the terminal in between. While the channel asks, nothing else should write to out: write to the
// channel instead, which waits until no question is on the screen.
func New(in io.Reader, out io.Writer, o Options) *Terminal {
	t := &Terminal{out: out, options: o, turn: make(chan struct{}, 1), width: plainWidth, rows: func() int { return 0 }}
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

// A Terminal asks one person. It is an [approvals.Channel].
type Terminal struct {
	in      lineSource // nil when nobody is there
	out     io.Writer
	options Options
	width   int
	rows    func() int    // of the screen; 0 means unlimited
	turn    chan struct{} // holds an element while a question is on the screen
}

func (t *Terminal) Name() string { return "terminal" }

// Strong is true: the answer comes from the person at the terminal where the program was started, not from the program.
func (t *Terminal) Strong() bool { return true }

func (t *Terminal) Inquires() bool { return true }

// Write writes to the screen. While a question is there it waits, so that nothing can look like a part of the question.
func (t *Terminal) Write(p []byte) (int, error) {
	t.turn <- struct{}{}
	defer func() { <-t.turn }()
	return t.out.Write(p)
}

// acquire waits for the terminal.
func (t *Terminal) acquire(ctx context.Context, s *approvals.Showing) (done func(), err error) {
	if t.in == nil {
		return nil, fmt.Errorf("standard input is not a terminal: %w", approvals.ErrNoPerson)
	}
	select {
	case t.turn <- struct{}{}:
	default:
		shown := s.Waiting()
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

// typed shows a label and returns the next typed line.
func (t *Terminal) typed(ctx context.Context, label string) (string, error) {
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

func (t *Terminal) print(s string) error {
	if _, err := io.WriteString(t.out, s); err != nil {
		return fmt.Errorf("writing the question: %w", err)
	}
	return nil
}
