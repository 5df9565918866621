package server_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/server"
)

// Sessions are offered to clients if the configuration says so.
func TestSessionsOfAClient(t *testing.T) {
	const rules = `"evaluation": {"defaultProfile": "p", "profiles": {"p": {}}}`
	h := open(t, `{`+rules+`}`, server.Options{Principal: "anna"})
	c := h.connect(nil, "")
	if text, failed := c.call("codemode_eval", map[string]any{"code": "return 1", "session": "a"}); !failed ||
		!strings.Contains(text, `"sessions": true`) || slices.Contains(c.tools(), "codemode_session") {
		t.Errorf("without the key: %s %v", text, c.tools())
	}
	h = open(t, `{"sessions": true, `+rules+`}`, server.Options{Principal: "anna"})
	c = h.connect(nil, "")
	in := func(session, code, want string) {
		t.Helper()
		text, failed := c.call("codemode_eval", map[string]any{"code": code, "session": session})
		if failed || !strings.HasPrefix(text, want+"\n") {
			t.Errorf("%s in %s: %s", code, session, text)
		}
	}
	in("a", `let n = 1; class Box { #v = 10; add(k) { return this.#v += k } } const box = new Box(), next = () => ++n; return n`, "1")
	in("a", `next(); return box.add(n)`, "12")
	for _, row := range []struct {
		args map[string]any
		want string
		ok   bool
	}{
		{map[string]any{"action": "list"}, "a (profile p): 2 versions", true},
		{map[string]any{"action": "show", "name": "a"}, "- const box: Box", true},
		{map[string]any{"action": "fork", "name": "a", "version": 1, "as": "b"}, "The session b is a fork of a at version 1.", true},
		{map[string]any{"action": "rollback", "name": "a", "version": 1}, "that is its version 3", true},
		{map[string]any{"action": "delete", "name": "c"}, `there is no session "c"; there are a, b`, false},
		{map[string]any{"action": "delete", "name": "a", "version": 1}, `takes no argument "version"`, false},
	} {
		if text, failed := c.call("codemode_session", row.args); failed == row.ok || !strings.Contains(text, row.want) {
			t.Errorf("%v: %s", row.args, text)
		}
	}
	in("b", `next(); return n`, "2")
	in("a", `return [n, box.add(0)].join()`, `"1,10"`)
	if text, failed := c.call("codemode_session", map[string]any{"action": "delete", "name": "a"}); failed {
		t.Error(text)
	}
	if text, failed := c.call("codemode_eval", map[string]any{"code": "return n", "session": "a"}); !failed ||
		!strings.Contains(text, "nothing declares n") {
		t.Errorf("after the deletion: %s", text)
	}
}

// sessionsWithTokens offers sessions. Anna's and Bert's tokens are for all profiles, Carl's is Anna's for one of them.
const sessionsWithTokens = `{"sessions": true,
	"evaluation": {"defaultProfile": "p", "profiles": {"p": {}, "q": {}}},
	"http": {"tokens": [{"token": "${ANNA}", "principal": "anna"}, {"token": "${BERT}", "principal": "bert"},
		{"token": "${CARL}", "principal": "anna", "profiles": ["q"]}]}}`

func callOver(t *testing.T, url, token, version, tool string, args map[string]any) (string, bool) {
	t.Helper()
	_, sdk := newClient(t, nil, nil)
	c, err := sdk.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url,
		HTTPClient: mcptest.Bearer(token)}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err.Error(), true
	}
	return res.Content[0].(*mcp.TextContent).Text, res.IsError
}

// A session is its principal's alone: for another one of the same name, and for a token of another profile, there is
// none.
func TestSessionsOfTwoPrincipals(t *testing.T) {
	type args = map[string]any
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			h := open(t, sessionsWithTokens, server.Options{})
			h.variables = map[string]string{"ANNA": annasToken, "BERT": bertsToken, "CARL": carlsToken}
			url := h.listen()
			for _, row := range []struct {
				why, token, tool string
				args             args
				want             string
				ok               bool
			}{
				{"anna begins a session", annasToken, "codemode_eval",
					args{"code": `const secret = "of anna"; return secret`, "session": "s"}, "\"of anna\"\n", true},
				{"anna begins another one", annasToken, "codemode_eval", args{"code": `return 1`, "session": "only"}, "1\n", true},
				{"bert has no name of it", bertsToken, "codemode_eval", args{"code": `return secret`, "session": "s"},
					"nothing declares secret", false},
				{"nor in a check", bertsToken, "codemode_check", args{"code": `return secret`, "session": "s"},
					"the session has declared nothing", true},
				{"bert begins one of the name", bertsToken, "codemode_eval",
					args{"code": `const secret = "of bert"; return secret`, "session": "s"}, "\"of bert\"\n", true},
				{"bert lists his own", bertsToken, "codemode_session", args{"action": "list"}, "- s (profile p): 1 version,", true},
				{"bert sees nothing of another one", bertsToken, "codemode_session", args{"action": "show", "name": "only"},
					`there is no session "only"; there are s`, false},
				{"nor forks it", bertsToken, "codemode_session", args{"action": "fork", "name": "only", "as": "mine"},
					`there is no session "only"; there are s`, false},
				{"nor rolls it back", bertsToken, "codemode_session", args{"action": "rollback", "name": "only", "version": 1},
					`there is no session "only"; there are s`, false},
				{"nor deletes it", bertsToken, "codemode_session", args{"action": "delete", "name": "only"},
					`there is no session "only"; there are s`, false},
				{"bert deletes his own", bertsToken, "codemode_session", args{"action": "delete", "name": "s"},
					"The session s is deleted", true},
				{"anna still has hers", annasToken, "codemode_eval", args{"code": `return secret`, "session": "s"},
					"\"of anna\"\n", true},

				{"under another profile nothing runs in it", annasToken, "codemode_eval_q",
					args{"code": `return secret`, "session": "s"},
					`belongs to the profile "p", and this program runs under "q"`, false},
				{"nor is anything checked", annasToken, "codemode_check",
					args{"code": `return secret`, "session": "s", "profile": "q"}, `belongs to the profile "p"`, false},
				{"a token for q alone runs nothing in it", carlsToken, "codemode_eval_q",
					args{"code": `return secret`, "session": "s"}, `belongs to the profile "p"`, false},
				{"and lists none", carlsToken, "codemode_session", args{"action": "list"}, "There are no sessions", true},
				{"nor shows it", carlsToken, "codemode_session", args{"action": "show", "name": "s"}, "and no other one", false},
				{"nor forks it", carlsToken, "codemode_session", args{"action": "fork", "name": "s", "as": "mine"},
					"and no other one", false},
				{"nor rolls it back", carlsToken, "codemode_session", args{"action": "rollback", "name": "s", "version": 1},
					"and no other one", false},
				{"nor deletes it", carlsToken, "codemode_session", args{"action": "delete", "name": "s"},
					"and no other one", false},
				{"it has its own ones", carlsToken, "codemode_eval_q", args{"code": `return 7`, "session": "t"}, "7\n", true},
				{"and lists those", carlsToken, "codemode_session", args{"action": "list"}, "- t (profile q): 1 version,", true},
			} {
				text, failed := callOver(t, url, row.token, version, row.tool, row.args)
				if failed == row.ok || !strings.Contains(text, row.want) ||
					row.token == bertsToken && strings.Contains(text, "of anna") ||
					row.why == "bert lists his own" && strings.Contains(text, "only") {
					t.Errorf("%s: got %s\nwant %s", row.why, text, row.want)
				}
			}
		})
	}
}

// A program of a session is checked with the names that the session declares.
func TestCheckingAProgramOfASession(t *testing.T) {
	const rules = `"evaluation": {"defaultProfile": "p", "profiles": {"p": {}}}`
	h := open(t, `{`+rules+`}`, server.Options{Principal: "anna"})
	c := h.connect(nil, "")
	if text, failed := c.call("codemode_check", map[string]any{"code": "return 1", "session": "a"}); !failed ||
		!strings.Contains(text, `"sessions": true`) {
		t.Errorf("without the key: %s", text)
	}
	h = open(t, `{"sessions": true, `+rules+`}`, server.Options{Principal: "anna"})
	c = h.connect(nil, "")
	if text, failed := c.call("codemode_eval", map[string]any{"session": "a",
		"code": `let n = 1; class Box {} const box = new Box(); return n`}); failed {
		t.Fatal(text)
	}
	for _, row := range []struct {
		session, code, want string
		ok                  bool
	}{
		{"a", `return [n, box, new Box()]`, "uses n, box, Box of its session", true},
		{"a", `return bax`, "nothing declares bax", true},
		{"a", `return bax`, "the session has n, Box, box", true},
		{"new", `return n`, "the session has declared nothing", true},
		{"../x", `return 1`, "names no session", false},
	} {
		text, failed := c.call("codemode_check", map[string]any{"code": row.code, "session": row.session})
		if failed == row.ok || !strings.Contains(text, row.want) {
			t.Errorf("%s in %s: %s", row.code, row.session, text)
		}
	}
	if text, failed := c.call("codemode_session", map[string]any{"action": "list"}); failed ||
		strings.Contains(text, "new") || !strings.Contains(text, "- a (profile p): 1 version,") {
		t.Errorf("a check made or changed a session: %s", text)
	}
}

// A program that waits for a person keeps its session: the next one is refused, or waits.
func TestAProgramWaitsForAPersonInASession(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			h := open(t, `{"sessions": true, "evaluation": {"defaultProfile": "p", "profiles": {
				"p": {"asklist": ["time__*"]}}}}`,
				server.Options{Principal: "anna"})
			asked, answer := make(chan struct{}), make(chan struct{})
			c := h.connect(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				close(asked)
				<-answer
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow_once"}}, nil
			}, version)
			other := h.connect(nil, version)
			in := func(code string, wait bool) (string, bool) {
				return other.call("codemode_eval", map[string]any{"code": code, "session": "a", "sessionWait": wait})
			}
			if text, failed := in(`let n = 1; return n`, false); failed {
				t.Fatal(text)
			}
			first, second := make(chan string, 1), make(chan string, 1)
			go func() {
				text, _ := c.call("codemode_eval", map[string]any{"session": "a",
					"code": `await codemode.time__now({}); n = 2; return "answered"`})
				first <- text
			}()
			<-asked
			if text, failed := in(`return n`, false); !failed ||
				!strings.Contains(text, `a program goes on in the session "a" (run r_`) {
				t.Errorf("while it waits: %s", text)
			}
			if text, failed := other.call("codemode_session", map[string]any{"action": "delete", "name": "a"}); !failed ||
				!strings.Contains(text, `a program goes on in the session "a"`) {
				t.Errorf("deleted while it waits: %s", text)
			}
			go func() {
				text, _ := in(`return n`, true)
				second <- text
			}()
			close(answer)
			if text := <-first; !strings.HasPrefix(text, "\"answered\"\n") {
				t.Errorf("the program that waited: %s", text)
			}
			if text := <-second; !strings.HasPrefix(text, "2\n") {
				t.Errorf("the program after it: %s", text)
			}
		})
	}
}
