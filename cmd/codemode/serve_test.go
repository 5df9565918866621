package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
)

// serveTestUpstream is an MCP server over stdio with the tools pid and meet. It
// prints a banner, as many do.
func serveTestUpstream() {
	os.Stdout.WriteString("welcome to this server\n")
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	type none struct{}
	mcp.AddTool(s, &mcp.Tool{Name: "pid"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any,
		error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strconv.Itoa(os.Getpid())}}}, nil, nil
	})
	var met atomic.Int32
	all := make(chan struct{})
	mcp.AddTool(s, &mcp.Tool{Name: "meet"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult,
		any, error) {
		if met.Add(1) == 10 {
			close(all)
		}
		select { // none of ten calls ends before all of them have begun
		case <-all:
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "met"}}}, nil, nil
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	})
	_ = s.Run(context.Background(), &mcp.StdioTransport{}) // the end of its input ends it
}

// command is the test binary as codemode, in a home of its own.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	endToEnd(t)
	home := t.TempDir()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCommand+"=codemode", "HOME="+home, "XDG_CONFIG_HOME="+home,
		"XDG_CACHE_HOME="+cachetest.Dir(), "CODEMODE_CONFIG=")
	return cmd
}

var write = checktest.Write

// startPiped starts a command and returns its ends: what it reads, and what it writes.
func startPiped(t *testing.T, cmd *exec.Cmd) (in io.WriteCloser, out io.ReadCloser) {
	t.Helper()
	in, err := cmd.StdinPipe()
	checktest.OK(t, err)
	out, err = cmd.StdoutPipe()
	checktest.OK(t, err)
	checktest.OK(t, cmd.Start())
	return in, out
}

func callText(t *testing.T, c *mcp.ClientSession, code string) string {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "codemode_eval",
		Arguments: map[string]any{"code": code}})
	checktest.OK(t, err)
	return belowSummary(res.Content[0].(*mcp.TextContent).Text)
}

func TestServeOverStdio(t *testing.T) {
	self, err := os.Executable()
	checktest.OK(t, err)
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"), `{
		"mcpServers": {
			"child": {"command": `+strconv.Quote(self)+`, "env": {"`+asCommand+`": "upstream"}},
			"broken": {"command": "no-such-command-anywhere"}
		}
	}`)
	cmd := command(t, "serve", "--config", config)
	var logged bytes.Buffer
	cmd.Stderr = &logged
	stdin, stdout := startPiped(t, cmd)
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil)
	c, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: io.NopCloser(stdout), Writer: stdin}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, logged.String())
	}

	text := callText(t, c, `return await codemode.child__pid({})`)
	first, _, _ := strings.Cut(text, "\n")
	child, err := strconv.Atoi(strings.Trim(first, `"`))
	if err != nil || !alive(child) {
		t.Fatalf("the child is not running: %s", text)
	}
	text = callText(t, c, `const all = await Promise.all(Array.from({length: 10}, () => codemode.child__meet({}))); return all.join()`)
	if !strings.HasPrefix(text, `"met,met,met,met,met,met,met,met,met,met"`) {
		t.Errorf("ten calls at once: %s", text)
	}
	if text = callText(t, c, `await codemode.broken__x({})`); !strings.Contains(text, "ToolNotFoundError") ||
		!strings.Contains(text, "no-such-command-anywhere") {
		t.Errorf("a server that cannot start: %s", text)
	}

	// Closing standard input ends it, and its child with it.
	start := time.Now()
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("serve ended with %v\n%s", err, logged.String())
	}
	if took := time.Since(start); took > 20*time.Second { // milliseconds, where nobody else needs the processor
		t.Errorf("it took %v to end", took)
	}
	if alive(child) {
		t.Errorf("the child %d outlived its server", child)
	}
}

func TestServeStopsOnSIGTERM(t *testing.T) {
	cmd := command(t, "serve")
	stdin, err := cmd.StdinPipe()
	checktest.OK(t, err)
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	checktest.OK(t, err)
	checktest.OK(t, cmd.Start())
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil)
	c, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: io.NopCloser(stdout), Writer: keepOpen{stdin}}, nil)
	checktest.OK(t, err)
	if text := callText(t, c, `return 1`); text != "1\n\ncalls: none\n" {
		t.Errorf("got %q", text)
	}
	checktest.OK(t, cmd.Process.Signal(syscall.SIGTERM))
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		cmd.Process.Kill()
		t.Error("it did not end")
	}
}

type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// A client that goes away while a person is asked ends the process; nothing is written.
func TestServeEndsWhileAPersonIsAsked(t *testing.T) {
	root := t.TempDir()
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"),
		`{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"asklist": ["filesystem__*"]}}}}`)
	cmd := command(t, "serve", "--config", config, "--root", root)
	stdin, stdout := startPiped(t, cmd)
	asked := make(chan struct{})
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			close(asked)
			<-ctx.Done()
			return nil, ctx.Err()
		},
	})
	c, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: io.NopCloser(stdout), Writer: stdin}, nil)
	checktest.OK(t, err)
	go c.CallTool(t.Context(), &mcp.CallToolParams{Name: "codemode_eval", Arguments: map[string]any{
		"code": `await codemode.filesystem__write_file({path: "new.md", content: "x"})`,
	}})
	select {
	case <-asked:
	case <-time.After(20 * time.Second):
		t.Fatal("nobody was asked")
	}
	stdin.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("serve ended with %v", err)
		}
	case <-time.After(5 * time.Second):
		cmd.Process.Kill()
		t.Error("it did not end")
	}
	if _, err := os.Stat(filepath.Join(root, "new.md")); err == nil {
		t.Error("the file was written although nobody answered")
	}
}
