package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/approvals/terminal"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// A lineTypist is a terminal at which somebody types a line each time a prompt has come.
type lineTypist struct {
	lines []string
	shown bytes.Buffer
	in    *io.PipeWriter
}

func (p *lineTypist) Write(text []byte) (int, error) {
	p.shown.Write(text)
	if strings.HasPrefix(string(text), "Type ") {
		line := ""
		if len(p.lines) == 0 {
			_ = p.in.Close()
			return len(text), nil
		}
		line, p.lines = p.lines[0], p.lines[1:]
		go func() { _, _ = io.WriteString(p.in, line+"\n") }() // fails when the test is over
	}
	return len(text), nil
}

// TestAServersQuestionAtTheTerminal: what it asks is shown as its own, field by field, and what is typed is what it
// gets.
func TestAServersQuestionAtTheTerminal(t *testing.T) {
	const form = `{"type":"object","required":["name","size","sure"],"properties":{
		"name":{"type":"string","title":"Your name"},
		"size":{"type":"string","enum":["s","l"],"enumNames":["Small","Large"]},
		"count":{"type":"integer","description":"how many"},
		"sure":{"type":"boolean"},
		"tags":{"type":"array","items":{"anyOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}]}},
		"price":{"type":"number"}}}`
	for _, row := range []struct {
		title, schema string
		typed         []string
		want, shown   string
	}{
		{"every kind of field", form, []string{"Anna B", "2", "7", "yes", "1 2", "1.5"},
			`accept {"count":7,"name":"Anna B","price":1.5,"size":"l","sure":true,"tags":["r","g"]}`,
			`Question of a server server shop header: "1 of 6"`},
		{"by what they are called, and without what nobody needs", form, []string{"x", "Small", leaveOut, "No", "3", "1"},
			`accept {"name":"x","size":"s","sure":false}`, "how many"},
		{"a number that is none is asked for again", form, []string{"x", "1", "seven", "8", "1", "3", leaveOut},
			`accept {"count":8,"name":"x","size":"s","sure":true}`, "write a whole number"},
		{"nothing but noise", form, []string{"x", "1", "a", "b", "c"}, `cancel null`, "write a whole number"},
		{"a no in the middle", form, []string{"x", "decline"}, `decline null`, ""},
		{"nobody types any more", form, []string{"x"}, "error: ", ""},
		{"a yes is all it wants", ``, []string{"yes"}, `accept {}`, "Which one?"},
		{"a no is what it gets", `{"type":"object"}`, []string{"2"}, `decline null`, "Which one?"},
		{"a form that is none", `[]`, nil, "error: ", ""},
	} {
		r, w := io.Pipe()
		person := &lineTypist{lines: row.typed, in: w}
		ask := terminalAsk(terminal.New(r, person, terminal.Options{Plain: true}))
		q := &upstream.Question{Server: "shop", Message: "Which one?"}
		if row.schema != "" {
			q.Schema = json.RawMessage(row.schema)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		a, err := ask(ctx, q)
		cancel()
		_ = w.Close()
		got := fmt.Sprintf("error: %v", err)
		if err == nil {
			content, _ := json.Marshal(a.Content)
			got = a.Action + " " + string(content)
		}
		if !strings.HasPrefix(got, row.want) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %s, want %s\n%s", row.title, got, row.want, person.shown.String())
		}
		if shown := strings.Join(strings.Fields(person.shown.String()), " "); !strings.Contains(shown, row.shown) {
			t.Errorf("%s: shown\n%s\nwant %q in it", row.title, person.shown.String(), row.shown)
		}
	}
}
