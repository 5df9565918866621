package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/mcptest"
)

// slowStarters is a configuration with servers that start after a while, never, not at all, and are not meant to.
func slowStarters(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("there is no shell")
	}
	return write(t, filepath.Join(t.TempDir(), "codemode.json"), fmt.Sprintf(`{
	"mcpServers": {
		"slow": {"command": "/bin/sh", "args": ["-c", "sleep 3; exec \"$0\"", %q], "env": {%q: "upstream"}},
		"never": {"command": "/bin/sh", "args": ["-c", "exec sleep 600"]},
		"broken": {"command": "/bin/sh", "args": ["-c", "echo \"Error: Cannot find module 'x'\" >&2; echo Node.js v20 >&2; exit 1"]},
		"off": {"command": "/bin/sh", "disabled": true}
	},
	"evaluation": {"profiles": {"blind": {"allowlist": [{"tool": "slow__*"}]}}}
}`, os.Args[0], asCommand))
}

func output(t *testing.T, args ...string) (stdout, stderr string, took time.Duration) {
	t.Helper()
	cmd := command(t, args...)
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	began := time.Now()
	_ = cmd.Run() // what it prints says whether it worked
	return out.String(), failed.String(), time.Since(began)
}

// A server that still starts is no server without tools: a call of it was not sent because it is starting, a search
// waits for it once and names it, and --wait waits for it.
func TestAServerThatStillStarts(t *testing.T) {
	t.Parallel()
	file := slowStarters(t)
	t.Run("calls", func(t *testing.T) {
		t.Parallel()
		out, failed, _ := output(t, "run", "--config", file, "-e", `
			const of = name => codemode[name]({}).catch(e => [e.name, e.outcome, e.reason, e.server, e.message]);
			return await Promise.all(["never__x", "broken__x", "off__x", "slow__pid"].map(of))`)
		for _, want := range []string{
			`"UpstreamError"`, `"not_sent"`, `"starting"`, `"never"`, `the server \"never\" is still starting`,
			`"ToolNotFoundError"`, `"failed"`, `could not be started: its process ended: exit status 1; it wrote: Error: Cannot find module 'x'`,
			`"disabled"`, `is disabled in the configuration`,
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%s\n%s\nlacks %q", out, failed, want)
			}
		}
		if strings.Contains(out, `there is no tool \"never`) {
			t.Errorf("of a server that starts: %s", out)
		}
	})
	t.Run("search", func(t *testing.T) {
		t.Parallel()
		out, failed, _ := output(t, "run", "--config", file, "-e", `
			const took = [];
			let found;
			for (let i = 0; i < 3; i++) {
				const began = Date.now();
				found = await codemode.search_tools("pid");
				took.push(Date.now() - began);
			}
			return [found.map(t => t.name), took[0] > 5000, took[1] < 1000, took[2] < 1000]`)
		if got := strings.Join(strings.Fields(out), ""); got != `[["slow__pid"],true,true,true]` {
			t.Errorf("got %s\n%s", got, failed)
		}
		if !strings.Contains(failed, "still starting when the program searched, so their tools are missing there: never;") {
			t.Errorf("it does not say who is missing:\n%s", failed)
		}
		_, failed, _ = output(t, "run", "--config", file, "--profile", "blind", "-e", `return await codemode.search_tools("pid")`)
		if strings.Contains(failed, "never") {
			t.Errorf("a profile that does not reach the server names it:\n%s", failed)
		}
	})
	t.Run("run --wait", func(t *testing.T) {
		t.Parallel()
		for _, wait := range [][]string{{"--wait", "6s"}, {"--wait=6s"}} {
			args := append(append([]string{"run", "--config", file}, wait...), "-e", "return 1")
			out, failed, took := output(t, args...)
			if strings.TrimSpace(out) != "1" || took < 6*time.Second ||
				!strings.Contains(failed, "Waiting for never, slow to start (") {
				t.Errorf("%v: %s\n%s\nafter %v", wait, out, failed, took)
			}
		}
		for _, wrong := range []string{"--wait", "--wait=soon", "--wait=-1s"} {
			if _, failed, _ := output(t, "run", "--config", file, wrong, "-e", "return 1"); !strings.Contains(failed, "--wait 30s") {
				t.Errorf("%s: %s", wrong, failed)
			}
		}
	})
	t.Run("the MCP tool", func(t *testing.T) {
		t.Parallel()
		cmd := command(t, "serve", "--config", file)
		c := mcptest.Connect(t, &mcp.CommandTransport{Command: cmd})
		for i := range 2 {
			began := time.Now()
			res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "search_tools",
				Arguments: map[string]any{"query": "pid"}})
			if err != nil {
				t.Fatal(err)
			}
			text := res.Content[0].(*mcp.TextContent).Text
			for _, want := range []string{"slow__pid", "never is still starting: its tools are missing here",
				"broken is not available: its process ended: exit status 1; it wrote: Error: Cannot find module 'x'"} {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
			if took := time.Since(began); i > 0 && took > 5*time.Second {
				t.Errorf("the second search took %v", took)
			}
		}
	})
	t.Run("check", func(t *testing.T) {
		t.Parallel()
		out, failed, _ := output(t, "check", "--config", file, "-e", "await codemode.never__x({})")
		if !strings.Contains(out, `never__x: starting: the server "never" has not listed its tools yet`) ||
			strings.Contains(out, "unknown tool") {
			t.Errorf("%s\n%s", out, failed)
		}
	})
	t.Run("tools", func(t *testing.T) {
		t.Parallel()
		_, failed, _ := output(t, "tools", "--config", file, "--wait", "5s")
		if !strings.Contains(failed, "Waiting for never, slow to start (") ||
			!strings.Contains(failed, "Not started within 5s: never. --wait waits longer.") {
			t.Errorf("%s", failed)
		}
	})
}
