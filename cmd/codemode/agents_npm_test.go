package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/internal/checktest"
)

// An agent is a real client: where its servers stand, and how it says that it reaches codemode.
type agent struct {
	name, file, text string
	connected        func(t *testing.T, home, project string) string // what it says
	says             string                                          // in that, as a pattern
}

// TestRealAgentsUseCodemode installs codemode into the agents of testdata/npm/agents as a person has them, asks each
// one with its own command whether it reaches codemode, lets codemode call a tool of a server that was moved, and
// undoes it: every file is what it was, byte for byte.
func TestRealAgentsUseCodemode(t *testing.T) {
	npm := filepath.Join(npmDir(t), "node_modules", ".bin")
	dir := os.Getenv("CODEMODE_NPM_AGENTS")
	if dir == "" {
		t.Skip("CODEMODE_NPM_AGENTS does not say where the agents are installed: see testdata/npm/agents/README.md")
	}
	bin := filepath.Join(dir, "node_modules", ".bin")
	binary := codemodeBinary(t)
	home, err := filepath.EvalSymlinks(t.TempDir())
	checktest.OK(t, err)
	project := filepath.Join(home, "work")
	checktest.OK(t, os.Mkdir(project, 0o700))
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := inHome(t, home, project, name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	list := func(name string) func(*testing.T, string, string) string {
		return func(*testing.T, string, string) string { return run(filepath.Join(bin, name), "mcp", "list") }
	}
	files := npm + "/mcp-server-filesystem"
	agents := []agent{
		{"Claude Code", ".claude.json", `{
  "mcpServers": {
    "files": { "type": "stdio", "command": "` + files + `", "args": ["` + project + `"] }
  },
  "projects": { "` + project + `": { "mcpServers": {
    "think": { "command": "` + npm + `/mcp-server-sequential-thinking", "args": [] } } } }
}
`, list("claude"), `codemode: .* serve --config .*Connected`},
		{"Codex", ".codex/config.toml", "# Mine.\nmodel = \"gpt-5\" # the usual\n\n[mcp_servers.files]\n" +
			"command = \"" + files + "\"\nargs = [\n  \"" + project + "\",\n]\n\n[tui]\nnotifications = true\n",
			func(t *testing.T, home, project string) string {
				return run(filepath.Join(bin, "codex"), "mcp", "list") + codexStatus(t, home, project, filepath.Join(bin, "codex"))
			}, `(?s)codemode .*enabled.*"name":"codemode".*"search_tools"`}, // its list says enabled, whatever it reaches
		{"Gemini CLI", ".gemini/settings.json", `{
  // trusted, so that servers start
  "security": { "folderTrust": { "enabled": false } },
  "mcpServers": { "memory": { "command": "` + npm + `/mcp-server-memory" } } // one
}
`, list("gemini"), `codemode: .*Connected`},
		{"OpenCode", ".config/opencode/opencode.json", `{
	"$schema": "https://opencode.ai/config.json",
	"mcp": {
		// one line
		"everything": { "type": "local", "command": ["` + npm + `/mcp-server-everything"], "enabled": true },
	},
}
`, list("opencode"), `codemode .*connected`},
	}
	for _, a := range agents {
		path := filepath.Join(home, filepath.FromSlash(a.file))
		checktest.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		write(t, path, a.text)
		a.connected(t, home, project) // the first start adds to some files
	}
	before := agentFiles(t, home, agents)

	t.Log(run(binary, "init", "--install", "--codex-approve", "--project", project))
	for _, a := range agents {
		if got := a.connected(t, home, project); !regexp.MustCompile(a.says).MatchString(got) {
			t.Errorf("%s says\n%s\nwant %s", a.name, got, a.says)
		} else {
			t.Logf("%s: %s", a.name, regexp.MustCompile(`(?m)^.*codemode.*$`).FindString(got))
		}
	}
	for _, read := range []struct{ says, want string }{ // how the agents read the keys for time-outs and questions
		{run(filepath.Join(bin, "codex"), "mcp", "get", "codemode"), `(?s)tool_timeout_sec: 600\n.*approval_mode: approve\n`},
		{run(filepath.Join(bin, "opencode"), "debug", "config"), `(?s)"codemode": \{[^}]*"timeout": 600000\b`},
	} {
		if !regexp.MustCompile(read.want).MatchString(read.says) {
			t.Errorf("got\n%s\nwant %s", read.says, read.want)
		}
	}
	installed := agentFiles(t, home, agents)
	for file, text := range installed {
		if strings.Contains(text, npm) || !strings.Contains(text, binary) {
			t.Errorf("%s has its servers still:\n%s", file, text)
		}
	}
	config := filepath.Join(home, ".config", "codemode", "codemode.json")
	if info, err := os.Stat(config); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the configuration: %v, %v; want only the user to read it", info, err)
	}
	out := run(binary, "run", "--config", config, "-e", `return await codemode.files__list_allowed_directories({})`)
	if !strings.Contains(out, project) {
		t.Errorf("a moved server says %s", out)
	}

	// Once more changes nothing.
	run(binary, "init", "--install", "--project", project)
	if diff := cmp.Diff(installed, agentFiles(t, home, agents)); diff != "" {
		t.Errorf("a second installation (-want +got):\n%s", diff)
	}

	run(binary, "init", "--undo")
	if diff := cmp.Diff(before, agentFiles(t, home, agents)); diff != "" {
		t.Errorf("undone (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(config); !os.IsNotExist(err) {
		t.Errorf("the configuration is still there: %v", err)
	}
	for _, a := range agents {
		if got := a.connected(t, home, project); strings.Contains(got, "codemode ") {
			t.Errorf("%s still has codemode:\n%s", a.name, got)
		}
	}
}

// agentFiles are the files of the agents by name, with their modes.
func agentFiles(t *testing.T, home string, agents []agent) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, a := range agents {
		path := filepath.Join(home, filepath.FromSlash(a.file))
		info, err := os.Stat(path)
		checktest.OK(t, err)
		text, err := os.ReadFile(path)
		checktest.OK(t, err)
		all[a.file+" "+fs.FileMode.String(info.Mode())] = string(text)
	}
	return all
}

// inHome is a command with a home of its own, and without what says who the tester is.
func inHome(t *testing.T, home, project, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = project
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=dumb", "NO_COLOR=1",
		"DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "OPENCODE_DISABLE_AUTOUPDATE=1"}
	return cmd
}

// codexStatus asks Codex's own server for editors about its MCP servers, which connects to them.
func codexStatus(t *testing.T, home, project, codex string) string {
	t.Helper()
	cmd := inHome(t, home, project, codex, "app-server")
	in, out := startPiped(t, cmd)
	stop := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer func() {
		stop.Stop()
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	answer := func(request string, id int) string {
		if _, err := in.Write([]byte(request + "\n")); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			var m struct {
				ID     int
				Result json.RawMessage
			}
			if json.Unmarshal(lines.Bytes(), &m) == nil && m.ID == id {
				return string(bytes.TrimSpace(m.Result))
			}
		}
		t.Fatalf("codex app-server has no answer to %s: %v", request, lines.Err())
		return ""
	}
	answer(`{"id":1,"method":"initialize","params":{"clientInfo":{"name":"test","title":"test","version":"1"}}}`, 1)
	if _, err := in.Write([]byte(`{"method":"initialized"}` + "\n")); err != nil {
		t.Fatal(err)
	}
	return answer(`{"id":2,"method":"mcpServerStatus/list","params":{}}`, 2)
}
