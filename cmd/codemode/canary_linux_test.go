package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/checktest"
)

// A canary is a secret that sings where it should not be.
func canary(of string) string { return "canary+" + of + "/5d8f0c71aa" }

// hiding are the ways in which programs and servers carry a secret on, and in which it must not be found either.
var hiding = []struct {
	name string
	as   func(string) string
}{
	{"as it is", func(s string) string { return s }},
	{"as JSON", func(s string) string { js, _ := json.Marshal(s); return strings.Trim(string(js), `"`) }},
	{"in a URL", url.QueryEscape},
	{"in a path", url.PathEscape},
	{"as base64", func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }},
	{"as base64 of URLs", func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }},
}

// songs looks for canaries in a text.
func songs(t *testing.T, where string, text []byte, of ...string) {
	t.Helper()
	for _, name := range of {
		for _, h := range hiding {
			if at := bytes.Index(text, []byte(h.as(canary(name)))); at >= 0 {
				t.Errorf("%s holds the secret of the %s, %s: …%q…", where, name, h.name, text[max(0, at-200):min(len(text), at+60)])
			}
		}
	}
}

// TestCanarySecrets runs programs through codemode serve with secrets in its configuration, its environment, headers,
// the environment of a server, arguments and results, then breaks it off in the middle, and looks for them in the
// record and all else that is on the disk, in exports and what else the commands print, in logs, in what people were
// asked, and in the dump of the process. Those that a program cannot know must not be in what it is told either.
func TestCanarySecrets(t *testing.T) {
	t.Parallel()
	own := []string{"header", "bearer", "config", "environment", "child"} // of the person who configured it
	programs := []string{"password", "nested", "result"}                  // which a program sees or has itself
	upstream := newSinger(t, own)
	h := newHouse(t, `{"allowlist": ["up__*"], "asklist": ["up__ask"], "ask": {"fallback": "deny"}}`)
	self, err := os.Executable()
	checktest.OK(t, err)
	config, err := json.Marshal(map[string]any{
		"mcpServers": map[string]any{
			"up": map[string]any{"url": upstream.URL, "headers": map[string]string{"X-Api-Key": canary("header"),
				"Authorization": "Bearer ${TOKEN}"}},
			"child": map[string]any{"command": self, "env": map[string]string{asCommand: "upstream",
				"SERVICE_TOKEN": canary("child"), "DATABASE_URL": "postgres://u:" + url.PathEscape(canary("config")) +
					"@localhost/x"}},
			"gone": map[string]any{"command": "no-such-command",
				"env": map[string]string{"API_KEY": "${SECRET_OF_THE_ENVIRONMENT}"}},
		},
		"evaluation": map[string]any{"profiles": map[string]any{"p": map[string]any{"allowlist": []string{"up__*"},
			"asklist": []string{"up__ask"}}}, "expose": []string{"p"}},
	})
	checktest.OK(t, err)
	write(t, h.config, string(config))
	h.environment = append(h.environment, "TOKEN="+canary("bearer"), "SECRET_OF_THE_ENVIRONMENT="+canary("environment"))

	asked, hang := &screen{}, make(chan struct{})
	client := connectAsked(t, h, func(ctx context.Context, message string) *mcp.ElicitResult {
		fmt.Fprintln(asked, message)
		if strings.Contains(message, "the last one") {
			close(hang)
			<-ctx.Done()
		}
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow_once"}}
	})
	code := fmt.Sprintf(`const secret = %q;
		const got = await codemode.up__login({user: "anna", password: secret, nested: [{api_key: %q}]});
		const token = got.session.token;
		const carried = [token, encodeURIComponent(token), btoa(token), JSON.stringify({token})];
		console.log("carrying", secret, ...carried);
		await codemode.up__echo({note: secret, list: carried, deep: {x: {y: "z " + token + " z"}}});
		const tattled = await codemode.up__tattle({}).catch(e => String(e.detail ?? e));
		await codemode.up__ask({title: "hello", password: secret, nested: [{api_key: secret}]}).catch(e => 0);
		await codemode.up__nothing({[token]: 1}).catch(e => 0);
		if (input) throw new Error("failed with " + token + " and " + secret);
		return {value: token, said: secret, tattled}`, canary("password"), canary("nested"))
	for _, input := range []bool{false, true} {
		res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "codemode_eval_p",
			Arguments: map[string]any{"code": code, "input": input}})
		checktest.OK(t, err)
		if text := res.Content[0].(*mcp.TextContent).Text; !strings.Contains(text, canary("password")) {
			t.Fatalf("the program did not come to its end: %s", text)
		}
	}
	// The dump of a process that is ended while a call with a secret waits for a person.
	go client.CallTool(t.Context(), &mcp.CallToolParams{Name: "codemode_eval_p", Arguments: map[string]any{
		"code": fmt.Sprintf(`await codemode.up__ask({title: "the last one", password: %q})`, canary("password"))}})
	select {
	case <-hang:
	case <-time.After(time.Minute):
		t.Fatalf("nobody was asked: %s", h.log)
	}
	time.Sleep(2 * time.Second) // until the process has parked it
	checktest.OK(t, h.cmd.Process.Signal(syscall.SIGQUIT))
	_ = client.Close()
	if dump := h.log.String(); !strings.Contains(dump, "goroutine ") {
		t.Fatalf("the process left no dump: %s", dump)
	}
	upstream.mu.Lock()
	if !strings.Contains(upstream.seen, canary("header")) || !strings.Contains(upstream.seen, canary("bearer")) ||
		!strings.Contains(upstream.seen, canary("password")) {
		t.Fatalf("the server got %q: the test shows nothing", upstream.seen)
	}
	upstream.mu.Unlock()

	all := append(own, programs...)
	songs(t, "the log", []byte(h.log.String()), all...)
	songs(t, "what people were asked", []byte(asked.String()), all...)
	songs(t, "what the client was told", []byte(h.transcript.String()), own...)
	if !strings.Contains(asked.String(), "hello") {
		t.Errorf("people were asked %q: the test shows nothing", asked)
	}
	var run string
	for _, args := range [][]string{
		{"audit", "list"}, {"audit", "export", "--format", "jsonl"}, {"audit", "export", "--format", "json"},
		{"audit", "export", "--format", "csv"},
		{"audit", "report"}, {"audit", "verify"}, {"audit", "show", "RUN"},
	} {
		if args[1] == "show" {
			args[2] = run
		}
		cmd := exec.Command(os.Args[0], append(args, "--config", h.config)...)
		cmd.Env = h.environment
		out, err := cmd.CombinedOutput()
		if err != nil || len(out) < 50 {
			t.Errorf("codemode %s: %v, %s", strings.Join(args, " "), err, out)
		}
		songs(t, "what codemode "+strings.Join(args, " ")+" prints", out, all...)
		if run == "" {
			if at := strings.Index(string(out), "r_"); at >= 0 {
				run, _, _ = strings.Cut(string(out[at:]), " ")
			}
		}
	}
	files := 0
	checktest.OK(t, filepath.WalkDir(h.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == h.config || d.Type()&fs.ModeSocket != 0 {
			return err
		}
		files++
		raw, err := os.ReadFile(path)
		songs(t, filepath.Base(path), raw, all...)
		return err
	}))
	if files < 3 {
		t.Errorf("only %d files: the test shows nothing", files)
	}
}

// connectAsked starts the process with a client that shows its user what they are asked.
func connectAsked(t *testing.T, h *house, answer func(ctx context.Context,
	message string) *mcp.ElicitResult) *mcp.ClientSession {
	t.Helper()
	h.cmd = exec.Command(os.Args[0], h.args...)
	h.cmd.Env, h.cmd.Stderr = h.environment, h.log
	transport := &mcp.LoggingTransport{Transport: &mcp.CommandTransport{Command: h.cmd}, Writer: h.transcript}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return answer(ctx, r.Params.Message), nil
		},
	}).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatalf("%v: %s", err, h.log)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// A singer is a server that gives a token, and tells what it knows of codemode's own secrets.
type singer struct {
	*httptest.Server
	mu   sync.Mutex
	seen string // headers and arguments
}

func newSinger(t *testing.T, own []string) *singer {
	g := &singer{}
	s := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, nil)
	tool := func(name string, f func(args string) (any, string)) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				g.mu.Lock()
				g.seen += string(r.Params.Arguments)
				g.mu.Unlock()
				value, text := f(string(r.Params.Arguments))
				return &mcp.CallToolResult{StructuredContent: value, Content: []mcp.Content{&mcp.TextContent{Text: text}},
					IsError: value == nil}, nil
			})
	}
	tool("login", func(string) (any, string) {
		return map[string]any{"user": "anna", "session": map[string]any{"token": canary("result")}}, "welcome"
	})
	tool("echo", func(args string) (any, string) { return map[string]any{"echo": json.RawMessage(args)}, args })
	tool("ask", func(string) (any, string) { return map[string]any{"ok": true}, "done" })
	tool("tattle", func(string) (any, string) {
		var b strings.Builder
		for _, name := range own[:2] { // those that it was sent
			for _, h := range hiding {
				fmt.Fprintf(&b, "bad key %s\n", h.as(canary(name)))
			}
		}
		return nil, b.String()
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true})
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.seen += r.Header.Get("X-Api-Key") + r.Header.Get("Authorization")
		g.mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}
