package setup

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/cmd/codemode/setup/clientfile"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/config/servers"
)

// An mcpClient is a program that keeps MCP servers in its own files.
type mcpClient struct {
	id, name string
	docs     string // the page that documents its files
	format   clientfile.Format
	places   []place
	// folder is there where the client is installed; "" is the folder of its first file.
	folder   func(places) string
	formless bool                                           // it shows no forms of a server (elicitation)
	adapt    func(*clientEntry)                             // translates what only this client understands
	replaces notation                                       // in the values of its servers
	off      func(*switches, *clientFile, *clientEntry) off // beside what the entry says; nil: nothing else does
	entry    func(start) []clientfile.Field                 // codemode as a server of this client
	where    string                                         // where to paste it
	command  func(start) string                             // what adds it; nil: it is pasted into a file
}

// A notation is what a client replaces in the values of its servers. Everything else in them is text. The zero value
// says that nobody knows: then a server with anything that looks like a variable stays.
type notation uint8

// A start is how a client starts codemode.
type start struct {
	command        []string
	variables, set []string // which the servers behind it need, and those of them that are set
	name           string   // of the entry
	keys           []string // where the entry stands
	approved       bool     // codemode alone asks, and Codex does not
}

// A place is where a client has servers: in a file, below keys.
type place struct {
	scope   string // user, local or project: who has the servers, and where
	file    func(places) string
	project string   // the file in a project's folder, in place of file
	keys    []string // * is the project's folder
	legacy  bool     // the client still reads it; nothing new comes in
}

// The scopes.
const (
	userScope    = "user"    // this user, everywhere
	localScope   = "local"   // this user, in one project
	projectScope = "project" // everybody who has the project
)

// places are the folders in which programs keep their configuration.
type places struct {
	system       string // as runtime.GOOS
	home, config string // config is the usual folder of the system
	here         string // where the command was given; "" is nowhere
	root         string // of the files of administrators; "" is that of the system
	env          func(string) string
}

// An off says that a client does not start a server, and why. The zero value is a server that it starts.
type off struct {
	why string
	// here: it is so for this entry alone, such as one of a project to which nobody has said yes. Without it, its owner
	// has switched the server off, and codemode does not serve it wherever else it stands.
	here bool
}

// A clientFile is one place of a client that has servers, or could not be read.
type clientFile struct {
	client  *mcpClient
	place   *place
	path    string
	home    string
	keys    []string
	text    []byte
	entries []*clientEntry
	without []string // the names that it only switches off: their servers stand in other files of the client
	err     error    // it exists and is unreadable
}

// A clientEntry is one server of such a file.
type clientEntry struct {
	name      string
	value     map[string]any
	notes     []string        // changes, or what the user must do
	raw       json.RawMessage // value as JSON
	server    servers.Server
	variables []string // of the environment, to which it refers
	held      []string // those of variables that the client asks for or keeps itself
	stays     string   // why it cannot go behind codemode, although codemode could start it
	off       off      // why the client does not start it
	elsewhere bool     // it is off in another client
	failed    bool     // it was seen not to run
	deny      []string // the tools that the client does not call
	err       error    // why it is unusable

	project, home string // the folders; "" is unknown
}

func (e *clientEntry) note(format string, args ...any) {
	e.notes = append(e.notes, fmt.Sprintf(format, args...))
}

// switches are the places beside its entry where the owner of a server, or an administrator, switches it off. A file
// that is there and cannot be read switches everything off that it could.
type switches struct {
	places
	project string
	files   map[string]map[string]any
}

// file is a settings file of a client; nil if there is none. broken says why it cannot be read.
func (s *switches) file(path string) (m map[string]any, broken string) {
	if m, ok := s.files[path]; ok {
		return m, ""
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ""
	}
	switch {
	case err != nil || len(strings.TrimSpace(string(text))) == 0:
	case strings.HasSuffix(path, ".toml"):
		var tables []clientfile.Server
		tables, err = clientfile.Servers(clientfile.TOML, text, nil)
		m = map[string]any{}
		for _, table := range tables {
			m[table.Name] = any(table.Value)
		}
	default:
		var standard json.RawMessage
		if standard, err = config.Standard(path, text); err == nil {
			err = json.Unmarshal(standard, &m)
		}
	}
	if err != nil {
		return nil, s.short(path) + " cannot be read"
	}
	s.files[path] = m
	return m, ""
}

// folders are the project's folder, and the one in which the command was given.
func (s *switches) folders() (all []string) {
	for _, dir := range []string{s.project, s.here} {
		if dir != "" && dir != s.home && !slices.Contains(all, dir) {
			all = append(all, dir)
		}
	}
	return all
}

// value is what stands at keys; nil if there is nothing.
func value(m map[string]any, keys ...string) any {
	at := any(m)
	for _, key := range keys {
		m, _ := at.(map[string]any)
		at = m[key]
	}
	return at
}

// names are the texts of a list; ok is whether there is one.
func names(v any) (all []string, ok bool) {
	list, ok := v.([]any)
	for _, item := range list {
		if name, isText := item.(string); isText {
			all = append(all, name)
		}
	}
	return all, ok
}

func folded(a string) func(string) bool {
	return func(b string) bool { return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b)) }
}

func exactly(a string) func(string) bool { return func(b string) bool { return a == b } }

func usualPlaces() (places, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return places{}, err
	}
	config, err := os.UserConfigDir()
	if err != nil {
		config = filepath.Join(home, ".config")
	}
	here, err := os.Getwd()
	if err != nil {
		here = "" // the settings of a project that is not there switch nothing off
	}
	return places{system: runtime.GOOS, home: home, config: config, here: here, env: os.Getenv}, nil
}

// xdg is ~/.config, or what stands for it. Some programs have it on every system.
func (p places) xdg(words ...string) string {
	dir := p.env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(p.home, ".config")
	}
	return filepath.Join(append([]string{dir}, words...)...)
}

// short writes a path as people do, with ~.
func (p places) short(path string) string {
	if rest, ok := strings.CutPrefix(path, p.home+string(filepath.Separator)); ok {
		return "~/" + filepath.ToSlash(rest)
	}
	return path
}

// path is the file of a place; "" if it needs a project, and there is none.
func (l *place) path(p places, project string) string {
	switch {
	case l.scope != userScope && project == "":
		return ""
	case l.project != "":
		return filepath.Join(project, filepath.FromSlash(l.project))
	}
	return l.file(p)
}

// keysIn are the keys of a place, with the folder of a project for *.
func (l *place) keysIn(project string) []string {
	keys := make([]string, len(l.keys))
	for i, key := range l.keys {
		if keys[i] = key; key == "*" {
			keys[i] = project
		}
	}
	return keys
}

// user is a place of the user's own.
func user(file func(places) string, keys ...string) place {
	return place{scope: userScope, file: file, keys: keys}
}

func inProject(file string, keys ...string) place {
	return place{scope: projectScope, project: file, keys: keys}
}

// home is a file below the user's home.
func home(words ...string) func(places) string {
	return func(p places) string { return filepath.Join(append([]string{p.home}, words...)...) }
}

// configured is a file below the usual folder of the system.
func configured(words ...string) func(places) string {
	return func(p places) string { return filepath.Join(append([]string{p.config}, words...)...) }
}

func xdg(words ...string) func(places) string {
	return func(p places) string { return p.xdg(words...) }
}

// below is a file below the folder that a variable names, or below one in the user's home.
func below(variable string, folder string, file string) func(places) string {
	return func(p places) string {
		return filepath.Join(cmp.Or(p.env(variable), filepath.Join(p.home, folder)), file)
	}
}

// onWindows is another file on Windows.
func onWindows(windows, elsewhere func(places) string) func(places) string {
	return func(p places) string {
		if p.system == "windows" {
			return windows(p)
		}
		return elsewhere(p)
	}
}
