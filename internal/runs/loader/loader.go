// Package loader puts configuration files in force. It reads them, watches them, and makes an [inforce.State] of each
// good version. It reports a broken version and keeps the last good one in force.
//
// [Powers] lists the files and folders that give power over this process: its configuration, its state, its keys, the
// programs that it starts. The loader refuses a root of the built-in filesystem through which a program could reach one
// of them. [MarksOf] finds them on the disk, and [Marks.Judge] says whether programs may have a folder. It compares
// files, not paths, so symbolic links, bind mounts, hard links and other letter cases make no difference. It cannot
// recognise a copy of a file, nor a file in a file system that numbers the same files differently (FUSE, NFS to this
// machine, an overlay).
package loader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/tools/upstream/builtin"
)

// A Loader reads the configuration, watches its files, and puts it in force.
type Loader struct {
	options Options
	log     *slog.Logger
	rules   *inforce.Rules
	ctx     context.Context // ends when the Evaluator closes

	mu       sync.Mutex           // one change at a time; guards the rest
	base     *config.Config       // without the overlays from people's tools
	overlays []byte               // from people's tools, when no file stores them
	capacity config.Capacity      // as it was at the start
	watcher  *config.Watcher      // nil without a file
	roots    map[string]*openRoot // directories of the built-in filesystem, by path
	saved    map[string]*os.Root  // folders of saved programs, by path
}

// New makes a Loader that has loaded nothing. It follows files until ctx ends.
func New(ctx context.Context, o Options) *Loader {
	if o.Files.Env == nil {
		o.Files.Env = o.Env
	}
	return &Loader{
		options: o, log: o.Log, rules: o.Rules, ctx: ctx, roots: map[string]*openRoot{}, saved: map[string]*os.Root{},
	}
}

// openRoot is an open directory and its server. A reload that does not change it keeps both.
type openRoot struct {
	root   *os.Root
	server upstream.Server
}

// capacityOf is the capacity of the process for all principals together.
func capacityOf(cfg *config.Config) config.Capacity {
	if cfg != nil && cfg.Capacity != nil {
		return *cfg.Capacity
	}
	return config.Capacity{}
}

// Hold runs f with the configuration in force. No reload happens meanwhile.
func (l *Loader) Hold(f func(*config.Config) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return f(l.rules.Config())
}

// Capacity is the capacity of the process for all principals together, by the configuration at the start.
func (l *Loader) Capacity() config.Capacity { return l.capacity }

// Close ends the watching. Directories stay open while servers may use them.
func (l *Loader) Close() error {
	if l.watcher == nil {
		return nil
	}
	return l.watcher.Close()
}

// CloseFolders closes the directories of the built-in filesystem and of saved programs.
func (l *Loader) CloseFolders() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, r := range l.roots {
		errs = append(errs, r.root.Close())
	}
	for _, root := range l.saved {
		errs = append(errs, root.Close())
	}
	return errors.Join(errs...)
}

// Start loads the configuration for the first time and starts watching it. The error of an unusable configuration is
// [config.Problems].
func (l *Loader) Start() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	files := l.options.Files
	cfg := l.options.Config
	if !files.None() {
		var err error
		if cfg, err = files.Load(); err != nil {
			return err
		}
	}
	if err := l.apply(cfg); err != nil {
		return err
	}
	l.capacity = capacityOf(l.rules.Config())
	if files.None() {
		return nil
	}
	var err error
	l.watcher, err = config.WatchFiles(l.ctx, files, config.WatchOptions{Last: cfg, Log: l.log}, l.reload)
	if err != nil {
		return fmt.Errorf("watching %s: %w", cfg.Path, err)
	}
	return nil
}

// reload handles a change of the files. With only an error the rules stay as they are, and are marked as stale. With
// both a configuration and an error, only the project's file is broken.
func (l *Loader) reload(cfg *config.Config, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cfg != nil {
		if failed := l.apply(cfg); failed != nil {
			cfg, err = nil, errors.Join(err, failed)
		}
	}
	l.rules.Mark(err)
	if err != nil {
		message := "the changed configuration is not used; the rules of its last good version hold"
		if cfg != nil {
			message = "the changed project file is not used; its last good version holds, with the other files as they are"
		}
		l.log.Error(message, "error", err) // the error names the file
		l.options.Note(l.ctx, "rejected", nil, err)
	}
	if cfg == nil {
		return
	}
	if capacityOf(l.rules.Config()) != l.capacity {
		l.log.Warn(`the key "capacity" was changed; what it said before holds until codemode is started again`)
	}
	l.log.Info("the configuration was reloaded", "file", cfg.Path, "profiles", cfg.Names())
	l.options.Note(l.ctx, "changed", cfg, nil)
	l.options.Changed()
}

// apply puts base, with the overlays from people's tools, in force. After an error nothing has changed. The caller
// holds mu.
func (l *Loader) apply(base *config.Config) error {
	cfg, err := l.narrowed(base)
	if err != nil {
		return err
	}
	servers, err := l.servers(cfg)
	if err != nil {
		return err
	}
	scripts, err := l.savedPrograms(cfg)
	if err != nil {
		return err
	}
	if cfg != nil {
		for _, w := range cfg.Warnings {
			l.log.Warn("the configuration has a problem", "error", config.Problems{w})
		}
	}
	s := &inforce.State{
		Config: cfg, Scripts: scripts, Stale: l.rules.Now().Stale,
		Servers: map[string]inforce.Server{"time": {Trusted: true}, "filesystem": {Trusted: true}},
	}
	if cfg != nil {
		for _, entry := range cfg.Servers {
			identity := catalog.ServerIdentity(entry.Name, entry.JSON)
			s.Servers[entry.Name] = inforce.Server{Trusted: entry.TrustAnnotations, Identity: identity}
		}
	}
	for _, own := range l.options.Servers {
		s.Servers[own.Name] = inforce.Server{
			Trusted: own.TrustAnnotations, Believed: own.TrustAnnotations, Identity: catalog.ServerIdentity(own.Name, ownEntry),
		}
	}
	for i, server := range servers {
		known := s.Servers[server.Name]
		known.Timeout = server.Timeout
		s.Servers[server.Name] = known
		servers[i].Timeout = 0 // the Gate enforces it, and stops its clock while a person is asked
	}
	l.base = base
	// Rules first: a server that only the new rules admit must not be reachable under the old ones.
	l.rules.Replace(s)
	l.options.Use(servers)
	return nil
}

// narrowed adds the overlays that are in no file.
func (l *Loader) narrowed(cfg *config.Config) (*config.Config, error) {
	if cfg == nil || len(l.overlays) == 0 {
		return cfg, nil
	}
	return cfg.With(config.Source{File: "overlays", Data: l.overlays, Standing: config.Narrowing})
}

// ownEntry stands for the entry in a configuration that the embedding program's servers do not have.
var ownEntry = json.RawMessage("functions")

// servers lists the upstreams of cfg: the configured ones, the built-in ones with names that no configured one has, and
// those of the embedding program.
func (l *Loader) servers(cfg *config.Config) ([]upstream.Server, error) {
	servers := slices.Clone(l.options.Servers)
	if cfg == nil {
		return servers, nil
	}
	var wrong []error
	taken := map[string]bool{}
	for _, s := range cfg.Servers {
		if own := l.own(s.Name); own != "" {
			wrong = append(wrong, fmt.Errorf("%s: the server %q has the name of the server %q of this program's functions; "+
				"rename it", s.Pos, s.Name, own))
			continue
		}
		server, err := s.Connection(l.options.Env)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		servers = append(servers, upstream.Server{Server: server})
		taken[s.Name] = true
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...) // all at once, for the person who corrects the file
	}
	if (cfg.Builtin == nil || cfg.Builtin.Time) && !taken["time"] {
		servers = append(servers, upstream.BuiltIn(builtin.Time()))
	}
	if root := l.filesRoot(cfg); root != "" {
		if err := l.options.judgeRoot(root, cfg); err != nil {
			return nil, err
		}
		server, err := l.filesystem(root)
		if err != nil {
			return nil, err
		}
		servers = append(servers, server)
	}
	return servers, nil
}

// own returns the name of a server of the embedding program that has the same name for programs as another server, ""
// if there is none.
func (l *Loader) own(name string) string {
	for _, s := range l.options.Servers {
		if call.Part(s.Name) == call.Part(name) {
			return s.Name
		}
	}
	return ""
}

// filesRoot is the directory of the built-in filesystem; "" if there is none.
func (l *Loader) filesRoot(cfg *config.Config) string {
	switch {
	case slices.ContainsFunc(cfg.Servers, func(s config.Server) bool { return s.Name == "filesystem" }):
		return "" // a configured server replaces it
	case l.options.Root != "":
		return l.options.Root
	case cfg.Builtin == nil || cfg.Builtin.Root == "":
		return ""
	}
	return beside(cfg.Path, cfg.Builtin.Root)
}

// filesystem returns the built-in server for a directory; the same directory
// gives the same server. The caller holds mu.
func (l *Loader) filesystem(path string) (upstream.Server, error) {
	if open := l.roots[path]; open != nil {
		return open.server, nil
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return upstream.Server{}, fmt.Errorf("the root of the built-in filesystem: %w", err)
	}
	l.roots[path] = &openRoot{root: root, server: upstream.BuiltIn(builtin.Filesystem(root, l.options.guard))}
	return l.roots[path].server, nil
}

// savedPrograms opens the folder of saved programs that cfg names, or returns the open one. [os.Root] follows no
// symbolic link that leads out of it, and [Options.judgeRoot] keeps programs from writing there. The caller holds mu.
func (l *Loader) savedPrograms(cfg *config.Config) (*os.Root, error) {
	if cfg == nil || cfg.Scripts == nil {
		return nil, nil
	}
	wrong := func(err error) (*os.Root, error) {
		return nil, fmt.Errorf("%s: the root of the saved programs: %w", cfg.Scripts.Pos, err)
	}
	for _, s := range cfg.Scripts.Allow {
		err := inforce.Fits(context.Background(), s.Input, nil) // an error about the input: the schema is good
		if _, misfit := errors.AsType[*catalog.ArgumentError](err); err != nil && !misfit {
			return nil, fmt.Errorf("%s: the input of a saved program: %w", s.Pos, err)
		}
	}
	folder, err := canonical(beside(cfg.Scripts.Pos.File, cfg.Scripts.Root))
	if err != nil {
		return wrong(err)
	}
	if l.saved[folder] == nil {
		root, err := os.OpenRoot(folder)
		if err != nil {
			return wrong(err)
		}
		l.saved[folder] = root
	}
	return l.saved[folder], nil
}

// canonical returns the only path of a folder without symbolic links.
func canonical(name string) (string, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(name)
}
