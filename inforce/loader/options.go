package loader

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/inforce"
	"github.com/codemode-project/codemode/upstream"
)

// Options say what is loaded and who hears of it.
type Options struct {
	Files  config.Files                     // all of them are read and watched
	Config *config.Config                   // holds where Files names none; nil allows nothing
	Env    func(name string) (string, bool) // looks up the variables that a configuration refers to
	Log    *slog.Logger

	Root      string            // of the built-in filesystem; "" leaves it to the configuration
	Protected map[string]string // more places that give power: path to what is there

	// The folders of the state, of the record and of compiled code; "" where there is none.
	StateDir, RecordDir, CacheDir string

	Rules *inforce.Rules
	// Use makes these servers the ones that are connected to.
	Use func([]upstream.Server)
	// Note puts into the record which rules are in force.
	Note func(ctx context.Context, state string, cfg *config.Config, problem error)
	// Changed is called after each change.
	Changed func()
}

// CheckServers is for [config.Files]: it finds what is wrong with the servers of a file where the variables are those
// of env, such as os.LookupEnv.
func CheckServers(env func(string) (string, bool)) config.ServerCheck {
	return func(name string, raw json.RawMessage) (wrong, doubts []config.ServerProblem) {
		problems := func(all []upstream.Mistake) (list []config.ServerProblem) {
			for _, m := range all {
				list = append(list, config.ServerProblem(m))
			}
			return list
		}
		mistakes, odd := upstream.CheckServer(name, raw, env)
		return problems(mistakes), problems(odd)
	}
}

// beside reads a path as the configuration file has it: relative to that file.
func beside(config, name string) string {
	if filepath.IsAbs(name) || config == "" {
		return name
	}
	return filepath.Join(filepath.Dir(config), name)
}
