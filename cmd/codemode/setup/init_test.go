package setup

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/profiles"
)

// testHome is a person's home with the files of every client, and a project in it.
func testHome(t *testing.T) (p places, project string) {
	t.Helper()
	d := everyClient(t)
	return d.places, d.project
}

// everySet knows every variable: its value is its name in lower case.
func everySet(name string) (string, bool) { return strings.ToLower(name), true }

// describe writes what a server is as one line.
func describe(s servers.Server) string {
	text := string(s.Transport)
	if s.URL != "" {
		text += " " + s.URL
	} else {
		text += " " + strings.Join(append([]string{s.Command}, s.Args...), " ")
	}
	for _, k := range slices.Sorted(maps.Keys(s.Env)) {
		text += fmt.Sprintf(", %s=%s", k, s.Env[k])
	}
	for _, k := range slices.Sorted(maps.Keys(s.Headers)) {
		text += fmt.Sprintf(", %s: %s", k, s.Headers.Get(k))
	}
	add := func(format string, v any, is bool) {
		if is {
			text += ", " + fmt.Sprintf(format, v)
		}
	}
	add("in %s", s.Dir, s.Dir != "")
	add("include %q", s.Include, s.Include != nil)
	add("exclude %q", s.Exclude, s.Exclude != nil)
	add("start %v", s.StartTimeout, s.StartTimeout > 0)
	add("timeout %v", s.Timeout, s.Timeout > 0)
	add("disabled%s", "", s.Disabled)
	add("problem: %s", s.Problem, s.Problem != "")
	return text
}

func TestWhatClientsHaveBecomesOneConfiguration(t *testing.T) {
	p, project := testHome(t)
	chosen := choose(findClients(p, project, everySet), nil, nil)
	text := configurationText(p, chosen, nil, false)
	cfg, err := config.Parse("codemode.json", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	got := map[string]string{}
	for _, s := range cfg.Servers {
		server, err := s.Connection(everySet)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		got[s.Name] = strings.ReplaceAll(describe(server), p.home, "HOME")
	}
	want := map[string]string{
		"github":                "stdio npx -y @modelcontextprotocol/server-github, GITHUB_PERSONAL_ACCESS_TOKEN=github_token",
		"docs":                  "http https://docs_host/mcp, Authorization: Bearer docs_token",
		"feed":                  "sse https://feed.example/sse",
		"project-db":            "stdio project_bin --read-only, in HOME/work",
		"github_claude_desktop": "stdio docker run -i --rm -e GITHUB_PERSONAL_ACCESS_TOKEN ghcr.example/github-mcp, GITHUB_PERSONAL_ACCESS_TOKEN=ghp_0123456789abcdef",
		"my_notes":              "stdio /opt/notes/bin/notes-mcp --vault /home/ada/notes",
		"postgres":              "stdio npx -y pg-mcp postgresql://db_user@127.0.0.1/app",
		"linear":                "http https://mcp.linear.example/mcp, Authorization: Bearer linear_token",
		"home-files":            "stdio npx -y @modelcontextprotocol/server-filesystem HOME/work",
		"project-tools":         "stdio ./tools/mcp.sh, in HOME/work",
		"perplexity":            "stdio npx -y server-perplexity, PERPLEXITY_API_KEY=perplexity_key",
		"docs_vscode":           "http https://docs.example/mcp",
		"sandboxed":             "stdio uvx fetch, in HOME",
		"lint":                  "sse http://127.0.0.1:7777/sse",
		"search":                `http https://search.example/mcp, X-Key: k, include ["search"], timeout 30s`,
		"events":                "sse https://events.example/sse",
		"bigquery":              `stdio toolbox --stdio, PROJECT=google_project, in /srv, exclude ["drop_table"]`,
		"context":               `stdio npx -y context-mcp, CONTEXT_KEY=context_key, include ["resolve" "lookup"], start 20s, timeout 1m30s`,
		"figma":                 "http https://mcp.figma.example/mcp, Authorization: Bearer figma_token, X-Region: eu",
		"jira":                  "http https://jira.example/mcp, Authorization: Bearer jira_token",
		"local-tools":           "stdio bun x tools-mcp, MODE=fast, start 5s",
		"here":                  "stdio ./here, in HOME/work",
		"sheets":                "http https://sheets.example/mcp, X-Key: sheets_key, timeout 20s",
		"mails":                 "stdio mails-mcp --at mail_host", "notes": "stdio notes-mcp notes_dir",
		"sprint": `stdio sprint-mcp, exclude ["close"]`, "wiki": "http https://wiki.example/mcp, K: v",

		"vercel": `http https://vercel.example/mcp, Authorization: Bearer vercel_token, exclude ["deploy"]`,
		"dagger": "stdio dagger mcp", "old-form": "stdio /opt/old --stdio, A=b",
		"brave": "stdio npx -y brave-mcp, BRAVE_KEY=x, timeout 1m30s", "remote": "http https://remote.example/mcp",
		"SQLite_MCP": "stdio npx -y mcp-sqlite", "Supabase": "stdio npx -y supabase-mcp, SUPABASE_TOKEN=supabase_token",
		"ide": "stdio ide-mcp", "ide-project": "stdio ./ide-mcp, in HOME/work", "hf": "http https://hf.example/mcp",
		"tickets": "stdio npx -y tickets-mcp, TEAM=web, timeout 5m0s",
		"billing": "http https://billing.example/mcp, timeout 1m0s", "amp-project": "stdio amp-mcp, in HOME/work",
		"playwright": `stdio npx -y playwright-mcp, include ["navigate"]`,
		"gh":         `http https://gh.example/mcp/, Authorization: Bearer gh_pat, exclude ["create_issue"], start 2m0s`,
		"stream":     "sse https://stream.example/sse, K: $(echo secret)", "crush-project": "stdio crush-mcp, in HOME/work",
		"context7": "http https://context7.example/mcp", "gh-project": "stdio gh-mcp, in HOME/work",
		"gemini-project": "stdio gemini-mcp, in HOME/work", "codex-project": "stdio codex-mcp, in HOME/work",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the servers (-want +got):\n%s", diff)
	}

	// The profile asks before every call, and denies what it does not know.
	careful := cfg.Profile("")
	decide := func(name string) call.Verdict {
		server, tool, _ := strings.Cut(name, "__")
		return careful.Decide(profiles.Call{Server: server, Tool: tool, Name: name,
			Args: call.Unread(json.RawMessage(`{}`))}).Verdict
	}
	for name, want := range map[string]call.Verdict{
		"github__create_issue": call.Ask, "home_files__read_file": call.Ask, "time__now": call.Allow,
		"added_later__x": call.Deny,
	} {
		if got := decide(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestAProjectIsReadOnlyWhenItIsNamed(t *testing.T) {
	p, _ := testHome(t)
	for _, c := range choose(findClients(p, "", everySet), nil, nil) {
		if strings.Contains(c.name, "project") || c.name == "lint" || c.name == "sentry" {
			t.Errorf("%s was taken", c.name)
		}
	}
}

func TestTheSameServerComesOnce(t *testing.T) {
	p := places{home: t.TempDir(), env: func(string) string { return "" }}
	p.config = filepath.Join(p.home, "config")
	put := func(path, text string) {
		t.Helper()
		path = filepath.Join(p.home, path)
		checktest.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		checktest.Write(t, path, text)
	}
	put(".claude.json", `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "one"}, "c__d": {"command": "y"}, "": {"command": "z"}}}`)
	put(".cursor/mcp.json", `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "two"}, "b_cursor": {"command": "three"}, "c.d": {"command": "y"}}}`)
	put(".codex/config.toml", "[mcp_servers.b\n")
	put(".gemini/settings.json", `{"mcpServers": []}`)
	found := findClients(p, "", everySet)
	var names []string
	for _, c := range choose(found, nil, nil) {
		names = append(names, c.name)
	}
	// The name c__d may not have two underscores, and then it is that of c.d for programs.
	if diff := cmp.Diff([]string{"server", "a", "b", "c_d", "b_cursor", "b_cursor_cursor", "c.d_cursor"},
		names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if _, err := config.Parse("x.json", configurationText(p, choose(found, nil, nil), nil, false)); err != nil {
		t.Error(err)
	}
	if i := slices.IndexFunc(found, func(f *clientFile) bool { return f.client.id == "codex" }); i < 0 ||
		found[i].err == nil {
		t.Error("a broken file of Codex is not told")
	}
}

// What is pasted must be what the client's own reader takes.
func TestWhatIsPastedIsReadBack(t *testing.T) {
	command := []string{`/opt/my tools/"codemode"`, "serve", "--config", "/tmp/ä b.json"}
	for i := range mcpClients {
		c := &mcpClients[i]
		text, err := c.pasteText(start{name: ourName, command: command, variables: []string{"A_KEY"}, set: []string{"A_KEY"}})
		if err != nil {
			t.Errorf("%s: %v", c.id, err)
			continue
		}
		if c.id == "claude-code" {
			if want := `claude mcp add --scope user codemode -- '/opt/my tools/"codemode"' serve --config '/tmp/ä b.json'`; text != want {
				t.Errorf("got %s, want %s", text, want)
			}
			continue
		}
		f := &clientFile{client: c, place: &c.places[0], keys: c.places[0].keys, path: "x", text: []byte(text)}
		f.read("", everySet)
		if f.err != nil || len(f.entries) != 1 || f.entries[0].err != nil {
			t.Errorf("%s: %v\n%s", c.id, f.err, text)
			continue
		}
		e, want := f.entries[0], command
		if c.id == "opencode" {
			want = append(slices.Clone(command), "--surface", "programs")
		}
		if got := append([]string{e.server.Command}, e.server.Args...); e.name != "codemode" || !slices.Equal(got, want) {
			t.Errorf("%s: %s is %q\n%s", c.id, e.name, got, text)
		}
		if len(e.server.Include) > 0 || e.server.Disabled {
			t.Errorf("%s: takes tools away\n%s", c.id, text)
		}
		if hands := e.server.Env["A_KEY"] == "a_key"; hands != slices.Contains([]string{"gemini", "qwen", "codex", "copilot"}, c.id) {
			t.Errorf("%s: hands variables on: %t\n%s", c.id, hands, text)
		}
	}
}

// The page of the clients has each of them, with the page that documents its files.
func TestThePageOfTheClients(t *testing.T) {
	page, err := os.ReadFile("../../../docs/clients.md")
	checktest.OK(t, err)
	for _, c := range mcpClients {
		for _, want := range []string{fmt.Sprintf("| [%s][%s] | `%[2]s` |", c.name, c.id),
			fmt.Sprintf("[%s]: %s\n", c.id, c.docs)} {
			if c.docs == "" || !strings.Contains(string(page), want) {
				t.Errorf("docs/clients.md lacks %s", want)
			}
		}
	}
}

// A client's file may come from others: it cannot say that allow rules believe what its server says about itself.
func TestNoClientSaysWhomToTrust(t *testing.T) {
	e := &clientEntry{name: "a", value: map[string]any{"command": "x", "trustAnnotations": true, "trust": true}}
	e.prepare(&mcpClients[0], everySet)
	if e.err != nil || e.server.TrustAnnotations || strings.Contains(string(e.raw), "trust") || len(e.notes) != 2 {
		t.Errorf("got %s, %q, %v", e.raw, e.notes, e.err)
	}
}
