package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
)

// A testHome is a person's home with clients in it. In files, HOME is the home, RUN the folder of the servers, each of
// which notes that it was started, with its arguments and the variable K; URL is a server over HTTP that wants a login.
type testHome struct {
	name  string
	files map[string]string
	env   map[string]string
	args  []string
	moves []string          // the servers that go behind codemode: started once, and no others
	gets  map[string]string // what they get, as "K=value arguments"
	stays map[string]string // the servers that stay, with words of the reason
	exit  int
}

func spy(name string, more ...string) string {
	return fmt.Sprintf(`"%s": {"command": "RUN/%[1]s"%s}`, name, strings.Join(append([]string{""}, more...), ", "))
}

const (
	gemini = ".gemini/settings.json"
	claude = ".claude.json"
	cursor = ".cursor/mcp.json"
)

func homes() []testHome {
	mcpServers := func(servers ...string) string { return `{"mcpServers": {` + strings.Join(servers, ", ") + `}}` }
	project := []string{"--project", "HOME/work"}
	all := []testHome{
		{name: "Gemini: excluded", files: map[string]string{gemini: `{"mcpServers": {` + spy("x") + `, ` + spy("on") +
			`}, "mcp": {"excluded": ["X "]}}`},
			moves: []string{"on"}, stays: map[string]string{"x": "off: x (mcp.excluded in ~/.gemini/settings.json)"}},
		{name: "Gemini: allowed", files: map[string]string{gemini: `{"mcpServers": {` + spy("x") + `, ` + spy("on") +
			`}, "mcp": {"allowed": ["on"]}}`},
			moves: []string{"on"}, stays: map[string]string{"x": "off: x (not among mcp.allowed in ~/.gemini/settings.json)"}},
		{name: "Gemini: its enablement file", files: map[string]string{gemini: mcpServers(spy("GE"), spy("on")),
			".gemini/mcp-server-enablement.json": `{"ge": {"enabled": false}, "on": {"enabled": true}}`},
			moves: []string{"on"}, stays: map[string]string{"GE": "mcp-server-enablement.json"}},
		{name: "Gemini: the system", env: map[string]string{"GEMINI_CLI_SYSTEM_SETTINGS_PATH": "HOME/etc/s.json"},
			files: map[string]string{gemini: mcpServers(spy("x"), spy("on")), "etc/s.json": `{"mcp": {"excluded": ["x"]}}`},
			moves: []string{"on"}, stays: map[string]string{"x": "off: x (mcp.excluded in ~/etc/s.json)"}},
		{name: "Gemini: an administrator", env: map[string]string{"GEMINI_CLI_SYSTEM_DEFAULTS_PATH": "HOME/etc/s.json"},
			files: map[string]string{gemini: mcpServers(spy("x")), "etc/s.json": `{"admin": {"mcp": {"enabled": false}}}`},
			stays: map[string]string{"x": "admin.mcp.enabled"}},
		{name: "Gemini: a project", args: project, files: map[string]string{gemini: mcpServers(spy("x"), spy("on")),
			"work/.gemini/settings.json":  `{"mcp": {"excluded": ["x"]}, "mcpServers": {` + spy("p") + `}}`,
			".gemini/trustedFolders.json": `{"HOME/work": "TRUST_FOLDER"}`},
			moves: []string{"on", "p"}, stays: map[string]string{"x": "mcp.excluded in ~/work/.gemini/settings.json"}},
		{name: "Gemini: a project that nobody trusts", args: project, files: map[string]string{gemini: mcpServers(spy("on")),
			"work/.gemini/settings.json": mcpServers(spy("p"))},
			moves: []string{"on"}, stays: map[string]string{"p": "nobody has trusted ~/work yet"}},
		{name: "Gemini: settings that cannot be read", files: map[string]string{gemini: mcpServers(spy("x")),
			".gemini/mcp-server-enablement.json": `{"x": `},
			stays: map[string]string{"x": "~/.gemini/mcp-server-enablement.json cannot be read"}},
		{name: "Qwen: excluded and allowed", files: map[string]string{".qwen/settings.json": `{"mcpServers": {` + spy("x") + `,` +
			spy("y") + `, ` + spy("on") + `}, "mcp": {"excluded": ["x"], "allowed": ["on", "x"]}}`}, moves: []string{"on"},
			stays: map[string]string{"x": "mcp.excluded", "y": "not among mcp.allowed"}},

		{name: "Claude Code: project servers", args: project, files: map[string]string{
			claude: `{"mcpServers": {}, "projects": {"HOME/work": {"mcpServers": {` + spy("local") + `},
				"disabledMcpjsonServers": ["rejected"], "enabledMcpjsonServers": ["accepted"], "hasTrustDialogAccepted": true}}}`,
			"work/.mcp.json": mcpServers(spy("rejected"), spy("accepted"), spy("undecided"))},
			moves: []string{"local", "accepted"}, stays: map[string]string{"rejected": "disabledMcpjsonServers in ~/.claude.json",
				"undecided": "nobody has said yes"}},
		{name: "Claude Code: a project says yes for itself", args: project, files: map[string]string{claude: `{}`,
			"work/.claude/settings.json": `{"enableAllProjectMcpServers": true}`, "work/.mcp.json": mcpServers(spy("p"))},
			stays: map[string]string{"p": "nobody has said yes"}},
		{name: "Claude Code: and its folder is trusted", args: project, files: map[string]string{
			claude:                             `{"projects": {"HOME": {"hasTrustDialogAccepted": true}}}`,
			"work/.claude/settings.json":       `{"enableAllProjectMcpServers": true}`,
			"work/.claude/settings.local.json": `{"disabledMcpjsonServers": ["x"]}`,
			"work/.mcp.json":                   mcpServers(spy("p"), spy("x"))},
			moves: []string{"p"}, stays: map[string]string{"x": "disabledMcpjsonServers in ~/work/.claude/settings.local.json"}},
		{name: "Claude Code: the user's settings", args: project, files: map[string]string{claude: mcpServers(spy("u"), spy("d")),
			".claude/settings.json": `{"enabledMcpjsonServers": ["p"], "disabledMcpjsonServers": ["q"],
				"permissions": {"deny": ["mcp__d", "mcp__u__drop"]}}`,
			"work/.mcp.json": mcpServers(spy("p"), spy("q"), spy("r"))}, moves: []string{"u", "p"},
			stays: map[string]string{"q": "disabledMcpjsonServers in ~/.claude/settings.json", "r": "nobody has said yes",
				"d": "permissions.deny in ~/.claude/settings.json"}},
		{name: "Claude Code: off in one project", files: map[string]string{claude: `{"mcpServers": {` + spy("x") + `, ` + spy("on") +
			`}, "projects": {"HOME/other": {"disabledMcpServers": ["x"]}}}`}, moves: []string{"on"},
			stays: map[string]string{"x": "off: x (disabledMcpServers of ~/other in ~/.claude.json)"}},
		{name: "Claude Code: lists of an administrator", files: map[string]string{claude: mcpServers(spy("x"), spy("y"), spy("on")),
			".claude/settings.json": `{"deniedMcpServers": [{"serverCommand": ["RUN/x"]}],
				"allowedMcpServers": [{"serverName": "on"}, {"serverName": "x"}]}`}, moves: []string{"on"},
			stays: map[string]string{"x": "deniedMcpServers", "y": "not among allowedMcpServers"}},

		{name: "off here and on there", files: map[string]string{gemini: `{"mcpServers": {` + spy("x") + `},
			"mcp": {"excluded": ["x"]}}`, cursor: mcpServers(spy("x"), spy("on"))}, moves: []string{"on"},
			stays: map[string]string{"x": "x stays in Cursor, and no rule applies to it: it is off in Gemini CLI (mcp.excluded"}},
		{name: "Codex: enabled, tables of tools and of variables", env: map[string]string{"K": "v"}, files: map[string]string{
			".codex/config.toml": "[mcp_servers.docs]\ncommand = \"RUN/docs\"\nargs = [\"-y\"]\nenv_vars = [{ name = \"K\", source = " +
				"\"local\" }]\n[mcp_servers.docs.tools.search]   # Codex writes this after \"Always allow\"\napproval_mode = " +
				"\"approve\"\n\n[mcp_servers.off]\ncommand = \"RUN/off\"\nenabled = false\n"},
			moves: []string{"docs"}, gets: map[string]string{"docs": "K=v -y"}, stays: map[string]string{"off": `"enabled" in`}},
		{name: "Codex: a project", args: project, files: map[string]string{".codex/config.toml": "model = \"x\"\n",
			"work/.codex/config.toml": "[mcp_servers.p]\ncommand = \"RUN/p\"\n"},
			stays: map[string]string{"p": "nobody has trusted ~/work yet, in ~/.codex/config.toml"}},
		{name: "OpenCode: enabled, tools, and a project that switches off", args: project, files: map[string]string{
			".config/opencode/opencode.json": `{"mcp": {"a": {"type": "local", "command": ["RUN/a", "{env:K}", "${K}"]},
				"b": {"type": "local", "command": ["RUN/b"], "enabled": false}, "c": {"type": "local", "command": ["RUN/c"]},
				"d": {"type": "local", "command": ["RUN/d"]}}, "tools": {"c_*": false}}`,
			"work/opencode.json": `{"mcp": {"d": {"enabled": false}}}`}, env: map[string]string{"K": "v"},
			moves: []string{"a"}, gets: map[string]string{"a": "K= v ${K}"},
			stays: map[string]string{"b": `"enabled" in`, "c": `tools["c_*"]`, "d": "~/work/opencode.json"}},
		{name: "Kilo Code", files: map[string]string{".config/kilo/kilo.jsonc": `{"mcp": {"a": {"type": "local", "command": ["RUN/a"]},
			"b": {"type": "local", "command": ["RUN/b"], "enabled": false}, }, "permission": {"b_*": "deny"}}`},
			moves: []string{"a"}, stays: map[string]string{"b": "off: b"}},
		{name: "VS Code: inputs, variables, and all off in a project without a home", args: project, files: map[string]string{
			cursor: mcpServers(spy("c")), "work/.vscode/mcp.json": `{"servers": {` + spy("v") + `}}`},
			moves: []string{"c"}, stays: map[string]string{"v": "VS Code stays as it is: it is not installed here"}},
		{name: "VS Code: chat.mcp.access", files: map[string]string{".config/Code/User/mcp.json": `{"servers": {` + spy("v") + `}}`,
			".config/Code/User/settings.json": `{"chat.mcp.access": "none"}`}, stays: map[string]string{"v": "chat.mcp.access"}},
		{name: "VS Code: variables", env: map[string]string{"K": "v", "TOKEN": ""}, files: map[string]string{
			".config/Code/User/mcp.json": `{"servers": {` + spy("a", `"args": ["${userHome}${/}x", "${env:K}", "$K"]`,
				`"env": {"K": "${K}"}`) + `, ` + spy("i", `"env": {"K": "${input:the-key}"}`) + `, ` +
				spy("w", `"args": ["${workspaceFolder}"]`) + `, ` + spy("c", `"args": ["${config:a.b}"]`) + `}}`},
			moves: []string{"a"}, gets: map[string]string{"a": "K=${K} HOME/x v $K"},
			stays: map[string]string{"i": "VS Code keeps THE_KEY", "w": "only VS Code knows ${workspaceFolder}",
				"c": "only VS Code knows ${config:a.b}"}},
		{name: "Cursor: a project's folder, and text", args: project, env: map[string]string{"K": "v"}, files: map[string]string{
			cursor: mcpServers(spy("t", `"args": ["pa${K}", "{env:K}"]`, `"env": {"K": "$K"}`)),
			"work/.cursor/mcp.json": mcpServers(spy("w", `"args": ["${workspaceFolder}", "${workspaceFolderBasename}",
				"${env:K}"]`))}, moves: []string{"t", "w"},
			gets: map[string]string{"t": "K=$K pa${K} {env:K}", "w": "K= HOME/work work v"}},
		{name: "Claude Code: variables", env: map[string]string{"K": "v"}, files: map[string]string{claude: mcpServers(
			spy("a", `"args": ["${K}", "${NO:-d}", "$K"]`, `"env": {"K": "$K"}`), spy("n", `"args": ["${NOT_SET}"]`),
			spy("p", `"args": ["${CLAUDE_PLUGIN_ROOT}/x"]`))}, moves: []string{"a"},
			gets:  map[string]string{"a": "K=$K v d $K"},
			stays: map[string]string{"n": "NOT_SET", "p": "only Claude Code knows ${CLAUDE_PLUGIN_ROOT}"}},
		{name: "Gemini: variables", env: map[string]string{"K": "v"}, files: map[string]string{gemini: mcpServers(
			spy("a", `"args": ["$K", "${K}", "{env:K}"]`, `"env": {"K": "x$K"}`), spy("n", `"env": {"A": "$NOT_SET"}`))},
			moves: []string{"a"}, gets: map[string]string{"a": "K=xv v v {env:K}"}, stays: map[string]string{"n": "NOT_SET"}},
		{name: "Claude Desktop replaces nothing", env: map[string]string{"K": "v"}, files: map[string]string{
			".config/Claude/claude_desktop_config.json": mcpServers(spy("a", `"args": ["${K}", "${env:K}", "${{ secrets.K }}"]`,
				`"env": {"K": "$K"}`))}, moves: []string{"a"}, gets: map[string]string{"a": "K=$K ${K} ${env:K} ${{ secrets.K }}"}},
		{name: "servers that do not run, and one with a login", files: map[string]string{cursor: mcpServers(spy("on"),
			`"gone": {"command": "HOME/not-there"}`, `"dies": {"command": "false"}`, `"in": {"url": "URL/mcp"}`)},
			moves: []string{"on"}, stays: map[string]string{"gone": "gone stays in Cursor, and no rule applies to it: it did not start",
				"dies": "dies stays in Cursor, and no rule applies to it: it did not start", "in": "it wants a login"}},
		{name: "codemode itself, in other forms", files: map[string]string{cursor: mcpServers(spy("on"),
			`"gate": {"command": "npx", "args": ["-y", "codemode", "serve"]}`,
			`"shell": {"command": "bash", "args": ["-lc", "exec codemode serve"]}`,
			`"image": {"command": "docker", "args": ["run", "-i", "--rm", "ghcr.io/someone/codemode:1"]}`,
			`"remote": {"command": "npx", "args": ["mcp-remote", "http://codemode.local:8808/mcp"]}`)}, moves: []string{"on"},
			stays: map[string]string{"gate": "codemode itself", "shell": "codemode itself", "image": "codemode itself",
				"remote": "codemode itself"}},
		{name: "a byte order mark, comments, tabs, CRLF, a name twice", files: map[string]string{
			cursor: "\ufeff{\r\n\t// mine\r\n\t\"mcpServers\": {\r\n\t\t" + spy("on") + ",\r\n\t\t" + spy("two", `"args": ["1"]`) +
				",\r\n\t\t" + spy("two", `"args": ["2"]`) + ",\r\n\t},\r\n}\r\n",
			claude: "\ufeff{ \"mcpServers\": { " + spy("a") + " } }\n"}, moves: []string{"on", "two", "a"},
			gets: map[string]string{"two": "K= 2"}},
		{name: "files with nothing in them", files: map[string]string{cursor: "", gemini: " \n", ".codex/config.toml": "",
			".config/goose/config.yaml": ""}},
		{name: "a file that nobody may write", files: map[string]string{cursor: mcpServers(spy("x")), "RO " + claude: mcpServers(spy("c"))},
			moves: []string{"x"}, stays: map[string]string{"c": "Claude Code stays as it is: ~/.claude.json cannot be edited: nobody may write it"}},
		{name: "a link, and two clients with one file", files: map[string]string{"dot/mcp.json": mcpServers(spy("x")),
			"LINK " + cursor: "HOME/dot/mcp.json", "LINK .lmstudio/mcp.json": "HOME/dot/mcp.json"}, moves: []string{"x"}},
	}
	for file, entry := range map[string]string{
		".codeium/windsurf/mcp_config.json": `{"mcpServers": {%s}}`, ".cline/data/settings/cline_mcp_settings.json": `{"mcpServers": {%s}}`,
		".junie/mcp/mcp.json": `{"mcpServers": {%s}}`, ".lmstudio/mcp.json": `{"mcpServers": {%s}}`, ".factory/mcp.json": `{"mcpServers": {%s}}`,
		".augment/settings.json": `{"mcpServers": {%s}}`, ".copilot/mcp-config.json": `{"mcpServers": {%s}}`,
		".config/amp/settings.json": `{"amp.mcpServers": {%s}}`, ".config/crush/crush.json": `{"mcp": {%s}}`,
		".config/zed/settings.json": `{"context_servers": {%s}}`,
	} {
		all = append(all, testHome{name: file, files: map[string]string{file: fmt.Sprintf(entry, spy("on")+", "+
			spy("x", `"disabled": true`)+", "+spy("y", `"enabled": false`))}, moves: []string{"on"},
			stays: map[string]string{"x": `off: x ("disabled" in`, "y": `off: y ("enabled" in`}})
	}
	return append(all,
		testHome{name: "goose", files: map[string]string{".config/goose/config.yaml": "extensions:\n  on:\n    type: stdio\n    cmd: RUN/on\n" +
			"    enabled: true\n  x:\n    type: stdio\n    cmd: RUN/x\n    enabled: false\n  k:\n    type: stdio\n    cmd: RUN/k\n" +
			"    env_keys: [SECRET_OF_GOOSE]\n"}, moves: []string{"on"}, stays: map[string]string{"x": "off: x", "k": "Goose keeps SECRET_OF_GOOSE"}},
		testHome{name: "continue", files: map[string]string{".continue/config.yaml": "mcpServers:\n  - name: on\n    command: RUN/on\n" +
			"  - name: k\n    command: RUN/k\n    env:\n      A: ${{ secrets.SECRET_OF_CONTINUE }}\n"}, moves: []string{"on"},
			stays: map[string]string{"k": "Continue keeps SECRET_OF_CONTINUE"}})
}

// TestInstallIntoEveryHome moves what works, starts nothing that is off, and undoes it, byte for byte; and again per key
// where the client has written its file anew.
func TestInstallIntoEveryHome(t *testing.T) {
	endToEnd(t)
	for _, h := range homes() {
		t.Run(h.name, func(t *testing.T) { h.try(t) })
	}
}

func (h *testHome) try(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	checktest.OK(t, err)
	wants := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer wants.Close()
	fill := strings.NewReplacer("HOME", home, "RUN", home+"/run", "URL", wants.URL)
	for name, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": home + "/.config", "XDG_STATE_HOME": home + "/state",
		"XDG_CACHE_HOME": cachetest.Dir(), "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": ""} {
		t.Setenv(name, value)
	}
	for name, value := range h.env {
		t.Setenv(name, fill.Replace(value))
	}
	h.write(t, home, fill)
	before := homeFiles(t, home)

	args := append([]string{"init", "--install"}, h.args...)
	for i, arg := range args {
		args[i] = fill.Replace(arg)
	}
	var out, errs screen
	if code := runMain(t, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, args...); code != h.exit {
		t.Fatalf("exit code %d\n%s%s", code, out.String(), errs.String())
	}
	h.check(t, home, fill, out.String())
	h.undo(t, home, before)

	// Once more, and then the client writes its files anew, with a server more.
	out = screen{}
	if code := runMain(t, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, append(args, "--no-start")...); code != h.exit {
		t.Fatalf("exit code %d\n%s%s", code, out.String(), errs.String())
	}
	rewritten := rewriteJSON(t, home, before)
	if len(rewritten) == 0 {
		return
	}
	h.undo(t, home, nil)
	for path, was := range rewritten {
		text, err := os.ReadFile(filepath.Join(home, path))
		checktest.OK(t, err)
		got := anyJSON(t, string(text))
		delete(serversOf(got), "added")
		if m, ok := was["mcpServers"]; !ok && m == nil && len(serversOf(got)) == 0 {
			delete(got, "mcpServers") // there was none, and what the client added stood in it
		}
		if diff := cmp.Diff(was, got); diff != "" {
			t.Errorf("%s was written anew, and undone (-want +got):\n%s", path, diff)
		}
		if !strings.Contains(string(text), "added-by-the-client") {
			t.Errorf("%s has lost the server that came meanwhile:\n%s", path, text)
		}
	}
}

func (h *testHome) write(t *testing.T, home string, fill *strings.Replacer) {
	t.Helper()
	list := filepath.Join(home, "list.json")
	checktest.OK(t, os.Mkdir(home+"/work", 0o700))
	put := func(name, text string, mode fs.FileMode) {
		t.Helper()
		path := filepath.Join(home, name)
		checktest.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		checktest.OK(t, os.WriteFile(path, []byte(text), mode))
	}
	put("list.json", `[{"name": "read", "input": {"type": "object"}, "annotations": {"readOnlyHint": true}}]`, 0o600)
	for _, name := range append(slices.Collect(maps.Keys(h.stays)), h.moves...) {
		put("run/"+name, "#!/bin/sh\nmkdir -p "+home+"/started\necho \"K=$K\" \"$@\" > "+home+"/started/"+name+"\nexport "+asCommand+
			"=listed CODEMODE_TEST_LIST="+list+"\nexec "+os.Args[0]+"\n", 0o700)
	}
	for _, name := range slices.Sorted(maps.Keys(h.files)) {
		text := fill.Replace(h.files[name])
		kind, path, special := strings.Cut(name, " ")
		switch {
		case special && kind == "LINK":
			checktest.OK(t, os.MkdirAll(filepath.Dir(filepath.Join(home, path)), 0o700))
			checktest.OK(t, os.Symlink(text, filepath.Join(home, path)))
		case special:
			put(path, text, 0o444)
		default:
			put(name, text, 0o640)
		}
	}
}

// check compares what was started, what is behind codemode, and what was said.
func (h *testHome) check(t *testing.T, home string, fill *strings.Replacer, said string) {
	t.Helper()
	started := map[string]string{}
	entries, err := os.ReadDir(home + "/started")
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(home, "started", e.Name()))
		checktest.OK(t, err)
		started[e.Name()] = strings.TrimSuffix(string(text), "\n")
	}
	path := home + "/.config/codemode/codemode.json"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	cfg, err := config.Parse(path, text)
	checktest.OK(t, err)
	var behind []string
	for _, s := range cfg.Servers {
		behind = append(behind, s.Name)
	}
	slices.Sort(behind)
	if want := slices.Sorted(slices.Values(h.moves)); !slices.Equal(behind, want) ||
		!slices.Equal(slices.Sorted(maps.Keys(started)), want) {
		t.Errorf("behind codemode: %q; started: %q; want %q\n%s", behind, slices.Sorted(maps.Keys(started)), want, said)
	}
	for name, want := range h.gets {
		if started[name] != fill.Replace(want) {
			t.Errorf("%s gets %q, want %q", name, started[name], fill.Replace(want))
		}
	}
	now := ""
	for name, text := range homeFiles(t, home) {
		if !strings.Contains(name, "codemode") {
			now += text
		}
	}
	for name, why := range h.stays {
		if !strings.Contains(said, fill.Replace(why)) {
			t.Errorf("%s stays, and nothing says %q:\n%s", name, why, said)
		}
		if !strings.Contains(now, name) {
			t.Errorf("%s is lost", name)
		}
	}
}

func (h *testHome) undo(t *testing.T, home string, before map[string]string) {
	t.Helper()
	var out, errs screen
	if code := runMain(t, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, "init", "--undo"); code != cli.ExitOK {
		t.Fatalf("undo: exit code %d\n%s%s", code, out.String(), errs.String())
	}
	if before != nil {
		if diff := cmp.Diff(before, homeFiles(t, home)); diff != "" {
			t.Errorf("undone (-want +got):\n%s", diff)
		}
	}
}

// homeFiles are the files of the clients with their modes, and the links with their targets.
func homeFiles(t *testing.T, home string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, home+"/")
		switch {
		case err != nil:
			return err
		case name == "state" || name == "started" || name == "run":
			return fs.SkipDir
		case e.Type() == fs.ModeSymlink:
			to, err := os.Readlink(path)
			all[name] = "-> " + to
			return err
		case e.Type().IsRegular():
			info, err := e.Info()
			if err != nil {
				return err
			}
			text, err := os.ReadFile(path)
			all[name+" "+info.Mode().String()] = string(text)
			return err
		}
		return nil
	})
	checktest.OK(t, err)
	return all
}

func anyJSON(t *testing.T, text string) (v map[string]any) {
	t.Helper()
	standard, err := config.Standard("x.json", []byte(text))
	if err == nil {
		err = json.Unmarshal(standard, &v)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return v
}

// serversOf are those of a file, below whatever key they are.
func serversOf(v map[string]any) map[string]any {
	for _, key := range []string{"mcpServers", "servers", "mcp", "amp.mcpServers", "context_servers"} {
		if m, ok := v[key].(map[string]any); ok && (key != "mcp" || m["excluded"] == nil && m["allowed"] == nil) {
			return m
		}
	}
	return map[string]any{}
}

// rewriteJSON writes the files that codemode changed as a client does that orders its keys: without comments, and with a
// spy more. It returns what they were before, read.
func rewriteJSON(t *testing.T, home string, before map[string]string) map[string]map[string]any {
	t.Helper()
	rewritten := map[string]map[string]any{}
	for name, text := range homeFiles(t, home) {
		path, _, _ := strings.Cut(name, " ")
		was, had := before[name]
		if !had || was == text || !strings.Contains(path, ".json") || strings.TrimSpace(was) == "" || strings.Contains(path, "/opencode") {
			continue
		}
		v := anyJSON(t, text)
		if len(serversOf(v)) == 0 {
			continue
		}
		serversOf(v)["added"] = map[string]any{"command": "added-by-the-client"}
		again, err := json.MarshalIndent(v, "", "        ")
		checktest.OK(t, err)
		checktest.OK(t, os.WriteFile(filepath.Join(home, path), again, 0o600))
		rewritten[path] = anyJSON(t, was)
	}
	return rewritten
}
