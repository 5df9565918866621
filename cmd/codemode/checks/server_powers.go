// Package checks examines a valid configuration on this machine: folders of servers that give power over codemode,
// missing variables, literal secrets, overlays for nobody. "doctor", "profiles lint" and "init" report the findings.
package checks

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
	"github.com/codemode-project/codemode/internal/runs/loader"
)

// A ServerPower is a word in the entry of a server that names a folder or file with which a program could control
// codemode.
type ServerPower struct {
	Server config.Server
	where  string // args, or the variable of its environment
	path   string // as written in the entry
	power  *loader.PowerError
}

// ServerPowers finds them in all servers that run as a process. It does not know what a server does with a folder; most
// servers let programs read and write there.
func ServerPowers(o codemode.Options, cfg *config.Config) ([]ServerPower, error) {
	places, err := codemode.Powers(o, cfg)
	if err != nil {
		return nil, err
	}
	marks, err := loader.MarksOf(places)
	if err != nil {
		return nil, err
	}
	var found []ServerPower
	for _, entry := range cfg.Servers {
		s, err := entry.Connection(o.Env)
		if err != nil || !s.OwnProcess() {
			continue
		}
		examine := func(where, text string) {
			for _, path := range pathsIn(text) {
				power, ok := errors.AsType[*loader.PowerError](marks.JudgeFor(ExpandHome(path, s.Dir), s.Name))
				if ok { // one for each word: the readings of a word overlap
					found = append(found, ServerPower{entry, where, path, power})
					return
				}
			}
		}
		for _, arg := range s.Words() {
			examine("args", arg)
		}
		for name, value := range s.Env {
			if name != "PATH" { // the folders of the programs that it starts
				examine("env "+name, value)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b ServerPower) int { return strings.Compare(a.Server.Name, b.Server.Name) })
	return found, nil
}

// PowerHint says how to fix it.
const PowerHint = "give the server a folder that contains none of this, or deny its tools that read and write there"

func (p ServerPower) String() string {
	return fmt.Sprintf("its %s has %s, which %s %s (%s): a program that can write there could change what it may do",
		p.where, p.path, p.power.Relation, p.power.What, p.power.Place.Path)
}

// pathsIn lists the possible paths in a word of a command: the word, its parts after = and between commas, colons and
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

// ExpandHome resolves a path as the server does: relative to its folder, with ~ and $HOME as in a shell.
func ExpandHome(path, dir string) string {
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
