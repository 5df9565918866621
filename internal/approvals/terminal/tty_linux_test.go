package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// terminals returns the two ends of a pseudo terminal: what a person's keys go into, and what a program reads.
func terminals(t *testing.T) (keyboard, program *os.File) {
	t.Helper()
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	keyboard = os.NewFile(uintptr(master), "ptmx")
	t.Cleanup(func() { keyboard.Close() })
	checktest.OK(t, unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	checktest.OK(t, err)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { program.Close() })
	return keyboard, program
}

func press(t *testing.T, keyboard *os.File, keys string) {
	t.Helper()
	if _, err := keyboard.WriteString(keys); err != nil {
		t.Error(err)
	}
}

// waiting waits until the program could read what was typed. TIOCINQ is the count of its bytes.
func waiting(t *testing.T, program *os.File) {
	t.Helper()
	for range testwait.Polls(testwait.Bound) {
		if n, err := unix.IoctlGetInt(int(program.Fd()), unix.TIOCINQ); err == nil && n > 0 {
			return
		}
	}
	t.Fatal("what was typed does not arrive")
}

// THREATS.md A16: a yes that was on its way before the question appeared answers nothing.
func TestTypeAheadIsDropped(t *testing.T) {
	keyboard, program := terminals(t)
	out := newScreen()
	c := New(program, out, Options{})
	press(t, keyboard, "yes\nyes\ny")
	waiting(t, program)
	go func() {
		out.wait("Type ", 1)
		press(t, keyboard, "no too early\n")
	}()
	reply, err := c.Ask(t.Context(), &approvals.Showing{Request: request(call.Medium)})
	if err != nil || reply.Allowed || reply.Reason != "too early" || !reply.Typed {
		t.Errorf("got %+v, %v, want the refusal that came after the question", reply, err)
	}

	press(t, keyboard, "yes\n") // between two questions
	waiting(t, program)
	go func() {
		out.wait("Type ", 2)
		press(t, keyboard, "yes\nno\n")
	}()
	if reply, err := c.Ask(t.Context(), &approvals.Showing{Request: request(call.Medium)}); err != nil || !reply.Allowed {
		t.Errorf("got %+v, %v, want a yes", reply, err)
	}
}

func TestPastedLinesAnswerOneQuestionOnly(t *testing.T) {
	keyboard, program := terminals(t)
	out := newScreen()
	c := New(program, out, Options{})
	go func() {
		out.wait("Type ", 1)
		press(t, keyboard, "what is this\nyes\n")
		out.wait("Type ", 2)
		press(t, keyboard, "no\n")
	}()
	if reply, err := c.Ask(t.Context(), &approvals.Showing{Request: request(call.Medium)}); err != nil || reply.Allowed {
		t.Errorf("got %+v, %v, want a no", reply, err)
	}
}

func TestTheTerminalIsLeftAlone(t *testing.T) {
	keyboard, program := terminals(t)
	out := newScreen()
	c := New(program, out, Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		out.wait("Type ", 1)
		cancel(errors.New("answered over web"))
	}()
	if _, err := c.Ask(ctx, &approvals.Showing{Request: request(call.Medium)}); err == nil {
		t.Error("a question that was withdrawn has an answer")
	}
	press(t, keyboard, "for somebody else\n")
	b := make([]byte, 100)
	if n, err := program.Read(b); err != nil || string(b[:n]) != "for somebody else\n" {
		t.Errorf("got %q, %v: the question still reads", b[:n], err)
	}
}

func TestEndOfInputIsNoPerson(t *testing.T) {
	keyboard, program := terminals(t)
	out := newScreen()
	c := New(program, out, Options{})
	go func() {
		out.wait("Type ", 1)
		press(t, keyboard, "\x04")
	}()
	if _, err := c.Ask(t.Context(), &approvals.Showing{Request: request(call.Medium)}); !errors.Is(err,
		approvals.ErrNoPerson) {
		t.Errorf("after Ctrl-D: got %v", err)
	}
	go func() {
		out.wait("Type ", 2)
		keyboard.Close()
	}()
	if _, err := c.Ask(t.Context(), &approvals.Showing{Request: request(call.Medium)}); !errors.Is(err,
		approvals.ErrNoPerson) {
		t.Errorf("after the terminal was closed: got %v", err)
	}
}

func TestTheWidthIsTheTerminals(t *testing.T) {
	keyboard, program := terminals(t)
	checktest.OK(t, unix.IoctlSetWinsize(int(keyboard.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 50}))
	if got := New(program, program, Options{}).width; got != 49 {
		t.Errorf("got %d columns, want one less than 50", got)
	}
	if got := New(program, &strings.Builder{}, Options{}).width; got != plainWidth {
		t.Errorf("got %d columns, want %d", got, plainWidth)
	}
}
