package terminal

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
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

// Colours are those of our own words, and the text is the same without them.
func TestColours(t *testing.T) {
	v := prompt.Render(&prompt.Request{
		Server: "filesystem", Tool: "write_file", Name: "filesystem__write_file", Profile: "supervised", Risk: call.Medium,
		Code: "7f3a", Rule: "fs-write (codemode.json:31:9)", Reasons: []string{"changes files"},
		Args: []byte(`{"path":"a","content":"b"}`)}, prompt.RenderOptions{})
	want, err := os.ReadFile("testdata/coloured.golden")
	plain := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(colored(&v), "")
	if got := colored(&v); err != nil || got != string(want) || plain != v.Text() {
		t.Errorf("%v, got\n%s", err, got)
	}
}

// A terminal says until when a question waits, which is the end of its time-out and not that of what is bound to the
// yes.
func TestATerminalIsToldUntilWhenAQuestionWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, q := &approvals.Desk{}, approvals.NewQueue("terminal")
		seat := q.Sit("anna")
		defer seat.Leave()
		answer := make(chan approvals.Result)
		go func() {
			answer <- d.Ask(t.Context(), write("/a"), []approvals.Channel{q}, approvals.Options{Timeout: 3 * time.Minute})
		}()
		synctest.Wait()
		if told, _ := describe(seat.Pending(), 80); time.Until(told[0].Expires) != 3*time.Minute {
			t.Errorf("it is told to wait for %v, and waits for 3m", time.Until(told[0].Expires))
		}
		if got := <-answer; got.Code != call.CodeTimeout || got.Took != 3*time.Minute {
			t.Errorf("it waited for %v: %+v", got.Took, got)
		}
	})
}
