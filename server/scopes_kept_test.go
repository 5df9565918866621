package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/server"
)

// Each grant that a form offers is honoured by the next equal call, for every transport, generation of the protocol and
// kind of caller; what would not be is not offered.
func TestEachScopeThatIsOfferedIsKept(t *testing.T) {
	const profiles = `"evaluation": {"profiles": {"p": {"asklist": ["filesystem__write_file"],
		"remember": {"scopes": ["once", "run", "count", "time", "session"]}}}}`
	callers := map[string]struct{ token, options, principal string }{
		"HTTP without tokens": {},
		"HTTP with a token":   {"the-token-of-anna", `"http": {"tokens": [{"token": "${ANNA}", "principal": "anna"}]}, `, ""},
		"stdio":               {principal: "anna"},
		"stdio of nobody":     {},
	}
	offeredAt := map[string][]string{}
	for name, caller := range callers {
		h := open(t, `{`+caller.options+profiles+`}`, server.Options{Principal: caller.principal})
		h.variables = map[string]string{"ANNA": caller.token}
		url := h.listen()
		for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
			for _, scope := range []string{"once", "run", "count", "time", "session", "plan"} {
				title := fmt.Sprintf("%s, %s, %s", name, version, scope)
				offered, label, asked := false, "", 0
				answer := func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
					asked++
					schema, _ := json.Marshal(p.RequestedSchema)
					if offered = strings.Contains(string(schema), `"allow_`+scope+`"`); !offered {
						return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow_once"}}, nil
					}
					label = string(schema)
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow_" + scope}}, nil
				}
				c := h.connectAs(answer, version, url, caller.token, strings.HasPrefix(name, "HTTP"))
				write := func(times int) {
					c.want("codemode_eval_p", fmt.Sprintf(`for (let i = 0; i < %d; i++) await codemode.filesystem__write_file(
						{path: %q, content: "x"}); return "written"`, times, title+".md"), "written")
				}
				write(2) // two equal calls in one run
				first, kept := asked, offered
				if kept {
					offeredAt[scope] = append(offeredAt[scope], name+" "+version)
				}
				if inRun := kept && scope != "once"; inRun != (first == 1) {
					t.Errorf("%s: offered %t, and %d questions about two calls of a run", title, kept, first)
				}
				if kept && (scope == "time" || scope == "session") {
					if write(1); asked != first {
						t.Errorf("%s is offered and not honoured in the next run:\n%s", title, label)
					}
				}
				c.Close()
			}
		}
	}
	if all := len(callers) * 3; len(offeredAt["run"]) != all || len(offeredAt["once"]) != all || len(offeredAt["time"]) < 6 {
		t.Errorf("offered: %q", offeredAt)
	}
	t.Logf("time is offered to %q", offeredAt["time"])
	t.Logf("session is offered to %q", offeredAt["session"])
}

// connectAs connects a client over HTTP with a token, or in memory.
func (h *house) connectAs(p person, version, url, token string, overHTTP bool) *client {
	h.t.Helper()
	if !overHTTP {
		return h.connect(p, version)
	}
	c, sdk := newClient(h.t, p, nil)
	web := mcptest.Bearer(token)
	web.Timeout = time.Minute
	session, err := sdk.Connect(h.t.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: web},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		h.t.Fatal(err)
	}
	c.ClientSession = session
	h.t.Cleanup(func() { session.Close() })
	return c
}
