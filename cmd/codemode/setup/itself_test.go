package setup

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/codemode-project/codemode/internal/checktest"
)

// TestInitLeavesItselfOut in every form in which a client may start it, and nothing else.
func TestInitLeavesItselfOut(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	checktest.OK(t, err)
	data, err := os.ReadFile(self)
	checktest.OK(t, err)
	link, renamed := filepath.Join(dir, "helper"), filepath.Join(dir, "gateway")
	if err := os.Symlink(self, link); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	checktest.OK(t, os.WriteFile(renamed, data, 0o700))
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	entry := func(words ...string) map[string]any {
		return map[string]any{"command": words[0], "args": words[1:]}
	}
	for _, itself := range []map[string]any{
		entry("codemode", "serve"), entry("codemode", "-v", "serve"), entry("/opt/bin/codemode", "serve", "--config",
			"/x.json"),
		entry(`C:\Program Files\codemode\codemode.exe`, "serve"), entry("CODEMODE.EXE", "serve"),
		entry("npx", "-y", "@codemode-project/codemode@latest", "serve"),
		entry("npx", "--package=@codemode-project/codemode", "codemode", "serve"),
		entry("npx", "-y", "codemode", "serve"), entry("cmd", "/c", "npx", "codemode@1.2.3", "serve"),
		entry("sh", "-c", "exec codemode serve"), entry("bash", "-lc", `"$HOME/bin/codemode" serve --profile careful`),
		entry("env", "-i", "A=b", "codemode", "serve"),
		entry("cmd", "/c", "codemode", "serve"), entry("cmd", "/c", `C:\bin\codemode.cmd serve`),
		entry("powershell", "-Command", "& 'codemode.exe' serve"),
		entry("wsl", "-e", "/home/me/codemode", "serve"), entry("wsl.exe", "--", "codemode", "serve"),
		entry("ssh", "host", "codemode serve"),
		entry("go", "run", "./cmd/codemode", "serve"), entry("go", "run",
			"github.com/codemode-project/codemode/cmd/codemode@latest", "serve"),
		entry("docker", "run", "-i", "ghcr.io/someone/codemode:1.0", "serve"), entry("sudo", "-u", "x", "codemode", "serve"),
		entry("nice", "codemode-linux-amd64", "serve"),
		entry(link, "serve"), entry("helper", "serve"), entry("sh", "-c", link+" serve"), entry(renamed, "serve"),
		entry("/opt/cm", "serve", "--profile", "careful"), entry("/opt/cm", "serve", "--state=/x"),
		entry("/opt/cm", "serve", "--config", "/home/me/.config/codemode/codemode.json"),
		{"command": "/opt/cm", "args": []string{"serve"}, "env": map[string]string{"CODEMODE_CONFIG": "/x.json"}},
		{"command": []string{"codemode", "serve"}},
	} {
		if e := preparedEntry(t, "gate", itself); !e.isCodemode() {
			t.Errorf("not known: %v", itself)
		}
	}
	for name, itself := range map[string]map[string]any{
		"codemode": {"url": "http://127.0.0.1:8808/mcp"}, "my-codemode": {"url": "https://mcp.example.com/mcp/careful"},
		"x": {"url": "https://codemode.example.com/mcp"},
	} {
		if e := preparedEntry(t, name, itself); !e.isCodemode() {
			t.Errorf("not known: %s %v", name, itself)
		}
	}
	for _, other := range []map[string]any{
		entry("npx", "-y", "@someone/codemode", "serve"), entry("npx", "-y", "@someone/codemode@1.2.3", "serve"),
		entry("uvx", "codemode", "serve"), entry("bunx", "codemode-mcp", "serve"),
		entry("cmd", "/c", "npx", "@someone/codemode", "serve"),
		entry("go", "run", "example.com/codemode/cmd/codemode@latest", "serve"),
		entry("sh", "-c", "exec other serve --profile careful"),
		entry("npx", "-y", "@modelcontextprotocol/server-filesystem", "/home/me/codemode"),
		entry("node", "server.js", "serve"), entry("mcp-server", "serve", "--port", "80"),
		entry("sh", "-c", "exec other serve"), entry("docker", "run", "-i", "mcp/git", "serve"),
		entry("git-mcp", "--repository", "/src/codemode"),
		{"url": "https://mcp.example.com/mcp"}, {"url": "http://127.0.0.1:9000/sse"}, entry("vscodemode", "serve"),
	} {
		if e := preparedEntry(t, "gate", other); e.isCodemode() {
			t.Errorf("taken for codemode: %v", other)
		}
	}
}

func preparedEntry(t *testing.T, name string, value map[string]any) *clientEntry {
	t.Helper()
	text, err := json.Marshal(value)
	checktest.OK(t, err)
	e := &clientEntry{name: name}
	checktest.OK(t, json.Unmarshal(text, &e.value))
	e.prepare(&mcpClients[0], os.LookupEnv)
	if e.err != nil {
		t.Fatalf("%v: %v", value, e.err)
	}
	return e
}
