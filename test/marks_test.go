package codemode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/profiles"
)

// A server's mark on a tool, in its _meta or its annotations, has a person asked; one that says no changes nothing.
func TestAServersMarkAsksAPerson(t *testing.T) {
	s := newStranger(t)
	var want, program []string
	for i, tt := range []struct {
		meta string
		hint bool
		want string
	}{
		{`{"codemode/approval": "ask"}`, false, "ask"},
		{`{"codemode/approval": true}`, false, "ask"},
		{`{"codemode/approval": "whatever"}`, false, "ask"},
		{`{"codemode/approval": {"by": "anna"}}`, false, "ask"},
		{`{"anthropic/requiresUserInteraction": true}`, false, "ask"},
		{`{"requires_confirmation": true}`, false, "ask"},
		{`{"com.example/require_approval": "always"}`, false, "ask"},
		{`{"requiresApproval": 1}`, false, "ask"},
		{`{"codemode/approval": false, "x": true}`, false, "allow"},
		{`{"codemode/approval": "never"}`, false, "allow"},
		{`{"codemode/approval": null}`, false, "allow"},
		{`{"approved": true, "require_approval": "never"}`, false, "allow"},
		{`{"vendor/size": 3}`, false, "allow"},
		{`{}`, true, "allow"},
	} {
		var meta mcp.Meta
		if err := json.Unmarshal([]byte(tt.meta), &meta); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("t%d", i)
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`), Meta: meta,
			Annotations: &mcp.ToolAnnotations{DestructiveHint: &tt.hint}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ok"}}}, nil
			})
		want = append(want, name+" "+tt.want)
		program = append(program, fmt.Sprintf("await codemode.s__%s({})", name))
	}
	for _, trust := range []bool{false, true} {
		for _, rules := range []string{`"allowlist": ["*"]`, `"unmatched": "allow"`} {
			rules := fmt.Sprintf(`{"mcpServers": {"s": {"type": "http", "url": %q, "trustAnnotations": %t}}, "evaluation": {"profiles": {"p": {%s}}}}`, s.url, trust, rules)
			state := t.TempDir()
			e := open(t, rules, func(o *codemode.Options) { o.StateDir = state })
			code := strings.Join(program, ";\n")
			var predicted, explained []string
			cfg, err := config.Parse("codemode.json", []byte(rules))
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range check(t, e, "p", code).Calls {
				predicted = append(predicted, strings.TrimPrefix(c.Tool, "s__")+" "+c.Verdict)
				name := fmt.Sprintf("t%d", i)
				seen, ok := registry.SeenTool(state, cfg, "s", name)
				if !ok {
					t.Fatalf("%s was not seen in %s", name, filepath.Base(state))
				}
				d := cfg.Profile("p").Explain(profiles.Call{Server: "s", Tool: name, Annotations: seen.Annotations}).Decision
				explained = append(explained, name+" "+d.Verdict.String())
			}
			got := verdicts(t, e, says(yes, nil), code)
			for what, list := range map[string]string{"the Gate": got, "check": strings.Join(predicted, ", "),
				"explain": strings.Join(explained, ", ")} {
				if list != strings.Join(want, ", ") {
					t.Errorf("%s, trusted %t: %s says %s\nwant %s", rules, trust, what, list, strings.Join(want, ", "))
				}
			}
		}
	}
}

// A profile may deny what a server marks, and nothing that a server says makes a call milder.
func TestAMarkOnlyTightens(t *testing.T) {
	cfg, err := config.Parse("codemode.json", []byte(`{"evaluation": {"profiles": {
		"strict": {"unmatched": "allow", "raise": {"approval": "deny"}},
		"asks": {"asklist": ["*"]}, "denies": {"denylist": ["*"]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		profile string
		value   any
		want    call.Verdict
	}{
		{"strict", "ask", call.Deny}, {"strict", "never", call.Allow},
		{"asks", "never", call.Ask}, {"asks", "ask", call.Ask}, {"denies", "ask", call.Deny}, {"denies", false, call.Deny},
	} {
		d := cfg.Profile(tt.profile).Decide(profiles.Call{Server: "s", Tool: "t",
			Annotations: map[string]any{"codemode/approval": tt.value}})
		if d.Verdict != tt.want {
			t.Errorf("%s, %v: got %s, want %s", tt.profile, tt.value, d.Verdict, tt.want)
		}
	}
}

// Whoever is asked is told what the server says of its tool.
func TestAQuestionNamesTheServersHints(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {"asklist": ["*"]}}}}`)
	var reasons []string
	p := says(yes, nil)
	if got := verdicts(t, e, p,
		`await codemode.filesystem__delete_file({path: "a.md"})`); got != "filesystem__delete_file ask" {
		t.Fatal(got)
	}
	for i := range p.asked {
		q := &p.asked[i]
		reasons = append(reasons, q.Reasons...)
		if text := prompt.Text(q, prompt.RenderOptions{}); !strings.Contains(text, "destructiveHint") {
			t.Errorf("the question does not say it:\n%s", text)
		}
	}
	if !strings.Contains(strings.Join(reasons, "\n"), "its server says that it destroys or overwrites (destructiveHint)") {
		t.Errorf("got %q", reasons)
	}
}
