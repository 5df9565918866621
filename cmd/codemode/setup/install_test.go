package setup

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/cmd/codemode/setup/clientfile"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/checktest"
)

// A desk is a person's home to install in.
type desk struct {
	t *testing.T
	places
	state, out, project string
	codexApprove        bool
}

// newDesk is an empty home.
func newDesk(t *testing.T) *desk {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	checktest.OK(t, err)
	d := &desk{t: t, state: filepath.Join(home, "state"), out: filepath.Join(home, ".config", "codemode", "codemode.json")}
	d.places = places{system: "linux", home: home, config: filepath.Join(home, ".config"),
		env: func(string) string { return "" }}
	return d
}

// everyClient is a home with the files of every client, and a project with servers of every scope.
func everyClient(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	checktest.OK(t, os.CopyFS(d.home, os.DirFS("../../../testdata/clients")))
	d.project = filepath.Join(d.home, "work")
	claude := d.read(".claude.json")
	d.put(".claude.json", strings.Replace(claude, `"/elsewhere":`, fmt.Sprintf(`%q: { "mcpServers": {
      "here": { "command": "./here" } }, "history": [], "enabledMcpjsonServers": ["project-db"] },
    "/elsewhere":`, d.project), 1))
	d.put(".codex/config.toml", d.read(".codex/config.toml")+fmt.Sprintf("\n[projects.%q]\ntrust_level = \"trusted\"\n", d.project))
	d.put(".gemini/trustedFolders.json", fmt.Sprintf(`{%q: "TRUST_FOLDER"}`, d.project))
	return d
}

func (d *desk) put(name, text string) {
	d.t.Helper()
	path := filepath.Join(d.home, name)
	checktest.OK(d.t, os.MkdirAll(filepath.Dir(path), 0o700))
	checktest.OK(d.t, os.WriteFile(path, []byte(text), 0o640))
}

func (d *desk) read(name string) string {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.home, name))
	checktest.OK(d.t, err)
	return string(text)
}

// files are all files of the home with their modes, without those of codemode's state.
func (d *desk) files() map[string]string {
	d.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(d.home, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == d.state {
			return fs.SkipDir
		}
		if e.Type().IsRegular() {
			info, err := e.Info()
			if err != nil {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all[strings.TrimPrefix(path, d.home+"/")+" "+info.Mode().String()] = string(text)
		}
		return nil
	})
	checktest.OK(d.t, err)
	return all
}

func (d *desk) plan(clients ...string) *plan {
	d.t.Helper()
	o := &initOptions{out: d.out, project: d.project, state: d.state, clients: clients, codexApprove: d.codexApprove}
	x, err := makePlan(d.places, o, findClients(d.places, d.project, noVariables))
	checktest.OK(d.t, err)
	return x
}

func noVariables(string) (string, bool) { return "", false }

// install carries a plan out as the command does, without starting servers.
func (d *desk) install(clients ...string) *plan {
	d.t.Helper()
	x := d.plan(clients...)
	text, _, err := x.configuration(nil)
	checktest.OK(d.t, err)
	how, err := x.start(text, d.state)
	checktest.OK(d.t, err)
	for _, c := range x.clients {
		if c.err == nil {
			c.edit(x, how)
		}
	}
	checktest.OK(d.t, x.apply(d.book(), text))
	return x
}

func (d *desk) book() *book {
	d.t.Helper()
	b, err := openBook(d.state)
	checktest.OK(d.t, err)
	return b
}

// undo undoes and returns the files that are refused.
func (d *desk) undo(force bool, clients ...string) (refused []string) {
	d.t.Helper()
	b := d.book()
	files, err := b.undo(clients, force)
	checktest.OK(d.t, err)
	for _, r := range files {
		if r.err != nil {
			refused = append(refused, d.short(r.file))
		}
	}
	checktest.OK(d.t, b.restore(files))
	return refused
}

// TestEveryClientAndScope moves the servers of every client, and brings them back.
func TestEveryClientAndScope(t *testing.T) {
	d := everyClient(t)
	before := d.files()
	x := d.install()
	for _, c := range x.clients {
		if c.err != nil {
			t.Errorf("%s: %v", c.client.id, c.err)
		}
	}
	if len(x.clients) != len(mcpClients) {
		t.Errorf("the files are those of %d clients, of %d", len(x.clients), len(mcpClients))
	}

	// What every place has now. Servers stay that codemode cannot serve, or lacks something for.
	got := map[string]string{}
	for _, f := range findClients(d.places, d.project, noVariables) {
		var names []string
		for _, e := range f.entries {
			names = append(names, e.name)
		}
		got[f.client.id+" "+d.short(f.path)] += strings.Join(names, " ")
	}
	want := map[string]string{
		"claude-code ~/.claude.json":                                 "codemode socket",
		"claude-desktop ~/.config/Claude/claude_desktop_config.json": "codemode",
		"cursor ~/.cursor/mcp.json":                                  "codemode",
		"vscode ~/.config/Code/User/mcp.json":                        "codemode perplexity",
		"gemini ~/.gemini/settings.json":                             "codemode",
		"codex ~/.codex/config.toml":                                 "codemode old",
		"opencode ~/.config/opencode/opencode.json":                  "codemode off",
		"opencode ~/work/opencode.jsonc":                             "sentry",
		"qwen ~/.qwen/settings.json":                                 "codemode",
		"kilo ~/.config/kilo/kilo.jsonc":                             "codemode",
		"droid ~/.factory/mcp.json":                                  "codemode",
		"auggie ~/.augment/settings.json":                            "codemode",
		"windsurf ~/.codeium/windsurf/mcp_config.json":               "codemode",
		"zed ~/.config/zed/settings.json":                            "codemode",
		"cline-cli ~/.cline/data/settings/cline_mcp_settings.json":   "codemode",
		"continue ~/.continue/config.yaml":                           "Supabase codemode",
		"junie ~/.junie/mcp/mcp.json":                                "codemode",
		"lmstudio ~/.lmstudio/mcp.json":                              "codemode",
		"goose ~/.config/goose/config.yaml":                          "billing codemode",
		"amp ~/.config/amp/settings.json":                            "codemode",
		"crush ~/.config/crush/crush.json":                           "codemode stream",
		"copilot ~/.copilot/mcp-config.json":                         "codemode",

		"cline ~/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json": "codemode",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the servers of the clients (-want +got):\n%s", diff)
	}

	// All others are behind it.
	cfg, err := config.Parse(d.out, []byte(d.read(".config/codemode/codemode.json")))
	checktest.OK(t, err)
	moved := map[string]bool{}
	for _, s := range cfg.Servers {
		moved[s.Name] = true
	}
	for _, name := range []string{"github", "here", "project-db", "linear", "docs_vscode", "bigquery", "figma",
		"jira", "sheets", "notes", "sprint", "wiki", "vercel", "dagger", "brave", "remote", "SQLite_MCP", "ide-project", "hf", "tickets", "amp-project",
		"gh",
		"gh-project", "codex-project", "gemini-project", "crush-project"} {
		if !moved[name] {
			t.Errorf("%s is lost", name)
		}
	}
	for _, name := range []string{"socket", "perplexity", "Supabase", "billing", "stream", "hidden", "prisma", "old", "off", "sentry"} {
		if moved[name] {
			t.Errorf("%s is at both places", name)
		}
	}
	private(t, d)
	if diff := cmp.Diff(waitingKeys, codemodeKeys(t, d)); diff != "" {
		t.Errorf("the keys of codemode (-want +got):\n%s", diff)
	}

	// A second installation has nothing to do.
	if again := d.plan(); !again.empty() {
		t.Errorf("once more changes %v", again.clients)
	}
	if refused := d.undo(false); refused != nil {
		t.Errorf("refused: %q", refused)
	}
	if diff := cmp.Diff(before, d.files()); diff != "" {
		t.Errorf("undone (-want +got):\n%s", diff)
	}
	if left, err := os.ReadDir(d.state); err != nil || len(left) > 0 {
		t.Errorf("the copies are left: %v, %v", left, err)
	}
}

// waitingKeys are the keys of codemode's entries beside how it is started. Claude Desktop, Cursor, VS Code, Windsurf,
// Junie, LM Studio, Amp, Crush and Auggie have no key for how long a call may take.
var waitingKeys = map[string]string{
	"claude-code": `timeout=8.64e+07`, "gemini": `timeout=600000`, "qwen": `timeout=600000`,
	"codex": `tool_timeout_sec=600`, "opencode": `codemode=false timeout=600000`, "kilo": `timeout=600000`,
	"zed": `timeout=600`, "cline": `timeout=600`, "cline-cli": `timeout=600`, "continue": `connectionTimeout=600000`,
	"goose": `timeout=600`, "copilot": `timeout=600000`, "droid": `timeout=600000`,
	"claude-desktop": "", "cursor": "", "vscode": "", "windsurf": "", "junie": "", "lmstudio": "", "amp": "",
	"crush": "", "auggie": "",
}

// codemodeKeys reads, from the file of each client, the keys of codemode's entry that start nothing.
func codemodeKeys(t *testing.T, d *desk) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, f := range findClients(d.places, "", noVariables) {
		raw, err := clientfile.Servers(f.client.format, f.text, f.keys)
		checktest.OK(t, err)
		for _, s := range raw {
			if s.Name != ourName {
				continue
			}
			var keys []string
			value := plain(s.Value)
			for _, key := range slices.Sorted(maps.Keys(value)) {
				if strings.Contains(strings.ToLower(key), "timeout") || key == "codemode" || strings.Contains(key, "approval") {
					keys = append(keys, fmt.Sprintf("%s=%v", key, value[key]))
				}
			}
			all[f.client.id] = strings.Join(keys, " ")
		}
	}
	return all
}

// Who agrees that Codex leaves questions to codemode gets the key for codemode alone, and undo takes it out.
func TestCodexLeavesQuestionsToCodemode(t *testing.T) {
	d := newDesk(t)
	d.put(".codex/config.toml", "[mcp_servers.ws]\nurl = \"wss://x.example\"\n\n[mcp_servers.a]\ncommand = \"x\"\n")
	before := d.files()
	d.codexApprove = true
	d.install("codex")
	text := d.read(".codex/config.toml")
	if _, own, _ := strings.Cut(text, "[mcp_servers.codemode]"); strings.Count(text, "approval") != 1 ||
		!strings.Contains(own, "\ndefault_tools_approval_mode = \"approve\"\n") {
		t.Errorf("got\n%s", text)
	}
	if refused := d.undo(false); refused != nil {
		t.Errorf("refused %q", refused)
	}
	if diff := cmp.Diff(before, d.files()); diff != "" {
		t.Errorf("undone (-want +got):\n%s", diff)
	}
}

// Below mcp.servers OpenCode 2 has its entries, with other keys.
func TestOpenCode2(t *testing.T) {
	d := newDesk(t)
	d.put(".config/opencode/opencode.json", `{"mcp": {"servers": {"a": {"type": "local", "command": ["x"]}}}}`)
	before := d.files()
	d.install("opencode")
	want := `"timeout": { "catalog": 600000, "execution": 600000 }, "codemode": false}`
	if got := d.read(".config/opencode/opencode.json"); !strings.Contains(got, want) || strings.Contains(got, "enabled") {
		t.Errorf("got\n%s\nwant %s", got, want)
	}
	if refused := d.undo(false); refused != nil {
		t.Errorf("refused %q", refused)
	}
	if diff := cmp.Diff(before, d.files()); diff != "" {
		t.Errorf("undone (-want +got):\n%s", diff)
	}
}

// private checks that nobody else reads what may have secrets in it.
func private(t *testing.T, d *desk) {
	t.Helper()
	for path, want := range map[string]fs.FileMode{d.out: 0o600, filepath.Join(d.state, "init"): 0o700,
		filepath.Join(d.state, "init", "book.json"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", path, info, err, want)
		}
	}
	for _, c := range d.book().Changes {
		if c.Copy == "" {
			continue
		}
		if info, err := os.Stat(filepath.Join(d.state, "init", c.Copy)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the copy of %s: %v, %v", c.File, info, err)
		}
	}
}

// What a client gets, in its own format and beside what it has, as it is written.
func TestHowCodemodeComesIn(t *testing.T) {
	d := everyClient(t)
	d.install()
	exe := serveCommand(d.out)[0]
	for name, want := range map[string]string{
		".claude.json": `  "mcpServers": {
    "codemode": {
      "type": "stdio",
      "command": "EXE",
      "args": ["serve", "--config", "OUT", "--state", "STATE"],
      "timeout": 86400000
    },
    "socket": {`,
		".codex/config.toml": `model = "gpt-5"

[mcp_servers.codemode]
command = "EXE"
args = ["serve", "--config", "OUT", "--state", "STATE"]
tool_timeout_sec = 600
env_vars = ["CONTEXT_KEY", `,
		".continue/config.yaml": `  # the one that I use
  - name: codemode
    type: "stdio"
    command: "EXE"
    args: ["serve", "--config", "OUT", "--state", "STATE"]
    connectionTimeout: 600000
  - name: Supabase`,
		".config/goose/config.yaml": `  # of the team
  codemode:
    type: "stdio"
    name: "codemode"
    enabled: true
    cmd: "EXE"`,
		".config/zed/settings.json": `    "prisma": { "source": "extension", "settings": { "url": "x" } },
    "codemode": {
      "source": "custom",
      "command": "EXE",`,
		".lmstudio/mcp.json":                           "{\r\n\t\"mcpServers\": {\r\n\t\t\"codemode\": {\r\n\t\t\t",
		".cline/data/settings/cline_mcp_settings.json": `{"mcpServers":{"codemode": {"command": "EXE", "args": [`,
		"work/.mcp.json":                               `{ "mcpServers": {`,
	} {
		want = strings.NewReplacer("EXE", exe, "OUT", d.out, "STATE", d.state).Replace(want)
		if got := d.read(name); !strings.Contains(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// What undo does with files that were changed after the installation.
func TestUndoOfChangedFiles(t *testing.T) {
	const cursor = `{
  "mcpServers": {
    "a": { "command": "x" } // mine
  }
}
`
	const claude = `{
  "mcpServers": {
    "b": { "command": "y" }
  }
}
`
	start := func(t *testing.T) *desk {
		d := newDesk(t)
		d.put(".cursor/mcp.json", cursor)
		d.put(".claude.json", claude)
		d.install()
		return d
	}
	change := func(d *desk, name, old, new string) {
		text := d.read(name)
		if !strings.Contains(text, old) {
			d.t.Fatalf("%s has no %s:\n%s", name, old, text)
		}
		d.put(name, strings.Replace(text, old, new, 1))
	}
	installed := []string{"~/.cursor/mcp.json"}

	t.Run("leaves what cannot be read, and restores the others", func(t *testing.T) {
		d := start(t)
		d.put(".cursor/mcp.json", `{"mcpServers": [`)
		kept := append(slices.Clone(installed), "~/.config/codemode/codemode.json") // Cursor may start codemode with it
		if refused := d.undo(false); !slices.Equal(refused, kept) {
			t.Errorf("refused %q, want %q", refused, kept)
		}
		if d.read(".cursor/mcp.json") != `{"mcpServers": [` || d.read(".claude.json") != claude {
			t.Errorf("cursor:\n%s\nclaude:\n%s", d.read(".cursor/mcp.json"), d.read(".claude.json"))
		}
		if refused := d.undo(true); refused != nil || d.read(".cursor/mcp.json") != cursor {
			t.Errorf("with force: refused %q\n%s", refused, d.read(".cursor/mcp.json"))
		}
	})
	t.Run("keeps the change", func(t *testing.T) {
		d := start(t)
		change(d, ".cursor/mcp.json", "// mine", "// yours")
		if refused := d.undo(false); refused != nil {
			t.Errorf("refused %q", refused)
		}
		if got, want := d.read(".cursor/mcp.json"), strings.Replace(cursor, "mine", "yours", 1); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
	t.Run("with force, and beyond repair, becomes what it was", func(t *testing.T) {
		d := start(t)
		d.put(".cursor/mcp.json", `{"mcpServers": [`)
		if refused := d.undo(true); refused != nil || d.read(".cursor/mcp.json") != cursor {
			t.Errorf("refused %q\n%s", refused, d.read(".cursor/mcp.json"))
		}
		kept, err := filepath.Glob(filepath.Join(d.state, "init", "changed-*-mcp.json"))
		if err != nil || len(kept) != 1 {
			t.Fatalf("the changed file is lost: %q, %v", kept, err)
		}
	})
	t.Run("by Claude Code itself keeps its state", func(t *testing.T) {
		d := start(t)
		change(d, ".claude.json", "{\n", "{\n  \"numStartups\": 7,\n")
		change(d, ".claude.json", "  \"mcpServers\": {\n", "  \"mcpServers\": {\n    \"new\": { \"command\": \"z\" },\n")
		if refused := d.undo(false); refused != nil {
			t.Errorf("refused %q", refused)
		}
		want := "{\n  \"numStartups\": 7,\n  \"mcpServers\": {\n    \"new\": { \"command\": \"z\" },\n" +
			"    \"b\": { \"command\": \"y\" }\n  }\n}\n"
		if got := d.read(".claude.json"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
	t.Run("a configuration with rules of the person stays", func(t *testing.T) {
		d := start(t)
		change(d, ".config/codemode/codemode.json", `"time__*",`, `"time__*", "a__get",`)
		if refused := d.undo(false); refused != nil {
			t.Errorf("refused %q", refused)
		}
		if !strings.Contains(d.read(".config/codemode/codemode.json"), "a__get") {
			t.Error("the rules are lost")
		}
	})
	t.Run("a copy that somebody changed brings nothing back", func(t *testing.T) {
		d := start(t)
		for _, c := range d.book().Changes {
			if c.Copy != "" {
				checktest.Write(t, filepath.Join(d.state, "init", c.Copy), "{}")
			}
		}
		if _, err := d.book().undo(nil, true); err == nil || !strings.Contains(err.Error(), "missing or was changed") {
			t.Errorf("got %v", err)
		}
	})
}

// A crash after the copy, and before the file: undo finds the file as it was.
func TestUndoAfterACrash(t *testing.T) {
	d := newDesk(t)
	d.put(".cursor/mcp.json", `{"mcpServers": {"a": {"command": "x"}}}`)
	before := d.files()
	d.install()
	for path := range before {
		name, _, _ := strings.Cut(path, " ")
		d.put(name, before[path])
	}
	if refused := d.undo(false); refused != nil {
		t.Errorf("refused %q", refused)
	}
	if diff := cmp.Diff(before, d.files()); diff != "" {
		t.Errorf("undone (-want +got):\n%s", diff)
	}
}

// Symbolic links stay, and so do the permissions of files; two installations are undone one after the other.
func TestLinksModesAndTwoInstallations(t *testing.T) {
	d := newDesk(t)
	d.put("dotfiles/cursor.json", `{"mcpServers": {"a": {"command": "x"}}}`)
	checktest.OK(t, os.MkdirAll(filepath.Join(d.home, ".cursor"), 0o700))
	link := filepath.Join(d.home, ".cursor", "mcp.json")
	if err := os.Symlink("../dotfiles/cursor.json", link); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	checktest.OK(t, os.Chmod(filepath.Join(d.home, "dotfiles/cursor.json"), 0o604))
	before := d.files()
	d.install()
	if to, err := os.Readlink(link); err != nil || to != "../dotfiles/cursor.json" {
		t.Errorf("the link is gone: %q, %v", to, err)
	}
	if info, err := os.Stat(link); err != nil || info.Mode().Perm() != 0o604 {
		t.Errorf("the mode is %v, %v", info, err)
	}
	d.put(".codeium/windsurf/mcp_config.json", `{"mcpServers": {"w": {"command": "w"}, "a": {"command": "x"}}}`)
	for path, text := range d.files() {
		if strings.Contains(path, "windsurf") {
			before[path] = text
		}
	}
	x := d.install()
	if len(x.chosen) != 1 || x.chosen[0].name != "w" {
		t.Errorf("the second one adds %v, want w alone", x.chosen)
	}
	text := d.read(".config/codemode/codemode.json")
	for _, want := range []string{`"w": { "command": "w" }`, `{ "tool": "w__*", "unlessAllowed": true }`, `"a__*"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the configuration has no %s:\n%s", want, text)
		}
	}
	if refused := d.undo(false); refused != nil {
		t.Errorf("refused %q", refused)
	}
	if diff := cmp.Diff(before, d.files()); diff != "" {
		t.Errorf("undone (-want +got):\n%s", diff)
	}
}

// A file that cannot be edited stays, and so do all servers of its client; nothing of them is in the configuration.
func TestWhatCannotBeEditedStays(t *testing.T) {
	d := newDesk(t)
	d.put(".codex/config.toml", "mcp_servers = { a = { command = \"x\" } }\n")
	d.put(".gemini/settings.json", `{"mcpServers": `)
	d.put(".cursor/mcp.json", `{"mcpServers": {"c": {"command": "z"}}}`)
	before := d.files()
	x := d.install()
	for _, c := range x.clients {
		if (c.err != nil) != slices.Contains([]string{"codex", "gemini"}, c.client.id) {
			t.Errorf("%s: %v", c.client.id, c.err)
		}
	}
	after := d.files()
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if !strings.Contains(name, "cursor") && before[name] != after[name] {
			t.Errorf("%s has changed", name)
		}
	}
	if cfg := d.read(".config/codemode/codemode.json"); strings.Contains(cfg, `"a":`) || !strings.Contains(cfg, `"c":`) {
		t.Errorf("the configuration:\n%s", cfg)
	}
}

// A file that changes between the plan and the writing is not overwritten.
func TestAPlanIsForTheFilesThatItSaw(t *testing.T) {
	d := newDesk(t)
	d.put(".cursor/mcp.json", `{"mcpServers": {"a": {"command": "x"}}}`)
	x := d.plan()
	d.put(".cursor/mcp.json", `{"mcpServers": {"b": {"command": "y"}}}`)
	text, _, err := x.configuration(nil)
	checktest.OK(t, err)
	if err := x.apply(d.book(), text); err == nil || !strings.Contains(err.Error(), "run the command again") {
		t.Errorf("got %v", err)
	}
	if got := d.read(".cursor/mcp.json"); !strings.Contains(got, `"b"`) {
		t.Errorf("it was overwritten:\n%s", got)
	}
	d.undo(false)
}

// Where the files are on each system.
func TestFilesOfEachSystem(t *testing.T) {
	for _, row := range []struct{ system, home, config, id, want string }{
		{"linux", "/h", "/h/.config", "zed", "/h/.config/zed/settings.json"},
		{"darwin", "/h", "/h/Library/Application Support", "zed", "/h/.config/zed/settings.json"},
		{"windows", "/h", "/h/AppData/Roaming", "zed", "/h/AppData/Roaming/Zed/settings.json"},
		{"darwin", "/h", "/h/Library/Application Support", "vscode",
			"/h/Library/Application Support/Code/User/mcp.json"},
		{"darwin", "/h", "/h/Library/Application Support", "claude-desktop",
			"/h/Library/Application Support/Claude/claude_desktop_config.json"},
		{"windows", "/h", "/h/AppData/Roaming", "goose", "/h/AppData/Roaming/Block/goose/config/config.yaml"},
		{"linux", "/h", "/h/.config", "goose", "/h/.config/goose/config.yaml"},
		{"linux", "/h", "/h/.config", "claude-code", "/h/.claude.json"},
		{"linux", "/h", "/h/.config", "codex", "/h/.codex/config.toml"},
		{"linux", "/h", "/h/.config", "copilot", "/h/.copilot/mcp-config.json"},
	} {
		p := places{system: row.system, home: row.home, config: row.config, env: func(string) string { return "" }}
		if got := clientByID(row.id).places[0].path(p, ""); filepath.ToSlash(got) != row.want {
			t.Errorf("%s on %s: got %s, want %s", row.id, row.system, got, row.want)
		}
	}
	env := map[string]string{"CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x", "COPILOT_HOME": "/p", "XDG_CONFIG_HOME": "/g"}
	p := places{system: "linux", home: "/h", config: "/g", env: func(name string) string { return env[name] }}
	for id, want := range map[string]string{"claude-code": "/c/.claude.json", "codex": "/x/config.toml",
		"copilot": "/p/mcp-config.json", "opencode": "/g/opencode/opencode.json"} {
		if got := clientByID(id).places[0].path(p, ""); filepath.ToSlash(got) != want {
			t.Errorf("%s: got %s, want %s", id, got, want)
		}
	}
}

// FuzzInstallAndUndo puts any text into the file of a client of each format: an installation that is undone leaves
// every byte as it was, and while it is there, everything else in the file means what it meant.
func FuzzInstallAndUndo(f *testing.F) {
	names := map[string]string{"cursor": ".cursor/mcp.json", "claude-code": ".claude.json", "codex": ".codex/config.toml",
		"goose": ".config/goose/config.yaml", "continue": ".continue/config.yaml"}
	for _, id := range slices.Sorted(maps.Keys(names)) {
		text, err := os.ReadFile(filepath.Join("../../../testdata/clients", names[id]))
		checktest.OK(f, err)
		f.Add(id, text)
	}
	f.Fuzz(func(t *testing.T, id string, text []byte) {
		name, ok := names[id]
		if !ok {
			return
		}
		d := newDesk(t)
		d.put(name, string(text))
		before := d.files()
		x := d.install(id)
		if c := x.clients[0]; c.err == nil {
			servers, err := clientfile.Servers(c.client.format, []byte(d.read(name)), c.client.places[0].keys)
			if err != nil {
				t.Fatalf("the client's file cannot be read any more: %v\n%s", err, d.read(name))
			}
			if !slices.ContainsFunc(servers, func(s clientfile.Server) bool {
				return isServer(s.Value) && (s.Name == ourName || bytes.Contains(text, []byte("serve")))
			}) {
				t.Errorf("codemode is missing:\n%s", d.read(name))
			}
		}
		if refused := d.undo(false); refused != nil {
			t.Errorf("refused %q", refused)
		}
		if diff := cmp.Diff(before, d.files()); diff != "" {
			t.Errorf("undone (-want +got):\n%s", diff)
		}
	})
}
