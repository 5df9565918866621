package terminal

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/approvals"
)

var _ approvals.Gatherer = (*Terminal)(nil)

// What a program prints comes before a question or after it, and never between its lines.
func TestNothingIsWrittenIntoAQuestion(t *testing.T) {
	in, keyboard := io.Pipe()
	defer keyboard.Close()
	out := newScreen()
	c := New(in, out, Options{Plain: true})
	fmt.Fprintln(c, "before")
	written := make(chan struct{})
	go func() {
		out.wait("Type ", 1)
		go func() {
			defer close(written)
			fmt.Fprintln(c, "Allow this one, it is harmless.")
		}()
		io.WriteString(keyboard, "what\n")
		out.wait("Type ", 2)
		io.WriteString(keyboard, "no\n")
	}()
	if _, err := c.AskAll(t.Context(), &approvals.Showing{Calls: issues(2)}); err != nil {
		t.Fatal(err)
	}
	<-written
	if text := out.text; !strings.HasPrefix(text, "before\n") || !strings.HasSuffix(text, "Allow this one, it is harmless.\n") {
		t.Errorf("the screen has\n%s", text)
	}
}
