package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// A served is `codemode serve --http` in a process of its own.
type served struct {
	t     *testing.T
	cmd   *exec.Cmd
	url   string // of /mcp
	log   *screen
	ended chan error
}

var listeningAt = regexp.MustCompile(`mcp=((?:https?|unix):\S+)`)

var diagnosticsAt = regexp.MustCompile(`at=(http://\S+)`)

// fetch reads from a listener; "" says that nobody is there.
func fetch(t *testing.T, url string) (status int, body string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		return 0, ""
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	checktest.OK(t, err)
	return res.StatusCode, string(all)
}

// serveOverHTTP starts it and waits until it listens. Flags come after those that name the address.
func serveOverHTTP(t *testing.T, address string, environment []string, flags ...string) *served {
	t.Helper()
	cmd := command(t, append([]string{"serve", "--http", address, "--project", "none"}, flags...)...)
	cmd.Env = append(cmd.Env, environment...)
	return startServing(t, cmd)
}

// startServing starts a command and waits until it listens.
func startServing(t *testing.T, cmd *exec.Cmd) *served {
	t.Helper()
	s := &served{t: t, cmd: cmd, log: &screen{}, ended: make(chan error, 1)}
	s.cmd.Stderr = s.log
	checktest.OK(t, s.cmd.Start())
	t.Cleanup(func() { s.cmd.Process.Kill() })
	go func() { s.ended <- s.cmd.Wait() }()
	var found []string
	if !testwait.Holds(func() bool { found = listeningAt.FindStringSubmatch(s.log.String()); return found != nil }) {
		t.Fatalf("it does not listen:\n%s", s.log)
	}
	s.url = found[1]
	return s
}

// connect connects a client on a version of the protocol; token "" sends none.
func (s *served) connect(version, token string, o *mcp.ClientOptions) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, o)
	transport := &mcp.StreamableClientTransport{Endpoint: s.url, HTTPClient: mcptest.Bearer(token),
		MaxRetries: -1}
	return client.Connect(s.t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
}

// end tells it to stop and waits until it has.
func (s *served) end() {
	s.t.Helper()
	checktest.OK(s.t, s.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-s.ended:
		if err != nil && s.cmd.ProcessState.ExitCode() != cli.ExitInterrupted {
			s.t.Errorf("it ended with %v\n%s", err, s.log)
		}
	case <-time.After(20 * time.Second):
		s.t.Errorf("it did not end\n%s", s.log)
	}
}

func TestServeOverHTTP(t *testing.T) {
	root := t.TempDir()
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"), `{
		"evaluation": {"defaultProfile": "p", "profiles": {"p": {"asklist": ["filesystem__write_file"]}}},
		"http": {"tokens": [{"token": "${ANNA}", "principal": "anna"}]}}`)
	const token = "the-token-of-anna"
	s := serveOverHTTP(t, "0", []string{"ANNA=" + token}, "--config", config, "--root", root)
	if !strings.HasPrefix(s.url, "http://127.0.0.1:") {
		t.Errorf("it listens at %s", s.url)
	}
	if _, err := s.connect("", "", nil); err == nil {
		t.Error("somebody came in without a token")
	}
	asked := make(chan struct{}, 10)
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		c, err := s.connect(version, token, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked <- struct{}{}
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow_once"}}, nil
			},
		})
		checktest.OK(t, err)
		if got := callText(t, c, `await codemode.filesystem__write_file({path: "`+version+`.md", content: "x"}); return "written"`); !strings.HasPrefix(got, `"written"`) {
			t.Errorf("%s: %s", version, got)
		}
		<-asked
		if _, err := os.Stat(filepath.Join(root, version+".md")); err != nil {
			t.Error(err)
		}
	}
	waits, err := s.connect("2025-11-25", token, &mcp.ClientOptions{
		ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		},
	})
	checktest.OK(t, err)
	go waits.CallTool(context.Background(), &mcp.CallToolParams{Name: "codemode_eval",
		Arguments: map[string]any{"code": `await codemode.filesystem__write_file({path: "late.md", content: "x"})`}})
	<-asked
	s.end() // while a person is asked
	if _, err := os.Stat(filepath.Join(root, "late.md")); err == nil {
		t.Error("it was written although nobody answered")
	}
	if strings.Contains(s.log.String(), token) {
		t.Errorf("the token is in the log:\n%s", s.log)
	}
}

// A client on 2026-07-28 comes back after the process was killed and started anew: the run goes on where it was, and
// nothing is done twice.
func TestARoundTripThroughARestart(t *testing.T) {
	t.Parallel()
	root, state := t.TempDir(), t.TempDir()
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"),
		`{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"asklist": ["filesystem__write_file"]}}}}`)
	start := func() (*served, *mcp.ClientSession) {
		s := serveOverHTTP(t, "0", nil, "--config", config, "--root", root, "--state", state)
		c, err := s.connect("2026-07-28", "", &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { panic("not called") },
			MultiRoundTrip:     &mcp.MultiRoundTripOptions{Disabled: true},
		})
		checktest.OK(t, err)
		return s, c
	}
	const program = `
		await codemode.filesystem__create_directory({path: "once"});
		let n = 0;
		const write = async path => { await codemode.filesystem__write_file({path, content: String(++n)}); return n };
		const first = await write("a.md");
		const both = await Promise.all([write("b.md"), write("c.md")]);
		await codemode.filesystem__move_file({source: "once", destination: "moved"}); // fails if any of this is done twice
		return ["done", first, ...both].join(" ")`
	leg := func(c *mcp.ClientSession, state string, content map[string]any) *mcp.CallToolResult {
		t.Helper()
		p := &mcp.CallToolParams{Name: "codemode_eval", Arguments: map[string]any{"code": program}, RequestState: state}
		if content != nil {
			p.InputResponses = mcp.InputResponseMap{"answer": &mcp.ElicitResult{Action: "accept", Content: content}}
		}
		res, err := c.CallTool(t.Context(), p)
		checktest.OK(t, err)
		return res
	}
	s, c := start()
	first := leg(c, "", nil)
	time.Sleep(2 * time.Second) // until the process has parked it
	s.cmd.Process.Kill()
	<-s.ended
	s, c = start()
	second := leg(c, first.RequestState, map[string]any{"decision": "allow_once"})
	if !second.NeedsInput() {
		t.Fatalf("after the restart: %s\n%s", second.Content[0].(*mcp.TextContent).Text, s.log)
	}
	time.Sleep(2 * time.Second) // as above
	s.end()                     // told to stop this time
	s, c = start()
	last := second
	for rounds := 0; last.NeedsInput() && rounds < 5; rounds++ {
		last = leg(c, last.RequestState, allowAll(t, last))
	}
	if text := last.Content; len(text) == 0 || !strings.HasPrefix(text[0].(*mcp.TextContent).Text, `"done 1 `) {
		t.Errorf("at the end: %+v\n%s", last, s.log)
	}
	for _, name := range []string{"a.md", "b.md", "c.md", "moved"} {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	s.end()
}

// allowAll says yes to each call that a form is about.
func allowAll(t *testing.T, r *mcp.CallToolResult) map[string]any {
	t.Helper()
	js, err := json.Marshal(r.InputRequests["answer"].(*mcp.ElicitParams).RequestedSchema)
	checktest.OK(t, err)
	var form struct{ Required []string }
	checktest.OK(t, json.Unmarshal(js, &form))
	content := map[string]any{}
	for _, field := range form.Required {
		content[field] = "allow_once"
	}
	return content
}

// What would let anybody in, or nobody, does not start.
func TestServeHTTPRefusesToStart(t *testing.T) {
	for _, test := range []struct{ address, http, want string }{
		{"0.0.0.0:0", `{}`, "the configuration has no http.tokens"},
		{"[::]:0", `{}`, "the configuration has no http.tokens"},
		{"nonsense:address:0", `{}`, "it takes an address such as 127.0.0.1:8808"},
		{"127.0.0.1:0", `{"tokens": [{"token": "in-the-file-itself"}]}`, "a token must not stand in the file itself"},
		{"127.0.0.1:0", `{"tokens": [{"token": "${NO_SUCH_VARIABLE}"}]}`, "the variable NO_SUCH_VARIABLE is not set"},
		{"127.0.0.1:99999", `{}`, "99999"},
	} {
		config := write(t, filepath.Join(t.TempDir(), "codemode.json"), `{"http": `+test.http+`}`)
		cmd := command(t, "serve", "--http", test.address, "--config", config, "--project", "none")
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != cli.ExitUsage || !strings.Contains(string(out), test.want) {
			t.Errorf("--http %s with %s: %v\n%s", test.address, test.http, err, out)
		}
	}
}
