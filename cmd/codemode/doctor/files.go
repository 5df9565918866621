package doctor

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
	"github.com/codemode-project/codemode/cmd/codemode/checks"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/cmd/codemode/setup"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// Permissions of others than the owner of a file.
const (
	anybodyWrites = 0o002
	groupWrites   = 0o020
)

// file finds the configuration file and checks who may change and read it.
func (d *diagnosis) file(set *launch.Settings) (path string) {
	path, err := set.File()
	switch {
	case err != nil:
		d.fail(cli.ExitUsage, "configuration", "file", "", "%v", err)
		return path
	case path == "" && len(config.ReadEnvironment(os.Environ())) > 0:
		return path // the variables are the configuration
	case path == "":
		d.warn("configuration", "file", "codemode init writes one from those of your other clients",
			"there is none: only the built-in servers exist, and codemode_eval is unrestricted")
		return path
	}
	info, err := os.Stat(path)
	if err != nil {
		d.fail(cli.ExitUsage, "configuration", path, "codemode init writes one", "%v", err)
		return path
	}
	switch mode, hint := info.Mode().Perm(), "chmod go-w "+cli.ShellWord(path); {
	case mode&anybodyWrites != 0:
		d.fail(cli.ExitUsage, "permissions", path, hint, "other users may write it (%v), and it starts programs", mode)
	case mode&groupWrites != 0:
		d.warn("permissions", path, hint, "your group may write it (%v), and it starts programs", mode)
	}
	if dir, err := os.Stat(filepath.Dir(path)); err == nil && dir.Mode().Perm()&anybodyWrites != 0 &&
		dir.Mode()&fs.ModeSticky == 0 {
		d.warn("permissions", filepath.Dir(path), "chmod o-w "+cli.ShellWord(filepath.Dir(path)),
			"other users may replace files in it (%v)", dir.Mode().Perm())
	}
	return path
}

// configuration reports that the file was read, and its warnings and problems.
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
		d.ok("configuration", path, "%s, %s", cli.Count(len(cfg.Servers), "server"), cli.Count(len(cfg.All()), "profile"))
	}
	for _, w := range cfg.Warnings {
		d.warn("configuration", fmt.Sprintf("%s:%d:%d", filepath.Base(w.File), w.Line, w.Column), w.Hint, "%s", w.Message)
	}
	place := call.Position.String
	for _, p := range checks.MachineProblems(cfg, launch.Env) {
		d.fail(cli.ExitUsage, "configuration", filepath.Base(place(p.Position)), cmp.Or(p.Hint,
			"codemode serve refuses to start with it"), "%s", p.Message)
	}
	for _, p := range checks.OverlaysForNobody(cfg, launch.Env) {
		d.fail(cli.ExitUsage, "configuration", filepath.Base(place(p.Position)), p.Hint, "%s", p.Message)
	}
	secrets := 0
	for _, server := range cfg.Servers {
		var entry map[string]any
		if json.Unmarshal(server.JSON, &entry) == nil {
			secrets += len(checks.LiteralSecrets(entry))
		}
	}
	if info, err := os.Stat(path); err == nil && secrets > 0 && info.Mode().Perm()&0o044 != 0 {
		d.warn("permissions", path, "chmod go-r "+cli.ShellWord(path)+", or write ${NAME} in their place",
			"other users may read it (%v), and %s in it look secret", info.Mode().Perm(), cli.Count(secrets, "value"))
	}
}

func toolCount(all []upstream.Status) int {
	n := 0
	for _, st := range all {
		n += st.Tools
	}
	return n
}

// clients finds servers that a client also starts without codemode: those calls pass no rules.
func (d *diagnosis) clients(e *codemode.Evaluator) {
	var servers []config.Server
	if cfg := e.Config(); cfg != nil {
		servers = cfg.Servers
	}
	for _, f := range setup.ClientUses(servers) {
		switch {
		case len(f.Bypassed) > 0:
			d.warn("client", f.Name, "remove them from "+f.Path+", or codemode init --install --client "+f.ID+" does",
				"it also starts %s itself: those calls pass none of the rules here", strings.Join(f.Bypassed, ", "))
		case f.UsesCodemode:
			d.ok("client", f.Name, "it uses codemode (%s)", f.Path)
		case f.Namesake:
			d.warn("client", f.Name, "codemode init --install --client "+f.ID+" adds this one beside it",
				"its server codemode is not this codemode (%s)", f.Path)
		}
	}
}

// name finds another program with the name codemode in the folders of a PATH.
func (d *diagnosis) name(path string) {
	switch n, found := setup.FindNamesake(path); {
	case found && n.First:
		d.warn("name", n.Path, n.WayOut(), "%v", n)
	case found:
		d.ok("name", n.Path, "%v", n)
	}
}

// powers warns of servers that get folders with which programs could control codemode.
func (d *diagnosis) powers(set *launch.Settings, e *codemode.Evaluator) {
	cfg := e.Config()
	if cfg == nil {
		return
	}
	o, err := set.Options(nil, nil)
	var found []checks.ServerPower
	if err == nil {
		found, err = checks.ServerPowers(o, cfg)
	}
	if err != nil {
		d.warn("permissions", "servers", "",
			"cannot find out whether servers get folders that give power over codemode: %s",
			strings.Join(cli.ErrorLines(err), "; "))
		return
	}
	for _, p := range found {
		d.warn("permissions", p.Server.Name, checks.PowerHint, "%s", p)
	}
}

// cache checks the folder of the compiled guest: a user who can write there can make us run any code.
func (d *diagnosis) cache() {
	dir := launch.CacheDir()
	if dir == "" {
		d.warn("cache", "compiled guest", "set XDG_CACHE_HOME to a folder that you may write",
			"there is no folder for it: each start compiles for a second")
		return
	}
	info, err := os.Stat(dir)
	if err != nil {
		d.warn("cache", dir, "", "%v", err)
		return
	}
	if info.Mode().Perm()&anybodyWrites != 0 {
		d.fail(cli.ExitInternal, "cache", dir, "chmod go-w "+cli.ShellWord(dir),
			"other users may write it (%v), and codemode runs the code in it", info.Mode().Perm())
		return
	}
	if err := cli.CanCreateFiles(dir); err != nil {
		d.warn("cache", dir, "", "it cannot be written, so each start compiles for a second: %v", err)
		return
	}
	d.ok("cache", dir, "compiled code is kept here")
}

// scripts reads the saved programs that the configuration names, which may have changed since a person allowed them.
func (d *diagnosis) scripts(e *codemode.Evaluator) {
	cfg := e.Config()
	if cfg == nil || cfg.Scripts == nil {
		return
	}
	good := 0
	for _, rule := range cfg.Scripts.Allow {
		if rule.File == "" {
			continue
		}
		_, err := e.Rules().Script(rule.File)
		if err == nil {
			good++
			continue
		}
		why := err.Error()
		if no, ok := errors.AsType[*inforce.ScriptError](err); ok {
			why = no.Detail
		}
		d.fail(cli.ExitInternal, "script", rule.File, "look at the file, then write its SHA-256 at "+rule.Pos.Short(),
			"it cannot be run: %s", why)
	}
	if good > 0 {
		d.ok("script", "saved programs", "%s as a person allowed it", cli.Count(good, "file"))
	}
}
