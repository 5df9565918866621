package server_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/server"
)

// checked requires a check of programs under one of its profiles.
const checked = `{
	"evaluation": {
		"defaultProfile": "careful",
		"profiles": {
			"careful": {
				"allowlist": ["time__*", "filesystem__read_*"],
				"asklist": [{"id": "writes", "tool": "filesystem__write_file"}],
				"denylist": [{"id": "no-deletion", "tool": "filesystem__delete_*", "reason": "nothing is deleted here"}]
			},
			"strict": {"extends": ["careful"], "requirePreflight": true}
		}
	}
}`

// threeOfFive makes five calls, of which the third is refused.
const threeOfFive = `
await codemode.time__now({});
await codemode.filesystem__read_text_file({path: "a.md"});
await codemode.filesystem__delete_file({path: "a.md"});
await codemode.filesystem__write_file({path: "new.md", content: "x"});
await codemode.time__now({});
return "all"`

var tokenIn = regexp.MustCompile(`(?m)^[\w-]+\.[\w-]+\.[\w-]+$`)

// TestS44PreflightThroughTheServer: a run without the token is refused, each reason told apart, and
// with the token it runs as the check said.
func TestS44PreflightThroughTheServer(t *testing.T) {
	h := open(t, checked, server.Options{})
	c := h.connect(says("accept", map[string]any{"decision": "allow_once"}), "")
	plan, failed := c.call("codemode_check", map[string]any{"code": threeOfFive, "profile": "strict"})
	for _, part := range []string{
		"1 of 5 calls would not get through",
		"  2:7 time__now: allow (rule time__*, codemode.json:",
		"  3:7 filesystem__read_text_file: allow",
		"  4:7 filesystem__delete_file: deny (rule no-deletion, codemode.json:8): nothing is deleted here",
		"  5:7 filesystem__write_file: ask, risk medium (rule writes, codemode.json:7)",
		"without which the program is not started (give it to codemode_eval_strict as preflight",
	} {
		if failed || !strings.Contains(plan, part) {
			t.Errorf("check: %q is missing from\n%s", part, plan)
		}
	}
	token := tokenIn.FindString(plan)
	run := func(tool, code, token string) (string, bool) {
		args := map[string]any{"code": code}
		if token != "" {
			args["preflight"] = token
		}
		return c.call(tool, args)
	}
	for name, tt := range map[string]struct{ code, token, want string }{
		"missing":         {threeOfFive, "", "preflight_missing"},
		"wrong":           {threeOfFive, "x.y.z", "preflight_wrong"},
		"another program": {threeOfFive + ";", token, "preflight_other_program"},
	} {
		text, failed := run("codemode_eval_strict", tt.code, tt.token)
		if !failed || !strings.Contains(text, tt.want) || !strings.Contains(text, "codemode_check") ||
			strings.Contains(text, "calls:") {
			t.Errorf("%s: %v\n%s", name, failed, text)
		}
	}
	text, failed := run("codemode_eval_strict", threeOfFive, " "+token+"\n") // models copy spaces along
	for _, part := range []string{"ToolCallDeniedError", "calls: 3 (2 done, 1 refused)",
		"3. filesystem__delete_file refused (denied)", "1. time__now done", "2. filesystem__read_text_file done"} {
		if !failed || !strings.Contains(text, part) {
			t.Errorf("the run: %q is missing from\n%s", part, text)
		}
	}
	if text, _ := run("codemode_eval", "return 7", ""); !strings.HasPrefix(text, "7") {
		t.Errorf("a profile that requires nothing: %s", text)
	}
	if text, _ := c.call("search_tools", nil); !strings.Contains(text,
		"A program that was not checked is not started by codemode_eval_strict.") {
		t.Errorf("search_tools does not say so:\n%s", text)
	}
	if log := h.log.String(); strings.Count(log, "CODEMODE_PREFLIGHT_SECRET is not set") != 1 {
		t.Errorf("the log warns of the secret not exactly once:\n%s", log)
	}

	// The tool's name and the default profile's are understood as well.
	for _, profile := range []string{"codemode_eval_strict", "strict"} {
		if text, failed := c.call("codemode_check", map[string]any{"code": "return 1", "profile": profile}); failed ||
			!strings.Contains(text, "under the profile strict") {
			t.Errorf("profile %s: %s", profile, text)
		}
	}
	for name, args := range map[string]map[string]any{
		"neither":         {},
		"a program twice": {"code": "return 1", "script": "x.ts"},
		"no such script":  {"script": "x.ts"},
		"another profile": {"code": "return 1", "profile": "loose"},
		"not text":        {"code": 7},
	} {
		if text, failed := c.call("codemode_check", args); !failed || !strings.HasPrefix(text, "error: ") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestB7ProfileBoundByConnection is POLICY.md B7: one run tool and no unrestricted one, and nothing
// that a request says changes it.
func TestB7ProfileBoundByConnection(t *testing.T) {
	root := t.TempDir()
	checktest.OK(t, os.WriteFile(filepath.Join(root, "free.ts"),
		[]byte(`return (await codemode.filesystem__read_text_file({path: "a.md"})).content`), 0o600))
	config := fmt.Sprintf(`{"scripts": {"root": %q, "allow": [{"folder": ".", "pattern": "*.ts", "profile": "loose"}]},
		"evaluation": {"profiles": {"supervised": {"allowlist": ["time__*"]}, "loose": {}}}}`, root)
	c := open(t, config, server.Options{Profile: "supervised"}).connect(nil, "")
	var runs []string
	for _, name := range c.tools() {
		if strings.HasPrefix(name, "codemode_eval") {
			runs = append(runs, name)
		}
	}
	if diff := cmp.Diff([]string{"codemode_eval_supervised"}, runs); diff != "" {
		t.Errorf("run tools (-want +got):\n%s", diff)
	}
	const read = `try { await codemode.filesystem__read_text_file({path: "a.md"}); return "read" } catch (e) { return e.reason }`
	for _, tool := range []string{"codemode_eval", "codemode_eval_loose"} {
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool,
			Arguments: map[string]any{"code": read}}); err == nil {
			t.Errorf("%s was called", tool)
		}
	}
	for _, extra := range []map[string]any{{}, {"profile": "loose"}, {"profile": ""}, {"role": "admin"}, {"session": "x"},
		{"principal": "root"}, {"approved": true}} {
		args := map[string]any{"code": read}
		for key, v := range extra {
			args[key] = v
		}
		if text, failed := c.call("codemode_eval_supervised", args); !strings.HasPrefix(below(text), `"denied"`) &&
			!(failed && strings.Contains(text, "there is no argument")) {
			t.Errorf("with %v: %s", extra, text)
		}
	}
	if text, failed := c.call("codemode_check", map[string]any{"code": read, "profile": "loose"}); !failed {
		t.Errorf("a check under a profile that is not offered: %s", text)
	}
	if text, failed := c.call("codemode_run_script", map[string]any{"script": "free.ts"}); !failed ||
		!strings.Contains(text, "only supervised is offered here") {
		t.Errorf("a saved program under a looser profile: %s", text)
	}
	if text, _ := c.call("search_tools", map[string]any{}); strings.Contains(text, "free.ts") {
		t.Errorf("it is listed:\n%s", text)
	}
}

// TestS49ScriptsThroughTheServer: saved programs are found by search, run by name, and saved by nobody.
func TestS49ScriptsThroughTheServer(t *testing.T) {
	root := t.TempDir()
	const weekly = "// Counts the notes of a week.\nreturn {days: input.days, now: typeof (await codemode.time__now({}))}"
	checktest.Write(t, filepath.Join(root, "weekly.ts"), weekly)
	config := fmt.Sprintf(`{"scripts": {"root": %q, "allow": [{"folder": ".", "pattern": "*.ts", "input": {"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]}}]},
		"evaluation": {"defaultProfile": "p", "profiles": {"p": {"allowlist": ["time__*"]}}}}`, root)
	h := open(t, config, server.Options{})
	c := h.connect(nil, "")
	if !slices.Contains(c.tools(), "codemode_run_script") {
		t.Fatalf("tools: %q", c.tools())
	}
	for query, found := range map[string]bool{"": true, "notes of the week": true, "WEEKLY": true, "frobnicate": false} {
		text, _ := c.call("search_tools", map[string]any{"query": query})
		if got := strings.Contains(text, "weekly.ts: Counts the notes of a week. (input: {"); got != found {
			t.Errorf("search for %q:\n%s", query, text)
		}
	}
	text, failed := c.call("codemode_run_script", map[string]any{"script": "weekly.ts",
		"input": map[string]any{"days": 7}})
	if failed || !strings.HasPrefix(text, "{\n  \"days\": 7,\n  \"now\": \"object\"\n}") ||
		!strings.Contains(text, "calls: 1 (1 done)") {
		t.Errorf("the run:\n%s", text)
	}
	for part, args := range map[string]map[string]any{
		"/days: expected":       {"script": "weekly.ts", "input": map[string]any{"days": "x"}},
		"a path below the root": {"script": "../weekly.ts"},
		"nobody allowed it":     {"script": "weekly.js"},
		`"script" is missing`:   {},
	} {
		if text, failed := c.call("codemode_run_script", args); !failed || !strings.Contains(text, part) {
			t.Errorf("%v: %s", args, text)
		}
	}
	if text, failed := c.call("codemode_check", map[string]any{"script": "weekly.ts"}); failed || !strings.Contains(text,
		"The saved program weekly.ts runs under the profile p") || tokenIn.FindString(text) == "" {
		t.Errorf("check:\n%s", text)
	}
	// Without saved programs the tool is not there; and nothing that is there writes any.
	h.write(`{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"allowlist": ["time__*"]}}}}`)
	eventually(t, "the tool to go", func() bool { return !slices.Contains(c.tools(), "codemode_run_script") })
}

// TestB5TightenedWhileAPersonIsAsked is POLICY.md B5: the approval of a call that the profile denies
// by then is worth nothing; and a broken file changes nothing but what is said about it.
func TestB5TightenedWhileAPersonIsAsked(t *testing.T) {
	h := open(t, checked, server.Options{})
	c := h.connect(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		h.write(strings.Replace(checked, `"filesystem__delete_*"`, `["filesystem__delete_*", "filesystem__write_file"]`, 1))
		eventually(t, "the new rules", func() bool { return strings.Contains(h.log.String(), "was reloaded") })
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow_once"}}, nil
	}, "")
	text, _ := c.eval("codemode_eval", attempt(writeNew))
	if !strings.HasPrefix(below(text), `"ToolCallDeniedError filesystem__write_file policy_changed false"`) || h.holds("new.md") {
		t.Errorf("tightened while the question was open:\n%s", text)
	}

	h.write(strings.Replace(checked, `"denylist"`, `"denylst"`, 1))
	eventually(t, "the broken file", func() bool { return strings.Contains(h.log.String(), "is not used") })
	for tool, args := range map[string]map[string]any{"codemode_check": {"code": "return 1"}, "search_tools": {}} {
		text, _ := c.call(tool, args)
		for _, part := range []string{"is not in force, because it is broken; the rules of its last good version hold",
			"codemode.json:8", "denylst", "did you mean \"denylist\"?"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is missing from\n%s", tool, part, text)
			}
		}
		if strings.Contains(text, filepath.Dir(h.config)) {
			t.Errorf("%s tells where the file is:\n%s", tool, text)
		}
	}
	if text, _ := c.eval("codemode_eval",
		attempt(`codemode.filesystem__write_file({path: "b.md", content: ""})`)); !strings.Contains(text, "denied") {
		t.Errorf("the old rules do not hold:\n%s", text)
	}
	h.write(checked)
	eventually(t, "the good file", func() bool {
		text, _ := c.call("search_tools", nil)
		return !strings.Contains(text, "broken")
	})
}

// TestS48PrincipalsOverHTTP is FEATURES.md S4.8: a caller is known by the fingerprint of its token.
func TestS48PrincipalsOverHTTP(t *testing.T) {
	h := open(t, fmt.Sprintf(`{"evaluation": {"defaultProfile": "p", "profiles": {"p": {}},
		"overlays": [{"id": "contractor", "principal": %q, "denylist": ["filesystem__*"]}]}}`, fingerprint("secret of a contractor")), server.Options{})
	url := h.listen()
	for token, want := range map[string]string{"secret of a contractor": "denied", "secret of a colleague": "happened",
		"": "happened"} {
		c := h.connectHTTPAs(url, token, "")
		text, _ := c.eval("codemode_eval", attempt(`codemode.filesystem__read_text_file({path: "a.md"})`))
		if !strings.Contains(strings.SplitN(below(text), "\n", 2)[0], want) {
			t.Errorf("token %q: %s", token, text)
		}
		if text, _ := c.call("search_tools", map[string]any{}); strings.Contains(text, "filesystem__") == (want == "denied") {
			t.Errorf("token %q finds %s", token, text)
		}
	}
	if log := h.log.String(); strings.Contains(log, "secret of") {
		t.Errorf("a token is in the log:\n%s", log)
	}
}

func fingerprint(token string) string { return inforce.Fingerprint(token) }

func (h *house) connectHTTPAs(url, token, version string) *client {
	h.t.Helper()
	c, sdk := newClient(h.t, nil, nil)
	session, err := sdk.Connect(h.t.Context(), &mcp.StreamableClientTransport{Endpoint: url,
		HTTPClient: mcptest.Bearer(token)}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	checktest.OK(h.t, err)
	c.ClientSession = session
	h.t.Cleanup(func() { session.Close() })
	return c
}
