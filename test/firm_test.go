package codemode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
)

// A call that an ask rule asks about, and that is tainted or marked besides, is put to a person each time: neither a
// yes for the whole run answers it, nor the fallback.
func TestP39_2NoGrantAndNoFallbackAnswersAFirmQuestion(t *testing.T) {
	trusted, untrusted := newStranger(t), newStranger(t)
	untrusted.define("read", "reads mail")
	for name, meta := range map[string]mcp.Meta{"send": nil, "pay": {"codemode/approval": true}} {
		trusted.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`), Meta: meta},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "words of anybody"}}}, nil
			})
	}
	e := open(t, fmt.Sprintf(`{"mcpServers": {"t": {"type": "http", "url": %q, "trustAnnotations": true},
		"u": {"type": "http", "url": %q}}, "evaluation": {"profiles": {"p": {
		"allowlist": ["u__read"], "asklist": ["t__send", "t__pay"], "elicitationFallback": "allow",
		"remember": {"scopes": ["run"], "args": "any"}, "raise": {"tainted": "ask"}}}}}`, trusted.url, untrusted.url))
	const send, read, pay = `await codemode.t__send({to: k("a")})`, `await codemode.u__read({})`, `await codemode.t__pay({})`
	for _, row := range []struct {
		title, code    string
		people, nobody string // how each call was allowed
		asked          int    // questions to the person
	}{
		{"untainted", send + ";" + send, "person grant", "fallback fallback", 1},
		{"tainted after a yes for the run", send + ";" + send + ";" + read + ";" + send + ";" + send,
			"person grant  person person", "fallback fallback  - -", 3},
		{"marked", pay + ";" + pay, "person person", "- -", 2},
	} {
		for _, there := range []bool{true, false} {
			p, r := generous(), codemode.Request{Profile: "p", Code: "const k = x => x;" + row.code}
			if there {
				r.Channels = []approvals.Channel{p}
			} else {
				r.Code = strings.ReplaceAll(r.Code, "await codemode", "try { await codemode")
				r.Code = strings.ReplaceAll(r.Code, "})", "}) } catch (e) {}")
			}
			ran, err := e.Eval(t.Context(), r)
			if err != nil {
				t.Fatal(ran.Text(err))
			}
			var got []string
			for _, c := range ran.Calls {
				how, _, _ := strings.Cut(c.Approved, ",")
				if c.Approved == "" && c.Reason != "" {
					how = "-"
				}
				got = append(got, how)
			}
			want := map[bool]string{true: row.people, false: row.nobody}[there]
			if strings.Join(got, " ") != want || there && len(p.asked) != row.asked {
				t.Errorf("%s, somebody is there: %t: allowed by %q, %d asked, want %q", row.title, there,
					strings.Join(got, " "), len(p.asked), want)
			}
			for _, asked := range p.asked {
				if asked.Firm && len(asked.Terms.Scopes) > 0 {
					t.Errorf("%s: a firm question offers %v", row.title, asked.Terms.Scopes)
				}
			}
		}
	}
}
