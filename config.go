package codemode

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/codemode-project/codemode/profiles"
	"github.com/codemode-project/codemode/upstream"
)

// configure loads the configuration for the first time and starts watching it.
func (e *Evaluator) configure(ctx context.Context) error {
	e.configuring.Lock()
	defer e.configuring.Unlock()
	files := e.files()
	if files.None() {
		return e.apply(e.options.Config)
	}
	cfg, err := files.Load()
	if err != nil {
		return err
	}
	if err := e.apply(cfg); err != nil {
		return err
	}
	e.watcher, err = profiles.WatchFiles(e.ctx, files, profiles.WatchOptions{Last: cfg, Log: e.log}, e.reload)
	if err != nil {
		return fmt.Errorf("watching %s: %w", cfg.Path, err)
	}
	return nil
}

// files are the configuration files that were named.
func (e *Evaluator) files() profiles.Files {
	files := e.options.Files
	files.User = cmp.Or(e.options.ConfigPath, files.User)
	if files.Servers == nil {
		files.Servers = CheckServers(e.options.Env)
	}
	return files
}

// CheckServers is for [profiles.Files]: it finds what is wrong with the servers of a file where the variables are those
// of env, such as os.LookupEnv.
func CheckServers(env func(string) (string, bool)) profiles.ServerCheck {
	return func(name string, raw json.RawMessage) (wrong, doubts []profiles.ServerProblem) {
		problems := func(all []upstream.Mistake) (list []profiles.ServerProblem) {
			for _, m := range all {
				list = append(list, profiles.ServerProblem(m))
			}
			return list
		}
		mistakes, odd := upstream.CheckServer(name, raw, env)
		return problems(mistakes), problems(odd)
	}
}

// reload takes a new version of the file. A version that must not be used
// changes nothing but the status. With both a configuration and an error it is
// the project's file alone that is not used as it is now.
func (e *Evaluator) reload(cfg *profiles.Config, err error) {
	e.configuring.Lock()
	defer e.configuring.Unlock()
	if cfg != nil {
		if failed := e.apply(cfg); failed != nil {
			cfg, err = nil, errors.Join(err, failed)
		}
	}
	e.rules.mark(err)
	if err != nil {
		message := "the changed configuration is not used; the rules of its last good version hold"
		if cfg != nil {
			message = "the changed project file is not used; its last good version holds, with the other files as they are"
		}
		e.log.Error(message, "problem", err) // which names the file
		e.recordPolicy(e.ctx, "rejected", nil, err)
	}
	if cfg == nil {
		return
	}
	if e.Capacity() != e.capacity {
		e.log.Warn(`the key "capacity" was changed; what it said before holds until codemode is started again`)
	}
	e.log.Info("the configuration was reloaded", "file", cfg.Path, "profiles", cfg.Names())
	e.recordPolicy(e.ctx, "changed", cfg, nil)
	e.publish()
}

// apply makes cfg, with the overlays from people's tools, what holds. On an
// error nothing has changed. The caller holds configuring.
func (e *Evaluator) apply(base *profiles.Config) error {
	cfg, err := e.narrowed(base)
	if err != nil {
		return err
	}
	servers, err := e.servers(cfg)
	if err != nil {
		return err
	}
	scripts, err := e.savedPrograms(cfg)
	if err != nil {
		return err
	}
	if cfg != nil {
		for _, w := range cfg.Warnings {
			e.log.Warn("configuration", "problem", profiles.Problems{w})
		}
	}
	s := &state{config: cfg, scripts: scripts, stale: e.rules.current.Load().stale, servers: map[string]serverState{"time": {trusted: true}, "filesystem": {trusted: true}}}
	if cfg != nil {
		for _, entry := range cfg.Servers {
			s.servers[entry.Name] = serverState{trusted: entry.TrustAnnotations, identity: identityOf(entry.Name, entry.JSON)}
		}
	}
	for i, server := range servers {
		known := s.servers[server.Name]
		known.timeout = server.Timeout
		s.servers[server.Name] = known
		servers[i].Timeout = 0 // the Gate's clock counts it, and stands still while a person is awaited
	}
	e.base = base
	// Rules first: a server that the new rules let in must not be reachable under the old ones.
	e.rules.current.Store(s)
	e.keeper.learn(servers)
	e.tools.manager.Set(servers)
	return nil
}

// BaseTool is the tool that runs programs under the default profile.
const BaseTool = "codemode_eval"

// servers lists the upstreams of cfg: the configured ones, and the built-in
// ones whose names are not taken.
func (e *Evaluator) servers(cfg *profiles.Config) ([]upstream.Server, error) {
	if cfg == nil {
		return nil, nil
	}
	var servers []upstream.Server
	var wrong []error
	taken := map[string]bool{}
	for _, s := range cfg.Servers {
		server, warnings, err := upstream.ParseServer(s.Name, s.JSON, e.options.Env)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", s.Pos, err))
			continue
		}
		for _, w := range warnings {
			if e.files().None() { // else they are among those of the files
				e.log.Warn("configuration", "at", s.Pos.String(), "server", s.Name, "problem", w)
			}
		}
		servers = append(servers, server)
		taken[s.Name] = true
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...) // whoever mends the file wants to see all of them
	}
	built, err := builtins(cfg.Builtin)
	if err != nil {
		return nil, fmt.Errorf("%s: builtin: %w", cfg.Path, err)
	}
	if built.time && !taken["time"] {
		servers = append(servers, upstream.Time().Server())
	}
	root, err := e.filesRoot(cfg)
	if err != nil {
		return nil, err
	}
	if root != "" {
		if err := e.judgeRoot(root, cfg); err != nil {
			return nil, err
		}
		server, err := e.filesystem(root)
		if err != nil {
			return nil, err
		}
		servers = append(servers, server)
	}
	return servers, nil
}

// filesRoot is the directory of the built-in filesystem; "" if there is none.
func (e *Evaluator) filesRoot(cfg *profiles.Config) (string, error) {
	if slices.ContainsFunc(cfg.Servers, func(s profiles.Server) bool { return s.Name == "filesystem" }) {
		return "", nil // that one takes its place
	}
	if e.options.Root != "" {
		return e.options.Root, nil
	}
	built, err := builtins(cfg.Builtin)
	if err != nil || built.root == "" {
		return "", err
	}
	return beside(cfg.Path, built.root), nil
}

// builtinServers says which built-in servers a configuration wants.
type builtinServers struct {
	time bool
	root string // of the filesystem; relative to the configuration file
}

// builtins reads the key "builtin": false, or an object such as
// {"time": false, "filesystem": {"root": "notes"}}. Without the key there is time.
func builtins(raw json.RawMessage) (builtinServers, error) {
	if len(raw) == 0 {
		return builtinServers{time: true}, nil
	}
	var on bool
	if json.Unmarshal(raw, &on) == nil {
		return builtinServers{time: on}, nil
	}
	var object struct {
		Time       *bool           `json:"time"`
		Filesystem json.RawMessage `json:"filesystem"`
	}
	if err := strict(raw, &object); err != nil {
		return builtinServers{}, err
	}
	b := builtinServers{time: object.Time == nil || *object.Time}
	if len(object.Filesystem) == 0 || string(object.Filesystem) == "false" {
		return b, nil
	}
	var filesystem struct {
		Root string `json:"root"`
	}
	if err := strict(object.Filesystem, &filesystem); err != nil {
		return b, err
	}
	if filesystem.Root == "" {
		return b, errors.New(`filesystem needs a directory: {"filesystem": {"root": "notes"}}`)
	}
	b.root = filesystem.Root
	return b, nil
}

func strict(raw json.RawMessage, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// filesystem returns the built-in server for a directory; the same directory
// gives the same server.
func (e *Evaluator) filesystem(path string) (upstream.Server, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if open := e.roots[path]; open != nil {
		return open.server, nil
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return upstream.Server{}, fmt.Errorf("the root of the built-in filesystem: %w", err)
	}
	e.roots[path] = &openRoot{root: root, server: upstream.Filesystem(root, e.guard).Server()}
	return e.roots[path].server, nil
}

// Stale says why the configuration file is not what holds at the moment; nil
// means that it is.
func (e *Evaluator) Stale() error {
	return e.rules.current.Load().stale
}

// Config is the configuration that holds now; nil when there is none.
func (e *Evaluator) Config() *profiles.Config { return e.rules.config() }

// Profiles lists the profiles that are exposed as tools, sorted.
func (e *Evaluator) Profiles() []string {
	if cfg := e.rules.config(); cfg != nil {
		return cfg.Names()
	}
	return nil
}
