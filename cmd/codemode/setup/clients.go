package setup

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/codemode-project/codemode/cmd/codemode/checks"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/config/servers"
	"github.com/codemode-project/codemode/config/variables"
	"github.com/codemode-project/codemode/internal/address"
)

// An mcpClient is a program that keeps MCP servers in its own file.
type mcpClient struct {
	id, name string
	// files are the user's own, project those in a project's folder.
	files   func(places) []string
	project []string
	// keys lead to the servers, by name; * is the project's folder.
	keys  [][]string
	adapt func(*clientEntry) // translates what only this client understands
	paste func(command []string) (where, text string)
}

// places are the folders in which programs keep their configuration.
type places struct {
	home, config string // config is the usual folder of the system
	env          func(string) string
}

func usualPlaces() (places, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return places{}, err
	}
	config, err := os.UserConfigDir()
	if err != nil {
		config = filepath.Join(home, ".config")
	}
	return places{home: home, config: config, env: os.Getenv}, nil
}

// short writes a path as people do, with ~.
func (p places) short(path string) string {
	if rest, ok := strings.CutPrefix(path, p.home+string(filepath.Separator)); ok {
		return "~/" + filepath.ToSlash(rest)
	}
	return path
}

// mcpClients are the clients with files that codemode reads. The first client that uses a name keeps it.
var mcpClients = []mcpClient{
	{
		id: "claude-code", name: "Claude Code",
		files: func(p places) []string {
			return []string{filepath.Join(cmp.Or(p.env("CLAUDE_CONFIG_DIR"), p.home), ".claude.json")}
		},
		project: []string{".mcp.json"}, keys: [][]string{{"mcpServers"}, {"projects", "*", "mcpServers"}},
		paste: pasteClaudeCode,
	},
	{
		id: "claude-desktop", name: "Claude Desktop",
		files: func(p places) []string {
			return []string{filepath.Join(p.config, "Claude", "claude_desktop_config.json")}
		},
		keys: [][]string{{"mcpServers"}}, paste: pasteServers(
			"claude_desktop_config.json (Settings, Developer, Edit Config)"),
	},
	{
		id: "cursor", name: "Cursor",
		files:   func(p places) []string { return []string{filepath.Join(p.home, ".cursor", "mcp.json")} },
		project: []string{".cursor/mcp.json"}, keys: [][]string{{"mcpServers"}},
		paste: pasteServers("~/.cursor/mcp.json"),
	},
	{
		id: "vscode", name: "VS Code",
		files: func(p places) []string {
			return []string{filepath.Join(p.config, "Code", "User", "mcp.json"),
				filepath.Join(p.config, "Code", "User", "settings.json")}
		},
		project: []string{".vscode/mcp.json"}, keys: [][]string{{"servers"}, {"mcp", "servers"}},
		adapt: adaptVSCode, paste: pasteVSCode,
	},
	{
		id: "gemini", name: "Gemini CLI",
		files:   func(p places) []string { return []string{filepath.Join(p.home, ".gemini", "settings.json")} },
		project: []string{".gemini/settings.json"}, keys: [][]string{{"mcpServers"}},
		adapt: adaptGemini, paste: pasteServers("~/.gemini/settings.json"),
	},
	{
		id: "codex", name: "Codex",
		files: func(p places) []string {
			return []string{filepath.Join(cmp.Or(p.env("CODEX_HOME"), filepath.Join(p.home, ".codex")), "config.toml")}
		},
		project: []string{".codex/config.toml"}, keys: [][]string{{"mcp_servers"}},
		paste: pasteCodex,
	},
	{
		id: "opencode", name: "OpenCode",
		files: func(p places) []string {
			dir := filepath.Join(cmp.Or(p.env("XDG_CONFIG_HOME"), filepath.Join(p.home, ".config")), "opencode")
			return []string{filepath.Join(dir, "opencode.json"), filepath.Join(dir, "opencode.jsonc")}
		},
		project: []string{"opencode.json", "opencode.jsonc"}, keys: [][]string{{"mcp", "servers"}, {"mcp"}},
		adapt: adaptOpenCode, paste: pasteOpenCode,
	},
}

func clientIDs() []string {
	ids := make([]string, len(mcpClients))
	for i, c := range mcpClients {
		ids[i] = c.id
	}
	return ids
}

// A clientFile is one configuration file of a client, with its servers.
type clientFile struct {
	client  *mcpClient
	path    string
	entries []*clientEntry
	err     error // it exists and is unreadable
}

// A clientEntry is one server of such a file.
type clientEntry struct {
	name   string
	value  map[string]any
	notes  []string        // changes, or what the user must do
	raw    json.RawMessage // value as JSON
	server servers.Server
	err    error // why it is unusable
}

func (e *clientEntry) note(format string, args ...any) {
	e.notes = append(e.notes, fmt.Sprintf(format, args...))
}

// findClients reads the existing files of all clients, also those in the folder of a project; "" is no project.
func findClients(p places, project string, env func(string) (string, bool)) []*clientFile {
	var found []*clientFile
	for i := range mcpClients {
		c := &mcpClients[i]
		paths := c.files(p)
		if project != "" {
			for _, name := range c.project {
				paths = append(paths, filepath.Join(project, filepath.FromSlash(name)))
			}
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			f := &clientFile{client: c, path: path, err: err}
			if err == nil {
				f.read(data, project, env)
			}
			if f.err != nil || len(f.entries) > 0 {
				found = append(found, f)
			}
		}
	}
	return found
}

// read finds the servers in a file.
func (f *clientFile) read(data []byte, project string, env func(string) (string, bool)) {
	root := map[string]any{}
	if filepath.Ext(f.path) == ".toml" {
		f.err = toml.Unmarshal(data, &root)
	} else if raw, err := config.Standard(f.path, data); err != nil {
		f.err = err
	} else {
		f.err = json.Unmarshal(raw, &root)
	}
	if f.err != nil {
		return
	}
	seen := map[string]bool{}
	for _, keys := range f.client.keys {
		servers := at(root, keys, project)
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			value, ok := servers[name].(map[string]any)
			if !ok || seen[name] || !isServer(value) {
				continue
			}
			seen[name] = true
			e := &clientEntry{name: name, value: value}
			if project != "" && strings.HasPrefix(f.path, project+string(filepath.Separator)) {
				adaptProject(e, project)
			}
			e.prepare(f.client, env)
			f.entries = append(f.entries, e)
		}
	}
}

// at follows keys through nested objects; nil if there are none.
func at(v map[string]any, keys []string, project string) map[string]any {
	for _, key := range keys {
		if key == "*" {
			if project == "" {
				return nil
			}
			key = project
		}
		v, _ = v[key].(map[string]any)
	}
	return v
}

// isServer distinguishes a server from other objects beside servers.
func isServer(v map[string]any) bool {
	return slices.ContainsFunc([]string{"command", "url", "httpUrl", "serverUrl"},
		func(key string) bool { return v[key] != nil })
}

// prepare translates an entry for our configuration.
func (e *clientEntry) prepare(c *mcpClient, env func(string) (string, bool)) {
	for _, key := range []string{"trust", "autoApprove", "alwaysAllow"} {
		if _, ok := e.value[key]; ok {
			delete(e.value, key)
			e.note("%q is not copied: the profile says what is allowed", key)
		}
	}
	if c.adapt != nil {
		c.adapt(e)
	}
	refers := false
	if eachText(e.value, func(s string) string { refers = refers || variables.HasSource(s); return s }); refers {
		e.err = errors.New("it has ${cmd:...} or ${file:...}, which codemode would run or read: write a variable in its " +
			"place")
		return
	}
	var err error
	if e.raw, err = json.Marshal(e.value); err != nil { // such as a number that JSON cannot hold
		e.err = err
		return
	}
	var warnings []string
	e.server, warnings, e.err = servers.Parse(e.name, e.raw, env)
	for _, w := range warnings {
		e.note("%s", cli.WithoutName(w, e.name))
	}
	if e.server.Problem != "" {
		_, problem, _ := strings.Cut(e.server.Problem, ": ")
		e.note("%s", cmp.Or(problem, e.server.Problem))
	}
}

// isCodemode recognises codemode, which must not become its own upstream: by a word that names this program followed by
// "serve", in any command; by the file of this program under any name; by the flags of "codemode serve"; by our
// variables; and by the address of a codemode that serves over HTTP. A person can add a server that init omits by
// mistake; codemode would refuse a codemode server at each start.
func (e *clientEntry) isCodemode() bool {
	s := &e.server
	if s.URL != "" {
		return e.isCodemodeURL()
	}
	var words []string
	for _, word := range append([]string{s.Command}, s.Args...) { // a line for a shell is one argument
		words = append(words, strings.FieldsFunc(word, func(r rune) bool {
			return strings.ContainsRune(" \t\r\n\"'`;&|()<>",
				r)
		})...)
	}
	serve := slices.Index(words, "serve")
	if serve < 0 {
		return false
	}
	for name := range s.Env {
		if strings.HasPrefix(strings.ToUpper(name), "CODEMODE_") {
			return true
		}
	}
	for i, word := range words {
		behind := slices.Contains(words[i+1:], "serve")
		if behind && (namesCodemode(word) || isThisProgram(word, s.Dir)) {
			return true
		}
		name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if i > serve && (strings.HasPrefix(word, "-") && slices.Contains(serveFlags, name) ||
			strings.Contains(strings.ToLower(word), "codemode")) {
			return true
		}
	}
	return strings.EqualFold(e.name, "codemode")
}

// serveFlags are flags of "codemode serve" that few other programs have.
var serveFlags = []string{"profile", "project", "session", "console", "state"}

// namesCodemode reports whether a word of a command names this program: a file, a package with a version, a module or
// an image.
func namesCodemode(word string) bool {
	word = strings.ToLower(filepath.ToSlash(strings.ReplaceAll(word, `\`, "/")))
	if i := strings.LastIndexByte(word, '='); i >= 0 { // --package=codemode
		word = word[i+1:]
	}
	for word != "" {
		base := strings.TrimRight(word, "/.")
		base = base[strings.LastIndexByte(base, '/')+1:]
		name := base
		if at := strings.IndexAny(name, "@:"); at > 0 { // a version or a tag
			name = name[:at]
		}
		for _, suffix := range []string{".exe", ".cmd", ".bat", ".ps1", ".sh", ".appimage"} {
			name = strings.TrimSuffix(name, suffix)
		}
		if name == "codemode" || strings.HasPrefix(name, "codemode-") || strings.HasPrefix(name, "codemode_") {
			return true
		}
		at := strings.LastIndexByte(word, '@') // module/path@v1.2.3 and @scope/name@1
		if at <= 0 || strings.Contains(base, "@") {
			return false
		}
		word = word[:at]
	}
	return false
}

// isThisProgram reports whether a word is the file of this program, under any name, or a copy of it.
func isThisProgram(word, dir string) bool {
	self, err := os.Executable()
	if err != nil {
		return false
	}
	path := word
	if !strings.ContainsAny(word, `/\`) {
		if path, err = exec.LookPath(word); err != nil {
			return false
		}
	} else if path = checks.ExpandHome(word, dir); !filepath.IsAbs(path) {
		return false
	}
	ours, err := os.Stat(self)
	if err != nil {
		return false
	}
	theirs, err := os.Stat(path)
	if err != nil || !theirs.Mode().IsRegular() {
		return false
	}
	return os.SameFile(ours, theirs) || ours.Size() == theirs.Size() && sameContent(self, path)
}

func sameContent(a, b string) bool {
	sum := func(path string) (h [sha256.Size]byte, err error) {
		data, err := os.ReadFile(path)
		return sha256.Sum256(data), err
	}
	x, err := sum(a)
	y, errY := sum(b)
	return err == nil && errY == nil && x == y
}

// isCodemodeURL reports whether an address is that of a codemode that serves over HTTP: at its path and under its name.
func (e *clientEntry) isCodemodeURL() bool {
	u, err := url.Parse(e.server.URL)
	if err != nil {
		return false
	}
	path := strings.TrimSuffix(u.Path, "/")
	ours := path == "/mcp" || strings.HasPrefix(path, "/mcp/")
	named := strings.Contains(strings.ToLower(e.name), "codemode") ||
		slices.ContainsFunc(strings.Split(strings.ToLower(u.Hostname()), "."),
			func(part string) bool { return part == "codemode" })
	return ours && named
}

// summary describes a server in a few words without possible secrets.
func (e *clientEntry) summary() string {
	if e.server.URL != "" {
		return string(e.server.Transport) + "  " + address.Origin(e.server.URL)
	}
	text := "stdio  " + filepath.Base(e.server.Command)
	for _, arg := range e.server.Args {
		if !strings.HasPrefix(arg, "-") {
			return text + " " + arg
		}
	}
	return text
}

// A ClientUse says how a file of a client relates to codemode.
type ClientUse struct {
	Name, ID     string // of the client
	Path         string // as people write it
	UsesCodemode bool
	Bypassed     []string // servers that codemode has too and that the client starts without it
}

// ClientUses examines the files of all clients.
func ClientUses(entries []config.Server) (all []ClientUse) {
	p, err := usualPlaces()
	if err != nil {
		return nil
	}
	var configured []servers.Server
	for _, s := range entries {
		if server, err := s.Connection(variables.Unread(os.LookupEnv)); err == nil {
			configured = append(configured, server)
		}
	}
	for _, f := range findClients(p, "", os.LookupEnv) {
		use := ClientUse{Name: f.client.name, ID: f.client.id, Path: p.short(f.path)}
		for _, entry := range f.entries {
			use.UsesCodemode = use.UsesCodemode || entry.isCodemode()
			if !entry.server.Disabled && slices.ContainsFunc(configured, entry.sameServer) {
				use.Bypassed = append(use.Bypassed, entry.name)
			}
		}
		all = append(all, use)
	}
	return all
}

// sameServer reports whether other has the same command or address.
func (e *clientEntry) sameServer(other servers.Server) bool {
	if e.server.URL != "" {
		return e.server.URL == other.URL
	}
	return e.server.Command == other.Command && slices.Equal(e.server.Args, other.Args)
}
