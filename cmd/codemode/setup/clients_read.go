package setup

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/setup/clientfile"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/secrets"
	"github.com/codemode-project/codemode/internal/settings"
)

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
		if e.prepare(f.client, env); e.err == nil && e.stays == "" && e.isNamesake() {
			e.stays = "it is not this codemode, whose name here is " + otherName
		}
		f.entries = append(f.entries, e)
	}
	slices.SortStableFunc(f.entries, func(a, b *clientEntry) int { return cmp.Compare(a.name, b.name) })
}

// spread marks the entries of servers that are off elsewhere. codemode would serve them to the client that has them
// off; so they stay where they are, and go on as they do.
func spread(found []*clientFile) {
	type one struct {
		file  *clientFile
		entry *clientEntry
	}
	var all []one
	for _, f := range found {
		for _, e := range f.entries {
			all = append(all, one{f, e})
		}
	}
	for _, o := range all {
		if o.entry.off.why == "" || o.entry.off.here || o.entry.isCodemode() {
			continue
		}
		for _, other := range all {
			e := other.entry
			same := e.err == nil && o.entry.err == nil && e.same(o.entry)
			if e.off.why == "" && !e.elsewhere && (same || e.name == o.entry.name && other.file.client == o.file.client) {
				e.elsewhere = true
				e.stays = fmt.Sprintf("it is off in %s (%s), and codemode would serve it there too", o.file.client.name,
					o.entry.off.why)
			}
		}
	}
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

// summary describes a server in a few words without possible secrets.
func (e *clientEntry) summary() string {
	if e.server.URL != "" {
		return string(e.server.Transport) + "  " + secrets.Origin(e.server.URL)
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
	Namesake     bool     // it has another program with the name codemode
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
			use.Namesake = use.Namesake || entry.isNamesake()
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
