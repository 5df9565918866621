package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/config/servers"
	"github.com/codemode-project/codemode/recorder"
	"github.com/codemode-project/codemode/server"
	"github.com/codemode-project/codemode/upstream"
)

// Who may write a file besides its owner.
const (
	anybodyWrites = 0o002
	groupWrites   = 0o020
)

// file finds the configuration file and looks at who may change and read it.
func (d *diagnosis) file(set *setting) (path string) {
	path, err := set.file()
	switch {
	case err != nil:
		d.fail(exitUsage, "configuration", "file", "", "%v", err)
		return path
	case path == "" && len(config.ReadEnvironment(os.Environ())) > 0:
		return path // which says what programs may do
	case path == "":
		d.warn("configuration", "file", "codemode init writes one from what your other clients have",
			"there is none: only built-in servers are there, and codemode_eval is unrestricted")
		return path
	}
	info, err := os.Stat(path)
	if err != nil {
		d.fail(exitUsage, "configuration", path, "codemode init writes one", "%v", err)
		return path
	}
	switch mode, hint := info.Mode().Perm(), "chmod go-w "+shellWord(path); {
	case mode&anybodyWrites != 0:
		d.fail(exitUsage, "permissions", path, hint, "others than you may write it (%v), and it starts programs", mode)
	case mode&groupWrites != 0:
		d.warn("permissions", path, hint, "your group may write it (%v), and it starts programs", mode)
	}
	if dir, err := os.Stat(filepath.Dir(path)); err == nil && dir.Mode().Perm()&anybodyWrites != 0 && dir.Mode()&fs.ModeSticky == 0 {
		d.warn("permissions", filepath.Dir(path), "chmod o-w "+shellWord(filepath.Dir(path)), "others than you may replace what is in it (%v)", dir.Mode().Perm())
	}
	return path
}

// configuration says that the file was read, and what is odd in it.
func (d *diagnosis) configuration(e *codemode.Evaluator, path string) {
	cfg := e.Config()
	if cfg == nil {
		return
	}
	variables, note := cfg.EnvironmentNote()
	if note != "" {
		d.ok("configuration", strings.Join(variables, ", "), "%s", note)
	}
	if path == "" && note == "" {
		return
	}
	if path != "" {
		d.ok("configuration", path, "%s, %s", count(len(cfg.Servers), "server"), count(len(cfg.All()), "profile"))
	}
	for _, w := range cfg.Warnings {
		d.warn("configuration", fmt.Sprintf("%s:%d:%d", base(w.File), w.Line, w.Column), w.Hint, "%s", w.Message)
	}
	place := call.Position.String
	for _, p := range machineProblems(cfg) {
		d.fail(exitUsage, "configuration", base(place(p.Position)), cmp.Or(p.Hint, "codemode serve refuses to start like this"), "%s", p.Message)
	}
	for _, p := range server.OverlaysForNobody(cfg, os.LookupEnv) {
		d.fail(exitUsage, "configuration", base(place(p.Position)), p.Hint, "%s", p.Message)
	}
	secrets := 0
	for _, server := range cfg.Servers {
		var entry map[string]any
		if json.Unmarshal(server.JSON, &entry) == nil {
			secrets += len(literalSecrets(entry))
		}
	}
	if info, err := os.Stat(path); err == nil && secrets > 0 && info.Mode().Perm()&0o044 != 0 {
		d.warn("permissions", path, "chmod go-r "+shellWord(path)+", or write ${NAME} in their place",
			"others than you may read it (%v), and %s in it look secret", info.Mode().Perm(), count(secrets, "value"))
	}
}

// machineProblems is what keeps codemode serve from using a configuration on this machine, though its form is right:
// variables that are not set, or hold what does not fit.
func machineProblems(cfg *config.Config) config.Problems {
	var all config.Problems
	add := func(err error) {
		if some, ok := errors.AsType[config.Problems](err); ok {
			all = append(all, some...)
		} else if err != nil {
			all = append(all, config.Problem{Position: call.Position{File: cfg.Path}, Message: err.Error()})
		}
	}
	_, err := recorder.PlaceOf("", cfg, os.LookupEnv)
	add(err)
	_, err = cfg.HTTP(os.LookupEnv)
	add(err)
	return all
}

func base(path string) string { return filepath.Base(path) }

func toolCount(all []upstream.Status) int {
	n := 0
	for _, st := range all {
		n += st.Tools
	}
	return n
}

// clients looks for servers that a client also starts by itself: what is called
// there is called without our rules.
func (d *diagnosis) clients(e *codemode.Evaluator) {
	p, err := here()
	if err != nil {
		return
	}
	configured := map[string]servers.Server{}
	if cfg := e.Config(); cfg != nil {
		for _, s := range cfg.Servers {
			if server, err := s.Connection(os.LookupEnv); err == nil {
				configured[s.Name] = server
			}
		}
	}
	for _, f := range findClients(p, "", os.LookupEnv) {
		var both []string
		uses := false
		for _, entry := range f.entries {
			uses = uses || entry.isCodemode()
			if !entry.server.Disabled && anySame(configured, entry.server) {
				both = append(both, entry.name)
			}
		}
		switch {
		case len(both) > 0:
			d.warn("client", f.client.name, "remove them from "+p.short(f.path)+"; codemode init --client "+f.client.id+" prints what to put there",
				"it starts %s by itself too: those calls pass none of the rules here", strings.Join(both, ", "))
		case uses:
			d.ok("client", f.client.name, "it uses codemode (%s)", p.short(f.path))
		}
	}
}

// anySame reports whether one of the servers is started or reached in the same way.
func anySame(configured map[string]servers.Server, like servers.Server) bool {
	for _, s := range configured {
		if like.URL != "" && s.URL == like.URL ||
			like.URL == "" && s.Command == like.Command && strings.Join(s.Args, "\x00") == strings.Join(like.Args, "\x00") {
			return true
		}
	}
	return false
}

// cache looks at where the compiled guest is kept: whoever can write there
// can make us run what they like.
func (d *diagnosis) cache() {
	dir := cacheDir()
	if dir == "" {
		d.warn("cache", "compiled guest", "set XDG_CACHE_HOME to a folder that you may write", "there is no place to keep it: each start compiles for a second")
		return
	}
	info, err := os.Stat(dir)
	if err != nil {
		d.warn("cache", dir, "", "%v", err)
		return
	}
	if info.Mode().Perm()&anybodyWrites != 0 {
		d.fail(exitInternal, "cache", dir, "chmod go-w "+shellWord(dir), "others than you may write it (%v), and what is in it is run", info.Mode().Perm())
		return
	}
	probe, err := os.CreateTemp(dir, ".doctor-*")
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		d.warn("cache", dir, "", "it cannot be written: each start compiles for a second: %v", err)
		return
	}
	d.ok("cache", dir, "compiled code is kept here")
}
