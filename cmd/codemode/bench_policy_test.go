package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
)

// listedServer is the entry of a server with these tools; see serveListed.
func listedServer(t *testing.T, tools string) map[string]any {
	t.Helper()
	list := filepath.Join(t.TempDir(), "tools.json")
	write(t, list, tools)
	return map[string]any{"command": os.Args[0], "env": map[string]string{asCommand: "listed", "CODEMODE_TEST_LIST": list}}
}

// initialized is the configuration that codemode init writes for servers of another client.
func initialized(t *testing.T, servers map[string]any) (config string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	checktest.OK(t, err)
	for name, folder := range map[string]string{"HOME": "", "XDG_CONFIG_HOME": ".config", "XDG_STATE_HOME": "state",
		"XDG_CACHE_HOME": "cache"} {
		t.Setenv(name, filepath.Join(home, folder))
	}
	t.Setenv("XDG_CACHE_HOME", cachetest.Dir())
	checktest.OK(t, os.Mkdir(filepath.Join(home, ".cursor"), 0o700))
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	checktest.OK(t, err)
	write(t, filepath.Join(home, ".cursor", "mcp.json"), string(text))
	var out, problems bytes.Buffer
	if code := runMain(t, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &problems}, "init", "--install",
		"--yes"); code != cli.ExitOK {
		t.Fatalf("init: exit code %d\n%s%s", code, &out, &problems)
	}
	return filepath.Join(home, ".config", "codemode", "codemode.json")
}

const (
	fileTools = `[
		{"name": "read_file", "annotations": {"readOnlyHint": true}, "input": {"type": "object", "required": ["path"],
			"properties": {"path": {"type": "string"}}}},
		{"name": "write_file", "annotations": {"destructiveHint": true}, "input": {"type": "object", "required": ["path"],
			"properties": {"path": {"type": "string"}, "content": {"type": "string"}}}},
		{"name": "delete_file", "input": {"type": "object", "required": ["path"],
			"properties": {"path": {"type": "string"}}}}]`
	mailTools = `[
		{"name": "search_mails", "annotations": {"readOnlyHint": true}, "input": {"type": "object",
			"properties": {"text": {"type": "string"}}}},
		{"name": "send_mail", "annotations": {"openWorldHint": true}, "input": {"type": "object",
			"required": ["to", "body"], "properties": {"to": {"type": "string"}, "body": {"type": "string"}}}}]`
	webTools = `[
		{"name": "fetch", "annotations": {"readOnlyHint": true, "openWorldHint": true}, "input": {"type": "object",
			"required": ["url"], "properties": {"url": {"type": "string", "format": "uri"}}}}]`
	shTools = `[
		{"name": "run_command", "input": {"type": "object", "required": ["command"],
			"properties": {"command": {"type": "string"}}}}]`
)

// The careful profile of codemode init has no findings, over servers that say what is true about their tools.
func TestBenchPolicyFindsNothingInTheCarefulProfile(t *testing.T) {
	endToEnd(t)
	config := initialized(t, map[string]any{"files": listedServer(t, fileTools), "mail": listedServer(t, mailTools),
		"web": listedServer(t, webTools), "sh": listedServer(t, shTools)})
	code, out, problems := benchmark(t, "policy", "--config", config, "--project", "none")
	if code != cli.ExitOK || !strings.Contains(out, "no findings. No server was called.") {
		t.Errorf("exit code %d\n%s%s", code, out, problems)
	}
	text, err := os.ReadFile(config)
	checktest.OK(t, err)
	allowed, asked, _ := strings.Cut(string(text), `"asklist"`)
	if !strings.Contains(allowed, `"files__read_file"`) || strings.Contains(allowed, `"web__fetch"`) ||
		!strings.Contains(asked, `"web__*"`) {
		t.Errorf("what reads from an address of the program's choice has to be asked about:\n%s", text)
	}
	loose := strings.Replace(string(text), `"time__*",`, `"*",`, 1)
	loose = strings.ReplaceAll(loose, `"risk": "high"`, `"unlessAllowed": true`)
	write(t, config, loose)
	code, out, problems = benchmark(t, "policy", "--config", config, "--project", "none", "--format", "json")
	var report struct {
		Findings []struct{ Family, Tool string }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != cli.ExitProgram {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, out, problems)
	}
	families := map[string]bool{}
	for _, f := range report.Findings {
		families[f.Family] = true
	}
	for _, want := range []string{"exfiltration", "destructive tool", "no budget", "rule without effect"} {
		if !families[want] {
			t.Errorf("with a * in the allowlist there is no finding of the family %q:\n%s", want, out)
		}
	}
}

// The same over real servers from npm.
func TestBenchPolicyFindsNothingOverRealServers(t *testing.T) {
	bin := filepath.Join(npmDir(t), "node_modules", ".bin")
	files := t.TempDir()
	command := func(name string, args ...string) map[string]any {
		return map[string]any{"command": filepath.Join(bin, name), "args": args}
	}
	memory := command("mcp-server-memory")
	memory["env"] = map[string]string{"MEMORY_FILE_PATH": filepath.Join(files, "memory.json")}
	git := command("git-mcp-server")
	git["env"] = map[string]string{"GIT_BASE_DIR": files, "LOGS_DIR": filepath.Join(files, "logs")}
	config := initialized(t, map[string]any{
		"everything": command("mcp-server-everything", "stdio"), "filesystem": command("mcp-server-filesystem", files),
		"memory": memory, "git": git, "github": command("mcp-server-github"),
		"playwright": command("playwright-mcp", "--headless"),
	})
	code, out, problems := benchmark(t, "policy", "--config", config, "--project", "none")
	none := strings.Contains(out, "no findings. No server was called.") && !strings.Contains(out, "says nothing")
	if code != cli.ExitOK || !none {
		t.Errorf("exit code %d\n%s%s", code, out, problems)
	}
}

// What the command says when something is wrong, and its formats.
func TestBenchPolicy(t *testing.T) {
	endToEnd(t)
	up, err := json.Marshal(listedServer(t, webTools))
	checktest.OK(t, err)
	dir := writeFiles(t, map[string]string{
		"half.json": `{"mcpServers": {"up": ` + string(up) + `, "down": {"command": "no-such-command-here"}},
			"evaluation": {"defaultProfile": "work", "profiles": {"work": {"allowlist": []}}}}`,
		"none.json": `[]`,
		"weak.json": `{"evaluation": {"defaultProfile": "work", "profiles": {"work": {"allowlist": ["files__*"],
			"limits": {"calls": 50}}, "strict": {"allowlist": ["files__read_file"]}}}}`,
		"broken.json": `{"evaluation": {"profiles": {"work": {"allowlst": []}}}}`,
		"down.json": `{"mcpServers": {"down": {"command": "no-such-command-here"}},
			"evaluation": {"profiles": {"work": {"allowlist": []}}}}`,
		"tools.json": `{"files": [
			{"name": "read_file", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}},
			{"name": "delete_file", "inputSchema": {"type": "object", "required": ["path"],
				"properties": {"path": {"type": "string"}}}}]}`,
	})
	at := func(name string) string { return filepath.Join(dir, name) }
	weak := []string{"--config", at("weak.json"), "--tools", at("tools.json")}
	for _, test := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"findings", weak, cli.ExitProgram, `codemode.files__delete_file({"path":"notes.txt"})`},
		{"in a table", weak, cli.ExitProgram, "weak.json:1: high, destructive tool, profile work"},
		{"for CI", append(weak, "--format", "junit"), cli.ExitProgram, `<failure message="findings: 1">`},
		{"for a page", append(weak, "--format", "markdown"), cli.ExitProgram, "| high | destructive tool | work |"},
		{"for programs", append(weak, "--format", "json"), cli.ExitProgram, `"line": 1`},
		{"another profile", append(weak, "--profile", "strict"), cli.ExitOK, "under strict"},
		{"no such profile", append(weak, "--profile", "strct"), cli.ExitUsage, `no profile "strct"`},
		{"no such format", append(weak, "--format", "yaml"), cli.ExitUsage, "table, json, junit, sarif, markdown"},
		{"no tools", []string{"--config", at("weak.json"), "--tools", at("no.json")}, cli.ExitUsage, "no.json"},
		{"a broken configuration", []string{"--config", at("broken.json")}, cli.ExitUsage, "did you mean"},
		{"no configuration", []string{"--config", at("no.json")}, cli.ExitUsage, "no.json"},
		{"a file without tools", []string{"--config", at("weak.json"), "--tools", at("none.json")}, cli.ExitUsage,
			"none.json: it has no tools"},
		{"one server of two", []string{"--config", at("half.json")}, cli.ExitInternal,
			"the server down was not tested, because it listed no tools"},
		{"one server of two, for CI", []string{"--config", at("half.json"), "--format", "junit"}, cli.ExitInternal,
			`<testcase name="down" classname="servers" time="0">`},
		{"no server", []string{"--config", at("down.json")}, cli.ExitInternal, "no server listed its tools"},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, out, problems := benchmark(t, append([]string{"policy", "--project", "none"}, test.args...)...)
			if code != test.code || !strings.Contains(out+problems, test.want) {
				t.Errorf("exit code %d, want %d and %q in\n%s%s", code, test.code, test.want, out, problems)
			}
		})
	}
}

// The page about the command shows what it prints for the rules of the page, and that they can be mended as it says.
func TestThePageAboutBenchPolicy(t *testing.T) {
	endToEnd(t)
	var rules, printed string
	for _, b := range readPages(t).blocks {
		switch {
		case b.page != "docs/policy-bench.md":
		case b.language == "json":
			rules = b.text
		case b.language == "console":
			printed = shown(b.text)
		}
	}
	t.Chdir(writeFiles(t, map[string]string{"codemode.json": rules, "files/reports/a.md": "a"}))
	args := []string{"policy", "--config", "codemode.json", "--root", "files", "--project", "none"}
	if code, out, problems := benchmark(t, args...); code != cli.ExitProgram || !sameOutput(out, printed) {
		t.Errorf("exit code %d; the page shows\n%s\nand it prints\n%s%s", code, printed, out, problems)
	}
	write(t, "codemode.json", strings.Replace(rules, `"prefix": "reports/"`, `"under": "reports"`, 1))
	if code, out, problems := benchmark(t, args...); code != cli.ExitOK || !strings.Contains(out, "no findings") {
		t.Errorf("mended: exit code %d\n%s%s", code, out, problems)
	}
}
