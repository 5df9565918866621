package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/server"
)

// What a person changes in a form is decided again and sent, in both generations of the protocol.
func TestArgumentsAreChangedInAClientsForm(t *testing.T) {
	type fields = map[string]any
	answer := func(args string) fields { return fields{"decision": "allow_once", "arguments": args} }
	for name, test := range map[string]struct {
		edit    bool
		answers []fields
		want    string // what the program returns
		written string
	}{
		"changed":   {true, []fields{answer(`{"path": "instead.md", "content": "x"}`)}, "sent", "instead.md"},
		"unchanged": {true, []fields{answer(`{"content": "x", "path": "was.md"}`)}, "sent", "was.md"},
		"a slip, then mended": {true, []fields{answer(`{"path": "instead.md"`), answer(`{"path": "instead.md", "content": "x"}`)}, "sent",
			"instead.md"},
		"what does not fit the schema": {true, []fields{answer(`{"path": 7}`), answer(`{"path": 7}`)}, "no_approver", ""},
		"what a rule denies": {true, []fields{answer(`{"path": "secret.md", "content": "x"}`), {"decision": "deny"}},
			"elicitation_declined", ""},
		"not permitted": {false, []fields{answer(`{"path": "instead.md", "content": "x"}`), answer("")}, "no_approver", ""},
	} {
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(name+"/"+version, func(t *testing.T) {
				t.Parallel()
				h := open(t, fmt.Sprintf(`{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__write_file"],
					"ask": {"edit": %t}, "denylist": [{"tool": "filesystem__*", "when": {"/path": {"prefix": "secret"}}}]}}}}`,
					test.edit), server.Options{})
				left := test.answers
				c := h.connect(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
					time.Sleep(350 * time.Millisecond) // a person needs longer than a client that answers by itself
					content := left[0]
					left = left[1:]
					return &mcp.ElicitResult{Action: "accept", Content: content}, nil
				}, version)
				text, _ := c.eval("codemode_eval_p", `try {
					await codemode.filesystem__write_file({path: "was.md", content: "x"}); return "sent" } catch (e) { return e.reason }`)
				if !strings.HasPrefix(below(text), `"`+test.want+`"`) || len(left) > 0 {
					t.Errorf("%d answers are left, and the program returned\n%s", len(left), text)
				}
				for _, file := range []string{"was.md", "instead.md", "secret.md"} {
					if h.holds(file) != (file == test.written) {
						t.Errorf("%s is there: %t", file, h.holds(file))
					}
				}
			})
		}
	}
}
