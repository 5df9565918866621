package server_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/server"
)

const shapes = `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"asklist": ["filesystem__*"]}}}}`

// S3.6, C1: a model's question and a program's reach the person at every client, on every protocol and transport, and
// come back with what was chosen and written.
func TestAskUserOverEveryProtocol(t *testing.T) {
	const question = `{"header": "Colour", "question": "Which ones?", "options": [{"label": "red"}, {"label": "blue", "description": "like the sea"}], "multiple": true, "freeText": true}`
	const want = `{"action":"accept","answer":"blue, both if you can","selected":["blue"],"text":"both if you can"}`
	// The person ticks what is called "blue", whatever the form is like, and writes something.
	blue := func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		js, err := json.Marshal(p.RequestedSchema)
		if err != nil {
			return nil, err
		}
		var schema struct {
			Properties map[string]struct {
				Type, Title string
				Items       struct {
					AnyOf []struct{ Const, Title string }
				}
			}
		}
		if err := json.Unmarshal(js, &schema); err != nil {
			return nil, err
		}
		content := map[string]any{}
		for name, p := range schema.Properties {
			switch {
			case p.Type == "boolean" && p.Title == `"blue"`:
				content[name] = true
			case p.Type == "array":
				for _, o := range p.Items.AnyOf {
					if o.Title == `"blue"` {
						content[name] = []any{o.Const}
					}
				}
			case p.Type == "string":
				content[name] = "both if you can"
			}
		}
		return &mcp.ElicitResult{Action: "accept", Content: content}, nil
	}
	check := func(t *testing.T, c *client) {
		t.Helper()
		var args map[string]any
		checktest.OK(t, json.Unmarshal([]byte(question), &args))
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask_user", Arguments: args})
		checktest.OK(t, err)
		structured, _ := json.Marshal(res.StructuredContent)
		text := res.Content[0].(*mcp.TextContent).Text
		if res.IsError || text != want || !sameJSON(t, string(structured), want) {
			t.Errorf("the tool: got %s and %s", text, structured)
		}
		if text, failed := c.eval("codemode_eval", "return await codemode.ask_user("+question+")"); failed || !sameJSON(t,
			value(text), want) {
			t.Errorf("in a program: got %s", text)
		}
		for _, shown := range c.questions() {
			if !strings.Contains(shown,
				"A program asks you something, in its own words.\nYour answer goes to the program, and allows no call.") {
				t.Errorf("shown:\n%s", shown)
			}
		}
		if n := len(c.questions()); n != 2 {
			t.Errorf("%d questions, want 2", n)
		}
	}
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			h := open(t, shapes, server.Options{})
			check(t, h.connect(blue, version))
		})
		t.Run(version+" over HTTP", func(t *testing.T) {
			h := open(t, shapes, server.Options{})
			check(t, h.connectHTTPOn(h.listen(), blue, version))
		})
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	js, err := json.Marshal(x)
	checktest.OK(t, err)
	other, err := json.Marshal(y)
	checktest.OK(t, err)
	return string(js) == string(other)
}

// S3.6, C6, 7.2/20, 7.2/22: a decline is told apart from a closed dialog, from nobody, and from clients that answer by
// themselves.
func TestAskUserWithoutAnAnswer(t *testing.T) {
	at := func(action string, content map[string]any) person {
		return func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: action, Content: content}, nil
		}
	}
	slow := func(action string) person {
		return func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			time.Sleep(400 * time.Millisecond) // a person: a faster no would count as nobody's
			return &mcp.ElicitResult{Action: action}, nil
		}
	}
	for _, tt := range []struct {
		why    string
		person person
		want   string
		failed bool
	}{
		{"declined", slow("decline"), `{"action":"decline",`, false},
		{"closed", slow("cancel"), `"reason":"canceled"`, false},
		{"no elicitation", nil, `"reason":"elicitation_unsupported"`, true},
		{"declined in no time", at("decline", nil), `"reason":"no_approver"`, true},
		{"an empty form", at("accept", map[string]any{}), `"reason":"no_approver"`, true},
		{"a decision about a call", at("accept", map[string]any{"decision": "allow_once"}), `"reason":"no_approver"`, true},
	} {
		t.Run(tt.why, func(t *testing.T) {
			h := open(t, shapes, server.Options{})
			text, failed := h.connect(tt.person, "2025-11-25").call("ask_user", map[string]any{"question": "Well?"})
			if !strings.Contains(text, tt.want) || failed != tt.failed {
				t.Errorf("got %s, %v", text, failed)
			}
		})
	}
}

// F1, C8: models cannot flood a person through ask_user, and no answer to it allows a call.
func TestAskUserIsLimitedAndAllowsNothing(t *testing.T) {
	h := open(t, strings.Replace(shapes, `"asklist"`, `"limits": {"asksPerMinute": 2}, "asklist"`, 1), server.Options{})
	c := h.connect(fills(func(string) string { return "yes, allow everything" }), "")
	for i, want := range []string{`"accept"`, `"accept"`,
		"error: nobody was asked: there have been 2 questions within a minute"} {
		if text, _ := c.call("ask_user", map[string]any{"question": "May I write new.md?"}); !strings.Contains(text, want) {
			t.Errorf("question %d: got %s", i+1, text)
		}
	}
	if text, _ := c.eval("codemode_eval", attempt(writeNew)); h.holds("new.md") {
		t.Errorf("written: %s", text)
	}
	hidden := open(t, strings.Replace(shapes, `"defaultProfile"`, `"expose": ["p", "search_tools"], "defaultProfile"`, 1),
		server.Options{})
	for _, name := range hidden.connect(nil, "").tools() {
		if name == "ask_user" {
			t.Error("a configuration that names its helpers still offers ask_user")
		}
	}
}

// S3.6: whoever works here is told whether, and over what, a person can be asked at the moment.
func TestStatusOfResponders(t *testing.T) {
	queue := approvals.NewQueue("terminal")
	h := open(t, shapes, server.Options{})
	with := open(t, shapes, server.Options{}, func(o *codemode.Options) { o.Channels = []approvals.Channel{queue} })
	status := func(c *client) string {
		text, _ := c.call("search_tools", nil)
		lines := strings.Split(text, "\n")
		return lines[slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "person") })]
	}
	if got, want := status(h.connect(nil, "")),
		"No person can be asked here: calls that need approval are refused."; got != want {
		t.Errorf("got %q", got)
	}
	if got, want := status(with.connect(says("decline", nil), "")),
		"A person is asked by forms of this client, over terminal (nobody is there now)."; got != want {
		t.Errorf("got %q", got)
	}
	seat := queue.Sit("local:anna")
	if got, want := status(with.connect(nil, "")), "A person is asked over terminal (1 connected)."; got != want {
		t.Errorf("got %q", got)
	}
	seat.Leave()
}
