package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	t.Parallel()
	write := toolCall{"write", json.RawMessage(`{"title": "a", "text": "new"}`)}
	for _, row := range []struct {
		why, answer string
		call        toolCall
		want        string // a part of what is printed
		note        string // afterwards
	}{
		{"an allowed call", "", toolCall{"read", json.RawMessage(`{"title": "a"}`)}, `read {"title": "a"}: old`, "old"},
		{"an error of the executor", "", toolCall{"read", json.RawMessage(`{"title": "b"}`)},
			`error: there is no note "b"`, "old"},
		{"a denied call", "yes", toolCall{"remove", json.RawMessage(`{"title": "a"}`)}, "refused: profile agent", "old"},
		{"a tool that no rule allows", "yes", toolCall{"share", json.RawMessage(`{}`)}, "refused: ", "old"},
		{"a yes", "yes", write, "call 1: notes__write done", "new"},
		{"a no", "not now", write, `a person refused this call and wrote: "not now"`, "old"},
		{"a yes with other arguments", `{"title": "a", "text": "newer"}`, write, "call 1: notes__write done", "newer"},
		{"a yes with arguments that do not fit", `{"title": "", "text": "x"}`, write, "refused: ", "old"},
		{"no answer", "", write, "refused: ", "old"},
		{"arguments that do not fit", "yes", toolCall{"write", json.RawMessage(`{"title": "a"}`)},
			"error: /text: expected a string, got nothing", "old"},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			n := notes{"a": "old"}
			in := row.answer
			if in != "" {
				in += "\n"
			}
			var out bytes.Buffer
			if err := run(context.Background(), n, []toolCall{row.call}, strings.NewReader(in), &out); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), row.want) || n["a"] != row.note {
				t.Errorf("the note is %q, want %q, and it prints, without %q:\n%s", n["a"], row.note, row.want, &out)
			}
		})
	}
}
