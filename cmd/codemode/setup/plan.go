package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/codemode-project/codemode/cmd/codemode/setup/clientfile"
	"github.com/codemode-project/codemode/config"
)

// A plan is what init --install changes. Making it changes nothing.
type plan struct {
	places
	project, out string
	found        []*clientFile
	existing     []byte         // the configuration that is there; nil if there is none, or it goes
	have         *config.Config // existing, read
	chosen       []*choice      // new servers of the configuration
	clients      []*clientPlan
	approved     bool // Codex leaves questions to codemode
}

// A clientPlan is what changes for one client.
type clientPlan struct {
	client *mcpClient
	files  []*fileChange
	moved  []*clientEntry
	absent bool   // it is not on this machine: a project has a file for it
	shares string // the name of the client with the same file; "" is none
	err    error  // why nothing changes
}

// files are those of the plan's clients.
func (x *plan) files() []*clientFile {
	return slices.DeleteFunc(slices.Clone(x.found), func(f *clientFile) bool {
		return !slices.ContainsFunc(x.clients, func(c *clientPlan) bool { return c.client == f.client })
	})
}

// moves reports whether an entry goes behind codemode.
func (x *plan) moves(e *clientEntry) bool {
	return slices.ContainsFunc(x.clients, func(c *clientPlan) bool { return slices.Contains(c.moved, e) })
}

// nameOf is the name of an entry in the new configuration.
func (x *plan) nameOf(e *clientEntry) string {
	for _, c := range x.chosen {
		if c.entry == e || c.entry.name == e.name && c.entry.same(e) {
			return c.name
		}
	}
	return x.knownAs(e)
}

// starts are the servers that the installation starts: those that go behind codemode, and no others of the
// configuration.
func (x *plan) starts() (names []string) {
	for _, c := range x.clients {
		for _, e := range c.moved {
			if name := x.nameOf(e); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// taken are the names that the configuration has.
func (x *plan) taken() (names []string) {
	if x.have != nil {
		for _, s := range x.have.Servers {
			names = append(names, s.Name)
		}
	}
	return names
}

// known reports whether the configuration has an entry already.
func (x *plan) known(e *clientEntry) bool { return x.knownAs(e) != "" }

// knownAs is the name of an entry in the configuration that is there; "" if it is not in it.
func (x *plan) knownAs(e *clientEntry) string {
	if x.have == nil {
		return ""
	}
	for _, s := range x.have.Servers {
		have := &clientEntry{}
		if json.Unmarshal(s.JSON, &have.value) != nil {
			continue
		}
		if have.prepare(&mcpClient{replaces: literal | braces}, os.LookupEnv); have.err == nil && have.same(e) {
			return s.Name
		}
	}
	return ""
}

// leave keeps what was seen not to run at its client. failed are the reasons, by name in the configuration.
func (x *plan) leave(failed map[string]string) {
	for _, c := range x.clients {
		for _, e := range c.moved {
			if why := failed[x.nameOf(e)]; why != "" {
				e.stays, e.failed = why, true
			}
		}
	}
	x.chosen = slices.DeleteFunc(x.chosen, func(c *choice) bool { return failed[c.name] != "" })
}

// empty reports whether the clients have nothing to change.
func (x *plan) empty() bool {
	return !slices.ContainsFunc(x.clients, func(c *clientPlan) bool { return len(c.files) > 0 })
}

// formless names the clients of the plan that show no forms.
func (x *plan) formless() (names []string) {
	for _, c := range x.clients {
		if c.client.formless && c.err == nil {
			names = append(names, c.client.name)
		}
	}
	return names
}

// opens reports whether codemode should open a terminal for answers.
func (x *plan) opens() bool { return x.opensTerminals(x.formless()) }

// opensTerminals reports whether codemode should open a terminal for answers: where a client shows no forms, and this
// system shows windows.
func (p places) opensTerminals(formless []string) bool {
	windows := p.system != "linux" || p.env("DISPLAY") != "" || p.env("WAYLAND_DISPLAY") != "" || p.env("TMUX") != ""
	return windows && len(formless) > 0
}

// formless names the clients with these files that show no forms.
func formless(found []*clientFile) (names []string) {
	for _, f := range found {
		if f.client.formless && !slices.Contains(names, f.client.name) {
			names = append(names, f.client.name)
		}
	}
	return names
}

func (c *clientPlan) fail(err error) { c.files, c.moved, c.err = nil, nil, err }

// edit computes the new files of a client: its servers go, and codemode comes into the user's own file. Either all of
// it can be done, or nothing.
func (c *clientPlan) edit(x *plan, how start) {
	c.files, c.moved, c.err = nil, nil, nil
	how.name = c.client.nameIn(x.found)
	ours, target := false, c.target(x)
	if c.shares = c.sharer(x); c.shares != "" {
		for _, f := range x.found {
			for _, e := range f.entries {
				if f.client == c.client && e.goes() {
					c.moved = append(c.moved, e)
				}
			}
		}
		return
	}
	if c.absent {
		c.fail(fmt.Errorf("it is not installed here (no %s)", x.short(filepath.Dir(target.path(x.places, "")))))
		return
	}
	for _, f := range x.found {
		if f.client != c.client {
			continue
		}
		if f.err != nil && f.place.scope == userScope && f.place.legacy {
			continue
		}
		if f.err != nil {
			c.fail(fmt.Errorf("%s cannot be read", x.short(f.path)))
			return
		}
		var out []string
		for _, e := range f.entries {
			switch {
			case e.isCodemode():
				ours = ours || f.place.scope == userScope
			case e.goes():
				out = append(out, e.name)
				c.moved = append(c.moved, e)
			}
		}
		in := start{}
		if f.place == target && !ours {
			in, ours = how, true
		}
		if err := c.exchange(f.place, f.path, f.keys, out, in); err != nil {
			c.fail(fmt.Errorf("%s cannot be edited: %w", x.short(f.path), err))
			return
		}
	}
	if !ours {
		path := target.path(x.places, x.project)
		if err := c.exchange(target, path, target.keysIn(x.project), nil, how); err != nil {
			c.fail(fmt.Errorf("%s cannot be edited: %w", x.short(path), err))
		}
	}
}

// goes reports whether an entry can go behind codemode.
func (e *clientEntry) goes() bool {
	return e.err == nil && e.stays == "" && e.off.why == "" && !e.isCodemode()
}

// sharer names a client before this one that has a file of it as its own, by a symbolic link.
func (c *clientPlan) sharer(x *plan) string {
	for _, f := range x.found {
		if f.client != c.client {
			continue
		}
		path, err := realPath(f.path)
		for _, other := range x.clients {
			if other == c {
				break
			}
			if err == nil && slices.ContainsFunc(other.files, func(of *fileChange) bool {
				theirs, err := realPath(of.path)
				return err == nil && theirs == path
			}) {
				return other.client.name
			}
		}
	}
	return ""
}

// target is where codemode comes in: where the user's servers go out, else the first file that is there.
func (c *clientPlan) target(x *plan) *place {
	exists := (*place)(nil)
	for i := range c.client.places {
		l := &c.client.places[i]
		if l.scope != userScope || l.legacy {
			continue
		}
		if slices.ContainsFunc(x.found, func(f *clientFile) bool { return f.place == l && f.err == nil }) {
			return l
		}
		if _, err := os.Stat(l.path(x.places, "")); err == nil && exists == nil {
			exists = l
		}
	}
	if exists != nil {
		return exists
	}
	return &c.client.places[0]
}

// exchange edits one place of a file. A start with a command brings codemode in.
func (c *clientPlan) exchange(l *place, path string, keys, out []string, how start) error {
	if len(out) == 0 && how.command == nil {
		return nil
	}
	i := slices.IndexFunc(c.files, func(f *fileChange) bool { return f.path == path })
	if i < 0 {
		text, mode, err := readFile(path)
		if err != nil {
			return err
		}
		if text != nil && mode&0o200 == 0 {
			return errors.New("nobody may write it")
		}
		c.files = append(c.files, &fileChange{client: c.client.id, path: path, before: text, after: text, isNew: text == nil})
		i = len(c.files) - 1
	}
	f := c.files[i]
	f.shared = f.shared || l.scope == projectScope
	var in []clientfile.Entry
	if how.command != nil {
		how.keys, f.as = keys, how.name
		in = []clientfile.Entry{{Name: how.name, Fields: c.client.entry(how)}}
	}
	text, err := clientfile.Exchange(c.client.format, f.after, keys, out, in)
	if err != nil {
		return err
	}
	f.after = text
	f.edits = append(f.edits, edit{Keys: keys, Out: out, Ours: in != nil})
	return nil
}
