package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/server"
)

// original is the configuration of the original plan (POLICY.md A1).
const original = `{
  "evaluation": {
    "profiles": {
      "safe": { "allowlist": ["time__*"] },
      "supervised": {
        "denylist": ["filesystem__delete_*"],
        "asklist": ["filesystem__*"],
        "elicitationFallback": "deny"
      }
    }
  }
}`

// attempt is a program that makes a call and returns what became of it.
func attempt(call string) string {
	return `try { await ` + call +
		`; return "happened" } catch (e) { return [e.name, e.toolName, e.reason, e.retryable].join(" ") }`
}

const writeNew = `codemode.filesystem__write_file({path: "new.md", content: "x"})`

func TestToolsOffered(t *testing.T) {
	all := []string{"ask_user", "codemode_check", "codemode_collect", "codemode_eval", "codemode_eval_safe",
		"codemode_eval_supervised",
		"get_tools", "search_tools"}
	h := open(t, original, server.Options{})
	c := h.connect(nil, "")
	if diff := cmp.Diff(all, c.tools()); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	boundHouse := open(t, original, server.Options{Profile: "supervised"})
	bound := boundHouse.connect(nil, "")
	want := []string{"ask_user", "codemode_check", "codemode_collect", "codemode_eval_supervised", "get_tools", "search_tools"}
	if diff := cmp.Diff(want, bound.tools()); diff != "" {
		t.Errorf("tools bound to a profile (-want +got):\n%s", diff)
	}
	_, err := bound.CallTool(t.Context(), &mcp.CallToolParams{Name: "codemode_eval",
		Arguments: map[string]any{"code": "return 1"}})
	if err == nil {
		t.Error("a tool that is not offered was called")
	}
	if log := boundHouse.log.String(); !strings.Contains(log, "not offered") || !strings.Contains(log, "codemode_eval") {
		t.Errorf("the log does not say so:\n%s", log)
	}
	for tool, err := range c.Tools(t.Context(), nil) {
		checktest.OK(t, err)
		if len(tool.Description) > 2048 || tool.Description == "" {
			t.Errorf("%s: the description has %d bytes", tool.Name, len(tool.Description))
		}
		// The first teaches, the others refer to it; each names what there is for its profile.
		for _, part := range map[string][]string{
			"codemode_eval": {"Servers: filesystem, time.", "structured content of its result", "1000 calls, 32 at once",
				"Promise.all", "try/catch", "ToolCallDeniedError", "value as JSON",
				"codemode.read_resource", "codemode.emit", "Example:"},
			"codemode_eval_safe":       {`Under the profile "safe": as codemode_eval,`, "Servers: time."},
			"codemode_eval_supervised": {`Under the profile "supervised": `, "Servers: filesystem, time."},
		}[tool.Name] {
			if !strings.Contains(tool.Description, part) {
				t.Errorf("%s: %q is missing from the description:\n%s", tool.Name, part, tool.Description)
			}
		}
	}
	if n := len(c.InitializeResult().Instructions); n == 0 || n > 2048 {
		t.Errorf("the instructions have %d bytes", n)
	}
}

func TestDescriptionsStayShort(t *testing.T) {
	var servers []string
	for i := range 100 {
		servers = append(servers, fmt.Sprintf(`"a-server-with-a-rather-long-name-%d": {"command": "no-such-command", "disabled": %v}`, i, i%2 == 0))
	}
	h := open(t, `{"mcpServers": {`+strings.Join(servers, ",")+`}, "evaluation": {"profiles": {"p": {}}}}`,
		server.Options{})
	c := h.connect(nil, "")
	for tool, err := range c.Tools(t.Context(), nil) {
		checktest.OK(t, err)
		if len(tool.Description) > 2048 {
			t.Errorf("%s: the description has %d bytes", tool.Name, len(tool.Description))
		}
	}
	if n := len(c.InitializeResult().Instructions); n > 2048 {
		t.Errorf("the instructions have %d bytes", n)
	}
}

func TestResultForm(t *testing.T) {
	c := open(t, original, server.Options{}).connect(nil, "")
	text, failed := c.call("codemode_eval", map[string]any{
		"code":  `console.log("about to look"); await codemode.time__now({}); return {sum: input.a + input.b}`,
		"input": map[string]any{"a": 1, "b": 2},
	})
	value, rest, _ := strings.Cut(text, "\n\n")
	if failed || value != "{\n  \"sum\": 3\n}" {
		t.Errorf("the value: %v %s", failed, value)
	}
	console, calls, _ := strings.Cut(rest, "\n\n")
	if console != "console:\n  log: about to look" {
		t.Errorf("the console: %q", console)
	}
	if calls != "calls: 1 (1 done)\n  time__now done\n" {
		t.Errorf("the calls: %q", calls)
	}

	tests := []struct {
		name, code string
		parts      []string
	}{
		{"an exception shows the line", "const a = null;\na.x;", []string{"error (threw): TypeError", "program.ts:2:",
			"\n    a.x;\n", "calls: none"}},
		{"an exception shows who called", "function f(a) { return a.b.c }\n\nfunction g() { return f({}) }\nreturn g();",
			[]string{"at program.ts:1:", "\n    at g (program.ts:3:", "\n    at <anonymous> (program.ts:4:"}},
		{"a syntax error shows the line", "const a = 1;\nlet b = = 2;", []string{"was not started", "program.ts:2:",
			"let b = = 2;", "^"}},
		{"an unknown tool names the nearest", "await codemode.filesystem__raed_text_file({})",
			[]string{"ToolNotFoundError", "did you mean filesystem__read_text_file"}},
		{"wrong arguments name the path", "await codemode.filesystem__read_text_file({path: 1})",
			[]string{"InvalidArgumentsError", "/path", "string"}},
		{"a tool that fails", `await codemode.filesystem__read_text_file({path: "missing.md"})`,
			[]string{"ToolError", "missing.md", "failed (ToolError)"}},
		{"what never comes", "await new Promise(() => {})", []string{"error (abandoned)"}},
		{"effects before the end", "await codemode.time__now({}); throw new Error('late')",
			[]string{"error (threw): Error: late", "calls: 1 (1 done)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, failed := c.eval("codemode_eval", tt.code)
			if !failed {
				t.Error("not marked as an error")
			}
			for _, part := range tt.parts {
				if !strings.Contains(text, part) {
					t.Errorf("%q is missing from\n%s", part, text)
				}
			}
		})
	}
	for _, args := range []map[string]any{{}, {"code": 1}, {"Code": "return 1"}, {"code": nil}} {
		if text, failed := c.call("codemode_eval", args); !failed || !strings.Contains(text, `"code"`) {
			t.Errorf("%v: %v %s", args, failed, text)
		}
	}
}

func TestVerdictsThroughTheServer(t *testing.T) {
	h := open(t, original, server.Options{})
	c := h.connect(says("accept", map[string]any{"decision": "allow_once"}), "")
	read := `codemode.filesystem__read_text_file({path: "a.md"})`
	tests := []struct{ tool, call, want string }{
		{"codemode_eval_safe", `codemode.time__now({})`, `"happened"`},
		{"codemode_eval_safe", read, `"ToolCallDeniedError filesystem__read_text_file denied false"`},
		{"codemode_eval_safe", `(f => f({path: "a.md"}))(codemode.filesystem__read_text_file)`,
			`"ToolCallDeniedError filesystem__read_text_file denied false"`},
		{"codemode_eval_safe", `codemode[["filesystem", "read_text_file"].join("__")]({path: "a.md"})`,
			`"ToolCallDeniedError filesystem__read_text_file denied false"`},
		{"codemode_eval_supervised", `codemode.filesystem__delete_file({path: "a.md"})`,
			`"ToolCallDeniedError filesystem__delete_file denied false"`},
		{"codemode_eval_supervised", read, `"happened"`},
		{"codemode_eval_supervised", `codemode.time__now({})`, `"happened"`},
		{"codemode_eval", `codemode.filesystem__delete_file({path: "b.md"})`, `"happened"`},
	}
	for _, tt := range tests {
		if text, _ := c.eval(tt.tool, attempt(tt.call)); !strings.HasPrefix(below(text), tt.want+"\n") {
			t.Errorf("%s, %s: got\n%s\nwant %s", tt.tool, tt.call, text, tt.want)
		}
	}
	asked := c.questions()
	if len(asked) != 1 || !strings.Contains(asked[0], "read_text_file") || !strings.Contains(asked[0], "a.md") ||
		!strings.Contains(asked[0], "filesystem") {
		t.Errorf("the questions: %q", asked)
	}
}

func TestAnswersOfClients(t *testing.T) {
	const config = `{"evaluation": {"profiles": {
		"strict": {"asklist": ["filesystem__*"]},
		"lenient": {"asklist": ["filesystem__*"], "elicitationFallback": "allow"}
	}}}`
	denied := func(reason string) string { return `"ToolCallDeniedError filesystem__write_file ` + reason + ` false"` }
	const happened = `"happened"`
	tests := []struct {
		name            string
		person          person
		strict, lenient string
	}{
		{"accept", says("accept", map[string]any{"decision": "allow_once"}), happened, happened},
		{"decline", says("decline", nil), denied("elicitation_declined"), denied("elicitation_declined")},
		{"cancel", says("cancel", nil), denied("canceled"), denied("canceled")},
		{"accept and choose to refuse", says("accept", map[string]any{"decision": "deny", "reason": "no"}),
			denied("elicitation_declined"), denied("elicitation_declined")},
		{"accept with {}", says("accept", map[string]any{}), denied("no_approver"), denied("no_approver")},
		{"accept without content", says("accept", nil), denied("no_approver"), denied("no_approver")},
		{"accept with true", says("accept", map[string]any{"decision": true}), denied("no_approver"), denied("no_approver")},
		{"accept with another word", says("accept", map[string]any{"decision": "yes"}), denied("no_approver"),
			denied("no_approver")},
		{"accept in other letters", says("accept", map[string]any{"decision": "Allow_Once"}), denied("no_approver"),
			denied("no_approver")},
		{"an action that does not exist", says("approve", map[string]any{"decision": "allow_once"}), denied("no_approver"),
			denied("no_approver")},
		{"an error", func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return nil, fmt.Errorf("broken dialog")
		}, denied("no_approver"), denied("no_approver")},
		{"no capability", nil, denied("elicitation_unsupported"), happened},
	}
	for _, version := range []string{"2025-06-18", "2025-11-25"} {
		for _, tt := range tests {
			t.Run(version+" "+tt.name, func(t *testing.T) {
				t.Parallel()
				h := open(t, config, server.Options{})
				c := h.connect(tt.person, version)
				for profile, want := range map[string]string{"strict": tt.strict, "lenient": tt.lenient} {
					text, _ := c.eval("codemode_eval_"+profile, attempt(writeNew))
					if !strings.HasPrefix(below(text), want+"\n") {
						t.Errorf("%s: got\n%s\nwant %s", profile, text, want)
					}
					if h.holds("new.md") != (want == happened) {
						t.Errorf("%s: the file is there: %v", profile, h.holds("new.md"))
					}
					c.eval("codemode_eval", `await codemode.filesystem__delete_file({path: "new.md"})`)
				}
			})
		}
	}
}

func TestClientThatAsksForAStatelessVersion(t *testing.T) {
	h := open(t, original, server.Options{})
	// Without a version the SDK's client probes for 2026-07-28 first; with it, it says so in initialize.
	for _, version := range []string{"", "2025-11-25", "2025-06-18"} {
		c := h.connect(says("accept", map[string]any{"decision": "allow_once"}), version)
		if text, _ := c.eval("codemode_eval_supervised", attempt(writeNew)); !strings.HasPrefix(text, `"happened"`) {
			t.Errorf("version %q: %s", version, text)
		}
	}

	here, there := mcp.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go h.server.Serve(ctx, there)
	conn, err := here.Connect(ctx)
	checktest.OK(t, err)
	raw := &rawClient{t: t, conn: conn}
	init := raw.request(1, "initialize",
		`{"protocolVersion": "2026-07-28", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "raw", "version": "1"}}`)
	if !strings.Contains(init, `"protocolVersion":"2025-11-25"`) {
		t.Errorf("initialize answered %s", init)
	}
	raw.notify("notifications/initialized")
	go raw.answerQuestions()
	raw.send(2, "tools/call", `{"name": "codemode_eval_supervised", "arguments": {"code": "await codemode.filesystem__write_file({path: 'raw.md', content: 'x'}); return 7"}}`)
	eventually(t, "the file that was allowed", func() bool { return h.holds("raw.md") })
}

func TestSessionsDoNotSeeEachOthersQuestions(t *testing.T) {
	h := open(t, `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"asklist": ["filesystem__*"]}}}}`,
		server.Options{})
	url := h.listen()
	clients := map[string]*client{}
	for _, name := range []string{"http1", "http2", "memory1", "memory2"} {
		p := says("accept", map[string]any{"decision": "allow_once"})
		if strings.HasSuffix(name, "2") {
			p = says("accept", map[string]any{"decision": "deny"})
		}
		if strings.HasPrefix(name, "http") {
			clients[name] = h.connectHTTP(url, p)
		} else {
			clients[name] = h.connect(p, "")
		}
	}
	var wg sync.WaitGroup
	for name, c := range clients {
		wg.Go(func() {
			for i := range 3 {
				path := fmt.Sprintf("%s-%d.md", name, i)
				text, _ := c.eval("codemode_eval", attempt(fmt.Sprintf(`codemode.filesystem__write_file({path: %q, content: ""})`,
					path)))
				if allowed := strings.HasPrefix(text, `"happened"`); allowed != strings.HasSuffix(name, "1") ||
					h.holds(path) != allowed {
					t.Errorf("%s: %s", path, text)
				}
			}
		})
	}
	wg.Wait()
	for name, c := range clients {
		asked := c.questions()
		if len(asked) != 3 {
			t.Errorf("%s was asked %d times, want 3", name, len(asked))
		}
		for _, q := range asked {
			if !strings.Contains(q, name+"-") {
				t.Errorf("%s was shown the question of another: %s", name, q)
			}
		}
	}
}

func TestHotReload(t *testing.T) {
	h := open(t, original, server.Options{})
	asking, proceed := make(chan struct{}, 1), make(chan struct{})
	c := h.connect(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		asking <- struct{}{}
		<-proceed
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow_once"}}, nil
	}, "")
	other := h.connect(nil, "")
	c.tools()

	type result struct{ text string }
	running := make(chan result, 1)
	go func() {
		text, _ := c.eval("codemode_eval_supervised", `
			const attempt = async call => { `+attempt("call()")+` };
			return [await attempt(() => codemode.time__now({})), await attempt(() => `+writeNew+`), await attempt(() => codemode.time__now({}))].join("; ")`)
		running <- result{text}
	}()
	<-asking

	// One profile is tightened, one is added, one goes.
	h.write(`{"evaluation": {"profiles": {
		"supervised": {"denylist": ["filesystem__write_*", "time__*"], "asklist": ["filesystem__*"]},
		"brandnew": {"allowlist": ["time__*"]}
	}}}`)
	for _, session := range []*client{c, other} {
		select {
		case <-session.changed:
		case <-time.After(10 * time.Second):
			t.Fatal("a session was not told that the tools changed")
		}
	}
	eventually(t, "the tool of the new profile",
		func() bool { return slices.Contains(c.tools(), "codemode_eval_brandnew") })
	if slices.Contains(c.tools(), "codemode_eval_safe") {
		t.Error("the tool of the removed profile is still offered")
	}
	close(proceed)
	want := `"happened; ToolCallDeniedError filesystem__write_file policy_changed false; ToolCallDeniedError time__now denied false"`
	if got := <-running; !strings.HasPrefix(below(got.text), want) {
		t.Errorf("the running program:\n%s\nwant %s", got.text, want)
	}
	if h.holds("new.md") {
		t.Error("the file was written under rules that deny it")
	}

	// A broken file changes nothing, and the log says where it is broken.
	h.write("{\"evaluation\": {\"profiles\": {\n  \"supervised\": {\"denylst\": []}\n}}}")
	eventually(t, "the log of the broken file", func() bool {
		return strings.Contains(h.log.String(),
			"codemode.json:2:18")
	})
	c.want("codemode_eval_supervised", attempt(`codemode.time__now({})`), "denied")
	c.want("codemode_eval_brandnew", attempt(`codemode.time__now({})`), "happened")
}

func TestRemovedProfileEndsWhatWaitsUnderIt(t *testing.T) {
	h := open(t, original, server.Options{})
	asking, proceed := make(chan struct{}, 1), make(chan struct{})
	c := h.connect(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		asking <- struct{}{}
		<-proceed
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow_once"}}, nil
	}, "")
	running := make(chan string, 1)
	go func() {
		text, _ := c.eval("codemode_eval_supervised", attempt(writeNew))
		running <- text
	}()
	<-asking
	h.write(`{"evaluation": {"profiles": {"safe": {"allowlist": ["time__*"]}}}}`)
	eventually(t, "the tool to go", func() bool { return !slices.Contains(c.tools(), "codemode_eval_supervised") })
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "codemode_eval_supervised",
		Arguments: map[string]any{"code": "return 1"}}); err == nil {
		t.Error("a removed tool took a new call")
	}
	close(proceed)
	if text := <-running; !strings.Contains(text, "policy_changed") || h.holds("new.md") {
		t.Errorf("the running call, whose profile allows nothing any more: %s", text)
	}
}

func TestHelpers(t *testing.T) {
	h := open(t, original, server.Options{})
	c := h.connect(nil, "")
	tests := []struct {
		tool  string
		args  map[string]any
		parts []string
		not   []string
	}{
		{"search_tools", map[string]any{"query": "write a file"},
			[]string{"Rules of codemode_eval:\n- filesystem: all 12 allowed\n", "No person can be asked here",
				"filesystem__write_file(args: {"}, nil},
		{"search_tools", map[string]any{}, []string{"filesystem__read_text_file", "time__now"}, nil},
		{"search_tools", map[string]any{"query": "file", "limit": 1}, []string{"filesystem__"}, []string{"time__now"}},
		{"search_tools", map[string]any{"query": "xyzzy"}, []string{"no tool fits"}, nil},
		{"search_tools", map[string]any{"limit": "x"}, []string{"error: ", "limit"}, nil},
		{"get_tools", map[string]any{"names": []string{"time__now"}}, []string{"now", "timezone"}, []string{"write_file"}},
		{"get_tools", map[string]any{"names": []string{"filesystem"}}, []string{"write_file", "path"}, []string{"timezone"}},
		{"get_tools", map[string]any{"names": []string{"filesystem", "time__now"}}, []string{"write_file", "timezone"}, nil},
		{"get_tools", map[string]any{"names": []string{"time__nwo"}}, []string{"error: ", "time__now"}, nil},
		{"codemode_check", map[string]any{"code": writeNew, "profile": "safe"}, []string{"filesystem__write_file: deny"},
			nil},
		{"codemode_check", map[string]any{"code": writeNew, "profile": "supervised"},
			[]string{"filesystem__write_file: ask, risk medium (rule filesystem__*, codemode.json:"}, nil},
		{"codemode_check", map[string]any{"code": writeNew}, []string{"filesystem__write_file: allow"}, nil},
		{"codemode_check", map[string]any{"code": "1 +"}, []string{"cannot run", "program.ts:1:"}, nil},
		{"codemode_check", map[string]any{"code": "1", "profile": "other"}, []string{"error: ", "codemode_eval_safe"}, nil},
	}
	for _, tt := range tests {
		text, _ := c.call(tt.tool, tt.args)
		for _, part := range tt.parts {
			if !strings.Contains(text, part) {
				t.Errorf("%s %v: %q is missing from\n%s", tt.tool, tt.args, part, text)
			}
		}
		for _, part := range tt.not {
			if strings.Contains(text, part) {
				t.Errorf("%s %v: %q should not be in\n%s", tt.tool, tt.args, part, text)
			}
		}
	}
	if h.holds("new.md") {
		t.Error("a check wrote a file")
	}

	// Bound to a profile, the helpers show what it may use and nothing else.
	bound := open(t, original, server.Options{Profile: "safe"}).connect(nil, "")
	if text, _ := bound.call("search_tools", map[string]any{"query": "file"}); strings.Contains(text, "filesystem__") {
		t.Errorf("search under safe:\n%s", text)
	}
	if text, failed := bound.call("codemode_check", map[string]any{"code": writeNew, "profile": "supervised"}); !failed {
		t.Errorf("check under a profile that is not offered:\n%s", text)
	}
}

// Nothing that a model can call approves anything (POLICY.md C8).
func TestNoToolApproves(t *testing.T) {
	h := open(t, original, server.Options{})
	asked := make(chan struct{}, 1)
	release := make(chan struct{})
	c := h.connect(func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		asked <- struct{}{}
		<-release
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}, "")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.eval("codemode_eval_supervised", "await "+writeNew)
	}()
	<-asked
	for _, tool := range c.tools() {
		if strings.HasPrefix(tool, "codemode_eval") {
			continue // programs reach tools of upstreams only
		}
		c.call(tool, map[string]any{"code": writeNew, "decision": "allow_once", "approved": true, "query": "approve",
			"names": []string{}})
	}
	if h.holds("new.md") {
		t.Error("a tool approved the open call")
	}
	close(release)
	<-ended
}

// An image that a program returns reaches the answer as an image.
func TestBlocksReachTheAnswer(t *testing.T) {
	h := open(t, original, server.Options{})
	c := h.connect(nil, "")
	png := []byte("\x89PNG\r\n\x1a\n0000")
	checktest.OK(t, writeFile(h, "dot.png", png))
	for name, code := range map[string]string{
		"returned": `return await codemode.filesystem__read_media_file({path: "dot.png"})`,
		"emitted":  `await codemode.emit(await codemode.filesystem__read_media_file({path: "dot.png"}).then(r => r.content?.[0] ?? r[0] ?? r)); return 1`,
		"dropped":  `await codemode.filesystem__read_media_file({path: "dot.png"}); return 1`,
	} {
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "codemode_eval",
			Arguments: map[string]any{"code": code}})
		if err != nil || res.IsError {
			b, _ := json.Marshal(res)
			t.Fatalf("%s: %v %s", name, err, b)
		}
		images := 0
		for _, content := range res.Content {
			if image, ok := content.(*mcp.ImageContent); ok && image.MIMEType == "image/png" &&
				string(image.Data) == string(png) {
				images++
			}
		}
		want := 1
		if name == "dropped" {
			want = 0
		}
		if images != want {
			t.Errorf("%s: %d images in the answer, want %d", name, images, want)
		}
	}
}

// A program that never ends holds up nobody, and ends within its limit.
func TestRunawayDoesNotStopOthers(t *testing.T) {
	h := open(t, `{"evaluation": {"profiles": {"p": {"limits": {"cpu": "1s"}}}}}`, server.Options{})
	runaway, other := h.connect(nil, ""), h.connect(nil, "")
	other.want("codemode_eval", "return 1", "1") // the sandbox is prepared
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runaway.want("codemode_eval_p", "while (true) {}", "error (timed out): the program computed longer than 1s")
	}()
	answers := 0
	for over := false; !over; {
		other.want("codemode_eval", "return 1", "1")
		select {
		case <-ended:
			over = true
		default:
			answers++
		}
	}
	if answers < 3 { // there are hundreds
		t.Errorf("another session had %d answers while the runaway ran", answers)
	}
}
