package codemode

import (
	"encoding/json"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/upstream"
)

// CheckServers is for [profiles.Files]: it finds what is wrong with the servers of a file where the variables are those
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

// Stale says why the configuration file is not what holds at the moment; nil
// means that it is.
func (e *Evaluator) Stale() error {
	return e.rules.Now().Stale
}

// Config is the configuration that holds now; nil when there is none.
func (e *Evaluator) Config() *config.Config { return e.rules.Config() }

// Profiles lists the profiles that are exposed as tools, sorted.
func (e *Evaluator) Profiles() []string {
	if cfg := e.rules.Config(); cfg != nil {
		return cfg.Names()
	}
	return nil
}
