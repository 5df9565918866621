package codemode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/codemode-project/codemode/catalog"
	"github.com/codemode-project/codemode/profiles"
	"github.com/codemode-project/codemode/upstream"
)

// configure loads the configuration for the first time and starts watching it.
func (e *Evaluator) configure(ctx context.Context) error {
	if e.options.ConfigPath == "" {
		return e.apply(e.options.Config)
	}
	cfg, err := profiles.Load(e.options.ConfigPath)
	if err != nil {
		return err
	}
	if err := e.apply(cfg); err != nil {
		return err
	}
	e.watcher, err = profiles.Watch(e.ctx, e.options.ConfigPath, profiles.WatchOptions{Last: cfg, Log: e.log}, e.reload)
	if err != nil {
		return fmt.Errorf("watching %s: %w", e.options.ConfigPath, err)
	}
	return nil
}

// reload takes a new version of the file. A version that must not be used
// changes nothing but the status.
func (e *Evaluator) reload(cfg *profiles.Config, err error) {
	if err == nil {
		err = e.apply(cfg)
	}
	if err != nil {
		e.stale.Store(&err)
		e.log.Error("the changed configuration is not used; the rules of its last good version hold", "file", e.options.ConfigPath, "problem", err.Error())
		return
	}
	e.stale.Store(nil)
	e.log.Info("the configuration was reloaded", "file", e.options.ConfigPath, "profiles", cfg.Names())
	e.publish()
}

// apply makes cfg what holds. On an error nothing has changed.
func (e *Evaluator) apply(cfg *profiles.Config) error {
	servers, err := e.servers(cfg)
	if err != nil {
		return err
	}
	if cfg != nil {
		for _, w := range cfg.Warnings {
			e.log.Warn("configuration", "problem", w.String())
		}
	}
	// Rules first: a server that the new rules let in must not be reachable under the old ones.
	e.config.Store(cfg)
	timeouts := map[string]time.Duration{}
	for _, s := range servers {
		if s.Timeout > 0 {
			timeouts[s.Name] = s.Timeout
		}
	}
	e.timeouts.Store(&timeouts)
	e.manager.Set(servers)
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
	taken := map[string]bool{}
	for _, s := range cfg.Servers {
		server, warnings, err := upstream.ParseServer(s.Name, s.JSON, e.options.Env)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Pos, err)
		}
		for _, w := range warnings {
			e.log.Warn("configuration", "at", s.Pos.String(), "server", s.Name, "problem", w)
		}
		servers = append(servers, server)
		taken[s.Name] = true
	}
	built, err := builtins(cfg.Builtin)
	if err != nil {
		return nil, fmt.Errorf("%s: builtin: %w", cfg.Path, err)
	}
	if built.time && !taken["time"] {
		servers = append(servers, upstream.Time().Server())
	}
	root := e.options.Root
	if root == "" && built.root != "" {
		root = built.root
		if !filepath.IsAbs(root) && cfg.Path != "" {
			root = filepath.Join(filepath.Dir(cfg.Path), root)
		}
	}
	if root != "" && !taken["filesystem"] {
		server, err := e.filesystem(root)
		if err != nil {
			return nil, err
		}
		servers = append(servers, server)
	}
	return servers, nil
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
	e.roots[path] = &openRoot{root: root, server: upstream.Filesystem(root).Server()}
	return e.roots[path].server, nil
}

// toolsChanged takes an upstream's list of tools into the catalogue.
func (e *Evaluator) toolsChanged(server string, tools []upstream.Tool, instructions string) {
	list := make([]catalog.Tool, 0, len(tools))
	for _, t := range tools {
		list = append(list, catalog.Tool{
			Server: server, Raw: t.Name, Title: t.Title, Description: t.Description,
			Input: t.Input, Output: t.Output, Annotations: t.Annotations,
		})
	}
	for _, p := range e.catalog.Replace(server, list) {
		e.log.Warn("catalogue", "server", server, "problem", p.String())
	}
	e.mu.Lock()
	e.listed[server] = instructions
	e.mu.Unlock()
	e.publish()
}

func (e *Evaluator) gone(server string) {
	e.catalog.Remove(server)
	e.mu.Lock()
	delete(e.listed, server)
	e.mu.Unlock()
	e.publish()
}

// Stale says why the configuration file is not what holds at the moment; nil
// means that it is.
func (e *Evaluator) Stale() error {
	if err := e.stale.Load(); err != nil {
		return *err
	}
	return nil
}

// Config is the configuration that holds now; nil when there is none.
func (e *Evaluator) Config() *profiles.Config { return e.config.Load() }

// Profiles lists the profiles that are exposed as tools, sorted.
func (e *Evaluator) Profiles() []string {
	if cfg := e.config.Load(); cfg != nil {
		return cfg.Names()
	}
	return nil
}
