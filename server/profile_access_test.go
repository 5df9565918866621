package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/server"
)

// narrow is a configuration that has the profile wide and does not expose it. Saved programs are in the folder %q.
// Of the tokens one is for all profiles, one for ro, one for wide.
const narrow = `{
	"evaluation": {"defaultProfile": "ro", "expose": ["ro", "codemode_run_script", "codemode_check", "search_tools", "start_here", "ask_user"],
		"profiles": {"ro": {"allowlist": ["time__*"]}, "wide": {"allowlist": ["*"]}}},
	"scripts": {"root": %q, "allow": [{"folder": ".", "pattern": "free.js", "input": true}, {"folder": ".", "pattern": "placed.js", "profile": "wide"}]},
	"http": {"tokens": [{"token": "${ANNA}", "principal": "anna"}, {"token": "${BERT}", "principal": "bert", "profiles": ["ro"]},
		{"token": "${CARL}", "principal": "carl", "profiles": ["wide"]}]}}`

// openNarrow serves it.
func openNarrow(t *testing.T) (*house, string, string) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{"free.js": `return await codemode.filesystem__read_text_file({path: "a.md"})`, "placed.js": `return await codemode.filesystem__read_text_file({path: "a.md"})`} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config := fmt.Sprintf(narrow, folder)
	h := open(t, config, server.Options{})
	h.variables = map[string]string{"ANNA": annasToken, "BERT": bertsToken, "CARL": carlsToken}
	return h, h.listen(), config
}

// A caller cannot name a profile that is not exposed, whatever the way and whoever they are.
func TestAProfileThatIsNotExposedIsReachedByNoRoute(t *testing.T) {
	_, url, _ := openNarrow(t)
	for _, token := range []string{annasToken, bertsToken, carlsToken} {
		for _, path := range []string{"/wide", "/%77ide", "/wide?profile=ro", "/wide#ro", "/WIDE", "/codemode_eval_wide",
			"/codemode_eval", "/%00", "/ro/../wide", "/wide/", "/wide%2f"} {
			for _, header := range []map[string]string{{}, {"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call",
				"Mcp-Name": "codemode_run_script"}} {
				header["Authorization"] = "Bearer " + token
				body := initializeBody
				if len(header) > 1 {
					body = modernCall("codemode_run_script", map[string]any{"script": "free.js"})
				}
				status, answer, session := knock{path: path, body: body, header: header}.send(t, url)
				if status == http.StatusOK || session != "" || strings.Contains(answer, "alpha") {
					t.Errorf("%s with %s: status %d, session %q: %s", path, token, status, session, answer)
				}
			}
		}
	}
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for _, test := range []struct {
			who, token, path string
			tool             string
			args             map[string]any
		}{
			{"anna calls its tool", annasToken, "", "codemode_eval_wide",
				map[string]any{"code": `return await codemode.filesystem__read_text_file({path: "a.md"})`}},
			{"carl, whose token names it, calls its tool", carlsToken, "", "codemode_eval_wide",
				map[string]any{"code": `return await codemode.filesystem__read_text_file({path: "a.md"})`}},
			{"anna calls the base tool", annasToken, "", "codemode_eval",
				map[string]any{"code": `return await codemode.filesystem__read_text_file({path: "a.md"})`}},
			{"anna names it as an argument", annasToken, "", "codemode_eval_ro",
				map[string]any{"code": `return await codemode.filesystem__read_text_file({path: "a.md"})`, "profile": "wide"}},
			{"anna names a saved program that names no profile", annasToken, "", "codemode_run_script",
				map[string]any{"script": "free.js"}},
			{"so does bert", bertsToken, "", "codemode_run_script", map[string]any{"script": "free.js"}},
			{"so does carl", carlsToken, "", "codemode_run_script", map[string]any{"script": "free.js"}},
			{"so does anna on a path", annasToken, "/ro", "codemode_run_script", map[string]any{"script": "free.js"}},
			{"bert names one whose profile is not his", bertsToken, "", "codemode_run_script",
				map[string]any{"script": "placed.js"}},
			{"anna names one whose profile is not that of the path", annasToken, "/ro", "codemode_run_script",
				map[string]any{"script": "placed.js"}},
			{"anna has a program checked under it", annasToken, "", "codemode_check",
				map[string]any{"code": "return 1", "profile": "wide"}},
			{"carl has a program checked", carlsToken, "", "codemode_check", map[string]any{"code": "return 1"}},
			{"anna has one checked under the tool", annasToken, "", "codemode_check",
				map[string]any{"code": "return 1", "profile": "codemode_eval_wide"}},
			{"anna has one checked under the base tool", annasToken, "", "codemode_check",
				map[string]any{"code": "return 1", "profile": "codemode_eval"}},
			{"bert has a saved program checked under it", bertsToken, "", "codemode_check",
				map[string]any{"script": "placed.js"}},
			{"anna looks for what it could call", annasToken, "", "search_tools", map[string]any{"query": "read a text file"}},
			{"carl looks for what it could call", carlsToken, "", "search_tools", map[string]any{}},
			{"carl asks a person under it", carlsToken, "", "ask_user", map[string]any{"question": "May I?"}},
		} {
			_, sdk := newClient(t, nil, nil)
			session, err := sdk.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url + test.path,
				HTTPClient: mcptest.Bearer(test.token)},
				&mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: test.tool, Arguments: test.args})
			text := fmt.Sprint(err)
			if err == nil {
				text = res.Content[0].(*mcp.TextContent).Text
			}
			searches := test.tool == "search_tools"
			if strings.Contains(text, "alpha") || err == nil && !res.IsError && !searches ||
				searches && strings.Contains(text, "filesystem__") {
				t.Errorf("%s, on %s: %s", test.who, version, text)
			}
			session.Close()
		}
	}
}

// What is exposed, and what a person has placed under a profile of their choice, is still reached.
func TestWhatIsExposedIsReached(t *testing.T) {
	h, url, _ := openNarrow(t)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		h.connectHTTPAs(url, annasToken, version).want("codemode_eval_ro", "return 40 + 2", "42")
		h.connectHTTPAs(url, bertsToken, version).want("codemode_eval_ro", "return 40 + 2", "42")
		h.connectHTTPAs(url+"/ro", bertsToken, version).want("codemode_eval_ro", "return 40 + 2", "42")
		if text, failed := h.connectHTTPAs(url, annasToken, version).call("codemode_run_script",
			map[string]any{"script": "placed.js"}); failed || !strings.Contains(text, "alpha") {
			t.Errorf("%s: the rule of placed.js names the profile wide: %s", version, text)
		}
	}
}

// A path whose profile is not exposed any more is closed to sessions that were opened there.
func TestAPathClosesWhenItsProfileIsNotExposed(t *testing.T) {
	h, url, config := openNarrow(t)
	h.write(strings.Replace(config, `"expose": ["ro",`, `"expose": ["ro", "wide",`, 1))
	as := map[string]string{"Authorization": "Bearer " + annasToken}
	var session string
	eventually(t, "wide to be exposed", func() bool {
		var status int
		status, _, session = knock{path: "/wide", body: initializeBody, header: as}.send(t, url)
		return status == http.StatusOK
	})
	as["Mcp-Session-Id"], as["Mcp-Protocol-Version"] = session, "2025-11-25"
	run := knock{path: "/wide",
		body: `{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "codemode_run_script", "arguments": {"script": "free.js"}}}`, header: as}
	if status, answer, _ := run.send(t, url); status != http.StatusOK || !strings.Contains(answer, "alpha") {
		t.Fatalf("status %d: %s", status, answer)
	}
	h.write(config)
	eventually(t, "the path to close", func() bool {
		status, _, _ := run.send(t, url)
		return status == http.StatusNotFound
	})
	run.path = "" // the session belongs to that path
	if status, answer, _ := run.send(t, url); status != http.StatusForbidden {
		t.Errorf("the session goes on elsewhere: status %d: %s", status, answer)
	}
}

// A token that says nothing about profiles is for all; one that says something that is no list is for none.
func TestProfilesOfAToken(t *testing.T) {
	for profiles, fine := range map[string]bool{`["ro"]`: true, `null`: false, `[]`: false, `[null]`: false, `[""]`: false,
		`"ro"`: false, `{}`: false, `["ro", 1]`: false} {
		_, err := config.Parse("codemode.json",
			[]byte(`{"evaluation": {"profiles": {"ro": {}}}, "http": {"tokens": [{"token": "${ANNA}", "profiles": `+profiles+`}]}}`))
		if (err == nil) != fine {
			t.Errorf("%s: %v", profiles, err)
		}
	}
}

// modernCall is the body of a call on MCP 2026-07-28.
func modernCall(tool string, args map[string]any) string {
	js, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": map[string]any{
		"name": tool, "arguments": args, "_meta": map[string]any{
			"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
			"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "tester", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": map[string]any{}}}})
	return string(js)
}
