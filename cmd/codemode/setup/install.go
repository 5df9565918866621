package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/setup/clientfile"
	"github.com/codemode-project/codemode/config"
)

type initOptions struct {
	out, project, state            string
	openapi, name                  string // a description, and what to call its server
	clients                        []string
	force, dry, install, undo, yes bool
	noStart, codexApprove          bool
}

// makePlan finds out what an installation changes in the clients named by ids; none is all.
func makePlan(p places, o *initOptions, found []*clientFile) (*plan, error) {
	x := &plan{places: p, project: o.project, out: o.out, found: found, approved: o.codexApprove}
	text, err := os.ReadFile(o.out)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && o.force:
	case err != nil:
		return nil, cli.UsageError(err)
	default:
		x.existing = text
		if x.have, err = config.Parse(o.out, text); err != nil {
			return nil, cli.UsageError(fmt.Errorf("servers cannot go behind codemode while its configuration is not valid: %w",
				err))
		}
	}
	for i := range mcpClients {
		c := &mcpClients[i]
		here := c.installed(p, found)
		used := slices.ContainsFunc(found, func(f *clientFile) bool { return f.client == c })
		if len(o.clients) == 0 && (here || used) || slices.Contains(o.clients, c.id) {
			x.clients = append(x.clients, &clientPlan{client: c, absent: !here && len(o.clients) == 0})
		}
	}
	for _, c := range x.clients { // with any command: whether the files can be edited at all
		c.edit(x, start{command: []string{ourName, "serve"}})
	}
	x.chosen = choose(x.files(), x.taken(), func(e *clientEntry) bool { return !x.moves(e) || x.known(e) })
	return x, nil
}

// installed reports whether a client is on this machine.
func (c *mcpClient) installed(p places, found []*clientFile) bool {
	if slices.ContainsFunc(found, func(f *clientFile) bool {
		return f.client == c && f.err == nil && f.place.scope != projectScope
	}) {
		return true
	}
	first := c.places[0].path(p, "")
	folder := filepath.Dir(first)
	if c.folder != nil {
		folder = c.folder(p)
		if _, err := os.Stat(first); err == nil {
			return true
		}
	}
	info, err := os.Stat(folder)
	return err == nil && info.IsDir()
}

// configuration is the text of the configuration with the servers of the plan, as far as there is anything to write.
func (x *plan) configuration(tools []tool) (text []byte, notes []string, err error) {
	if x.existing == nil {
		text = configurationText(x.places, x.chosen, tools, x.opens())
	} else if text, notes, err = x.extended(tools); err != nil {
		return nil, nil, cli.UsageError(err)
	}
	if _, err := config.Parse(x.out, text); err != nil { // cannot happen; better here than at the next start
		return nil, nil, cli.InternalError(fmt.Errorf("the new configuration is not valid: %w", err))
	}
	return text, notes, nil
}

// extended is the existing configuration with the new servers and their rules. The rules go into the default profile,
// where it has lists; else the notes say what is missing.
func (x *plan) extended(tools []tool) (text []byte, notes []string, err error) {
	if len(x.chosen) == 0 {
		return x.existing, nil, nil
	}
	var in []clientfile.Entry
	for _, c := range x.chosen {
		in = append(in, clientfile.Entry{Name: c.name, Text: encode(c.name, "") + ": " + serverText(c.entry.value)})
	}
	if text, err = clientfile.Exchange(clientfile.JSON, x.existing, []string{"mcpServers"}, nil, in); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", x.short(x.out), err)
	}
	var file struct {
		Evaluation struct{ DefaultProfile string }
	}
	standard, err := config.Standard(x.out, text)
	if err == nil {
		err = json.Unmarshal(standard, &file)
	}
	if err != nil {
		return nil, nil, err
	}
	profile := []string{"evaluation", "profiles", file.Evaluation.DefaultProfile}
	add := func(list, rule string) bool {
		more, err := clientfile.Append(text, append(slices.Clone(profile), list), rule)
		if err == nil {
			text = more
		}
		return err == nil
	}
	for _, c := range x.chosen {
		for _, t := range tools {
			if t.server == c.name && t.reads {
				add("allowlist", encode(t.name, ""))
			}
			if t.server == c.name && t.destroys {
				add("asklist", destroyRule(t))
			}
		}
		if !add("asklist", askRule(c)) {
			notes = append(notes, fmt.Sprintf("no rule mentions the tools of %s yet: see what decides with codemode explain, "+
				"and write rules in %s", c.name, x.short(x.out)))
		}
	}
	return text, notes, nil
}

// start is how the clients of the plan start codemode with a configuration.
func (x *plan) start(text []byte, state string) (start, error) {
	how := start{command: serveCommand(x.out), approved: x.approved}
	if usual := filepath.Join(x.home, ".local", "state", "codemode"); state != usual {
		how.command = append(how.command, "--state", state) // clients may not hand on the variable that says so
	}
	cfg, err := config.Parse(x.out, text)
	if err != nil {
		return how, err
	}
	for _, s := range cfg.Servers {
		_, err := s.Connection(func(name string) (string, bool) {
			if !strings.ContainsAny(name, ":/ ") && !slices.Contains(how.variables, name) {
				how.variables = append(how.variables, name)
			}
			return "", false
		})
		if err != nil {
			return how, err
		}
	}
	slices.Sort(how.variables)
	for _, name := range how.variables {
		if x.env(name) != "" {
			how.set = append(how.set, name)
		}
	}
	return how, nil
}

// otherProjects are projects other than that of the plan with servers of their own in a user's file.
func (x *plan) otherProjects(c *mcpClient) (projects []string) {
	for i := range c.places {
		star := slices.Index(c.places[i].keys, "*")
		if star < 0 {
			continue
		}
		text, err := os.ReadFile(c.places[i].file(x.places))
		if err != nil {
			continue
		}
		all, err := clientfile.Servers(c.format, text, c.places[i].keys[:star])
		if err != nil {
			continue
		}
		for _, s := range all {
			servers := any(s.Value)
			for _, key := range c.places[i].keys[star+1:] {
				m, _ := servers.(map[string]any)
				servers = m[key]
			}
			if m, _ := servers.(map[string]any); len(m) > 0 && s.Name != x.project {
				projects = append(projects, s.Name)
			}
		}
	}
	return projects
}

// apply writes the configuration and the files of the clients: all of them, or none.
func (x *plan) apply(b *book, text []byte) error {
	var files []*fileChange
	if x.existing == nil || !bytes.Equal(text, x.existing) {
		before, err := os.ReadFile(x.out)
		isNew := errors.Is(err, fs.ErrNotExist)
		if err != nil && !isNew {
			return err
		}
		files = append(files, &fileChange{path: x.out, before: before, after: text, isNew: isNew, mode: 0o600})
	}
	for _, c := range x.clients {
		files = append(files, c.files...)
	}
	return b.writeAll(files)
}

// serveCommand is the command with which a client starts this program. It names the configuration: a client may not
// hand on the variables that say where it is, and without a file nothing restricts programs.
func serveCommand(config string) []string {
	return []string{ownPath(), "serve", "--config", config} // clients have another PATH than terminals
}
