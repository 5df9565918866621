package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/config/servers"
	"github.com/codemode-project/codemode/internal/protect"
)

// A grantedPower is a word in the entry of a server that names a folder or file with which a program could rule codemode.
type grantedPower struct {
	server config.Server
	where  string // args, or the variable of its environment
	path   string // as it is written there
	power  *protect.PowerError
}

// grantedPowers looks for them in all servers that are started as a process. What a server does with a folder that it is told
// is not known; most let programs read and write there.
func grantedPowers(o codemode.Options, cfg *config.Config) ([]grantedPower, error) {
	places, err := codemode.Powers(o, cfg)
	if err != nil {
		return nil, err
	}
	marks, err := protect.Look(places)
	if err != nil {
		return nil, err
	}
	var found []grantedPower
	for _, entry := range cfg.Servers {
		s, err := entry.Connection(o.Env)
		if err != nil || s.Transport != servers.Stdio {
			continue
		}
		look := func(where, text string) {
			for _, path := range pathsIn(text) {
				power, ok := errors.AsType[*protect.PowerError](marks.JudgeFor(expandHome(path, s.Dir), s.Name))
				if ok { // one for each word: the readings of a word overlap
					found = append(found, grantedPower{entry, where, path, power})
					return
				}
			}
		}
		for _, arg := range s.Args {
			look("args", arg)
		}
		for name, value := range s.Env {
			if name != "PATH" { // what its programs are looked up in
				look("env "+name, value)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b grantedPower) int { return strings.Compare(a.server.Name, b.server.Name) })
	return found, nil
}

// pathsIn lists what may be a path in a word of a command: all of it, what stands behind a = or between commas, colons and
// semicolons, as in --flag=path, -v /a:/b and type=bind,src=/a, and the words of a line for a shell.
func pathsIn(text string) []string {
	var paths []string
	add := func(path string) {
		path = strings.Trim(path, `"'`)
		if u, err := url.Parse(path); err == nil && u.Scheme == "file" {
			path = u.Path
		}
		if path != "" && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	add(text)
	for _, separators := range []string{"=", "=,;", "=,;:", " \t\n\"'`;&|()<>", " \t\n\"'`;&|()<>=,:{}[]"} {
		for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
			add(part)
		}
	}
	if len(text) > 2 && text[0] == '-' && text[1] != '-' { // -C/folder
		add(text[2:])
	}
	return paths
}

// expandHome reads a path as the server would: relative to its folder, with ~ and $HOME as a shell writes them.
func expandHome(path, dir string) string {
	home, err := os.UserHomeDir()
	if err == nil {
		for _, short := range []string{"~", "$HOME", "${HOME}", "%USERPROFILE%"} {
			if rest, ok := strings.CutPrefix(path, short); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
				return home + rest
			}
		}
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// powers warns of servers that are told folders with which programs could rule codemode.
func (d *diagnosis) powers(set *setting, e *codemode.Evaluator) {
	cfg := e.Config()
	if cfg == nil {
		return
	}
	o, err := set.options(nil)
	var found []grantedPower
	if err == nil {
		found, err = grantedPowers(o, cfg)
	}
	if err != nil {
		d.warn("permissions", "servers", "",
			"whether servers are told folders that give power over codemode cannot be found out: %v", err)
		return
	}
	for _, g := range found {
		d.warn("permissions", g.server.Name, powerHint, "%s", g.sentence())
	}
}

const powerHint = "give the server a folder that has none of this in it, or deny its tools that write and read there"

func (g grantedPower) sentence() string {
	return fmt.Sprintf("its %s has %s, which %s %s (%s): a program that may write there could change what it may do",
		g.where, g.path, g.power.Relation, g.power.What, g.power.Place.Path)
}

// lintPowers gives the same as findings about the configuration.
func lintPowers(set *setting, cfg *config.Config) ([]config.Finding, error) {
	o, err := set.options(nil)
	if err != nil {
		return nil, err
	}
	found, err := grantedPowers(o, cfg)
	if err != nil {
		return nil, usage(err)
	}
	var all []config.Finding
	for _, g := range found {
		message := "the server " + g.server.Name + ": " + g.sentence()
		problem := config.Problem{Position: g.server.Pos, Length: 1, Message: message, Hint: powerHint}
		all = append(all, config.Finding{Problem: problem, Kind: "power"})
	}
	return all, nil
}
