package setup

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/cmd/codemode/checks"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/setup/clientfile"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/address"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/settings"
)

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

// findClients reads the existing files of all clients, also those in the folder of a project; "" is no project.
func findClients(p places, project string, env func(string) (string, bool)) []*clientFile {
	var found []*clientFile
	s := &switches{places: p, project: project, files: map[string]map[string]any{}}
	for i := range mcpClients {
		c := &mcpClients[i]
		broken := map[string]bool{}
		for j := range c.places {
			l := &c.places[j]
			path := l.path(p, project)
			if path == "" || broken[path] {
				continue
			}
			data, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			f := &clientFile{client: c, place: l, path: path, home: p.home, keys: l.keysIn(project), text: data, err: err}
			if err == nil {
				f.read(project, env)
			}
			for _, e := range f.entries {
				e.settle(s, f)
			}
			broken[path] = f.err != nil
			if f.err != nil || len(f.entries)+len(f.without) > 0 {
				found = append(found, f)
			}
		}
	}
	for _, f := range found {
		for _, other := range found {
			for _, e := range other.entries {
				if other.client == f.client && e.off.why == "" && slices.Contains(f.without, e.name) {
					e.off = off{why: p.short(f.path)}
				}
			}
		}
	}
	spread(found)
	return slices.DeleteFunc(found, func(f *clientFile) bool { return f.err == nil && len(f.entries) == 0 })
}

// settle finds out whether an entry is off, and leaves out the tools that its client does not call.
func (e *clientEntry) settle(s *switches, f *clientFile) {
	if e.off = s.of(f, e); e.off.why != "" || len(e.deny) == 0 || e.err != nil {
		return
	}
	list, _ := e.value["excludeTools"].([]any)
	for _, tool := range e.deny {
		list = append(list, tool)
	}
	e.value["excludeTools"] = list
	e.note("%s denies %s: codemode leaves them out", f.client.name, strings.Join(e.deny, ", "))
	if raw, err := json.Marshal(e.value); err == nil {
		e.raw = raw
	}
	e.server.Exclude = append(e.server.Exclude, e.deny...)
}

// read finds the servers in a file.
func (f *clientFile) read(project string, env func(string) (string, bool)) {
	if f.client.format == clientfile.JSON && len(bytes.TrimSpace(f.text)) > 0 {
		if _, f.err = config.Standard(f.path, f.text); f.err != nil { // which says where and what is wrong
			return
		}
	}
	var all []clientfile.Server
	if all, f.err = clientfile.Servers(f.client.format, f.text, f.keys); f.err != nil {
		return
	}
	for _, s := range all {
		if !isServer(s.Value) {
			if s.Value["disabled"] == true || s.Value["enabled"] == false {
				f.without = append(f.without, s.Name)
			}
			continue
		}
		e := &clientEntry{name: s.Name, value: plain(s.Value), home: f.home}
		if f.place.scope != userScope {
			adaptProject(e, project)
		}
		e.prepare(f.client, env)
		f.entries = append(f.entries, e)
	}
	slices.SortStableFunc(f.entries, func(a, b *clientEntry) int { return cmp.Compare(a.name, b.name) })
}

// plain is a value as encoding/json reads it, whatever the format of its file.
func plain(v map[string]any) map[string]any {
	text, err := json.Marshal(v)
	if err != nil {
		return v // such as a number that JSON cannot hold; prepare says so
	}
	var again map[string]any
	if json.Unmarshal(text, &again) != nil {
		return v
	}
	return again
}

// isServer distinguishes a server from other objects beside servers.
func isServer(v map[string]any) bool {
	return slices.ContainsFunc([]string{"command", "url", "httpUrl", "serverUrl", "cmd", "uri"},
		func(key string) bool { return v[key] != nil })
}

// prepare translates an entry for our configuration.
func (e *clientEntry) prepare(c *mcpClient, env func(string) (string, bool)) {
	for _, key := range []string{"trust", "autoApprove", "alwaysAllow", "trustAnnotations"} {
		if _, ok := e.value[key]; ok {
			delete(e.value, key)
			e.note("%q is not copied: the profile says what is allowed", key)
		}
	}
	if c.adapt != nil {
		c.adapt(e)
	}
	refers := false
	if eachText(e.value, func(s string) string { refers = refers || settings.HasSource(s); return s }); refers {
		e.err = errors.New("it has ${cmd:...} or ${file:...}, which codemode would run or read: write a variable in its " +
			"place")
		return
	}
	e.translate(c)
	var err error
	if e.raw, err = json.Marshal(e.value); err != nil { // such as a number that JSON cannot hold
		e.err = err
		return
	}
	var warnings []string
	e.server, warnings, e.err = servers.Parse(e.name, e.raw, func(name string) (string, bool) {
		if !slices.Contains(e.variables, name) {
			e.variables = append(e.variables, name)
		}
		return env(name)
	})
	for _, name := range e.held {
		set := false
		if validName.MatchString(name) { // and no command or file
			_, set = env(name)
		}
		if !set && e.stays == "" {
			e.stays = fmt.Sprintf("%s keeps %s; set the variable %[2]s for codemode to have it", c.name, name)
		}
	}
	for _, w := range warnings {
		e.note("%s", cli.WithoutName(w, e.name))
	}
	if e.server.Problem != "" {
		_, problem, _ := strings.Cut(e.server.Problem, ": ")
		e.note("%s", cmp.Or(problem, e.server.Problem))
	}
}

// same reports whether two entries are one server, perhaps written in the ways of two clients. What variables stand for
// may change, so entries with variables have to be written alike.
func (e *clientEntry) same(other *clientEntry) bool {
	if bytes.Equal(e.raw, other.raw) {
		return true
	}
	a, b := e.server, other.server
	a.Name, b.Name = "", ""
	return len(e.variables)+len(other.variables) == 0 && reflect.DeepEqual(a, b)
}

// isCodemode recognises codemode, which must not become its own upstream: by a word that names this program followed by
// "serve", in any command; by the file of this program under any name; by the flags of "codemode serve"; by our
// variables; and by the address of a codemode that serves over HTTP. A person can add a server that init omits by
// mistake; codemode would refuse a codemode server at each start.
func (e *clientEntry) isCodemode() bool {
	s := &e.server
	if s.URL != "" {
		return e.isAddress(s.URL)
	}
	var words []string
	for _, word := range append([]string{s.Command}, s.Args...) { // a line for a shell is one argument
		words = append(words, strings.FieldsFunc(word, func(r rune) bool {
			return strings.ContainsRune(" \t\r\n\"'`;&|()<>",
				r)
		})...)
	}
	if e.runsImage(words) || slices.ContainsFunc(words, func(word string) bool { return e.isAddress(word) }) {
		return true
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

// runsImage reports whether the words start an image of codemode, which serves without being told to.
func (e *clientEntry) runsImage(words []string) bool {
	run := slices.Index(words, "run")
	return run > 0 && slices.ContainsFunc(words[:run], func(word string) bool {
		return slices.Contains([]string{"docker", "podman", "nerdctl"}, filepath.Base(word))
	}) && slices.ContainsFunc(words[run:], func(word string) bool {
		return !strings.ContainsAny(word, "=") && !strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "/") && namesCodemode(word)
	})
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

// isAddress reports whether a text is the address of a codemode that serves over HTTP: at its path and under its name.
func (e *clientEntry) isAddress(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
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
		if server, err := s.Connection(settings.Unread(os.LookupEnv)); err == nil {
			configured = append(configured, server)
		}
	}
	for _, f := range findClients(p, "", os.LookupEnv) {
		use := ClientUse{Name: f.client.name, ID: f.client.id, Path: p.short(f.path)}
		for _, entry := range f.entries {
			use.UsesCodemode = use.UsesCodemode || entry.isCodemode()
			if entry.off.why == "" && slices.ContainsFunc(configured, entry.sameServer) {
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
