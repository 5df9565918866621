package loader

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// Options say what a Loader loads, and which functions it calls.
type Options struct {
	Files  config.Files                     // the Loader reads and watches all of them
	Config *config.Config                   // in force if Files names no file; nil allows nothing
	Env    func(name string) (string, bool) // looks up the variables that a configuration refers to
	Log    *slog.Logger

	Root      string            // of the built-in filesystem; "" leaves it to the configuration
	Protected map[string]string // more places that give power: path to a description

	// The folders of the state, of the record and of compiled code; "" where there is none.
	StateDir, RecordDir, CacheDir string

	// Servers are the embedding program's own, of package upstream/builtin. They are in force with every
	// configuration, and have names that no configured server may have.
	Servers []upstream.Server

	Rules *inforce.Rules
	// Use connects to these servers, and disconnects all others.
	Use func([]upstream.Server)
	// Note records which rules are in force, or why a version was rejected.
	Note func(ctx context.Context, state string, cfg *config.Config, problem error)
	// Changed is called after each change.
	Changed func()
}

// beside makes a path of a configuration file absolute: it is relative to the folder of that file.
func beside(config, name string) string {
	if filepath.IsAbs(name) || config == "" {
		return name
	}
	return filepath.Join(filepath.Dir(config), name)
}
