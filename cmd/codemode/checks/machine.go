package checks

import (
	"errors"
	"maps"
	"regexp"
	"slices"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/settings"
)

// MachineProblems are the reasons why codemode serve cannot use a valid configuration on this machine: variables that
// are unset, or have an invalid value. env looks them up.
func MachineProblems(cfg *config.Config, env func(string) (string, bool)) config.Problems {
	var all config.Problems
	add := func(err error) {
		if some, ok := errors.AsType[config.Problems](err); ok {
			all = append(all, some...)
		} else if err != nil {
			all = append(all, config.Problem{Position: call.Position{File: cfg.Path}, Message: err.Error()})
		}
	}
	_, err := recorder.PlaceOf("", cfg, env)
	add(err)
	_, err = cfg.HTTP(env)
	add(err)
	if cfg.Console != nil && cfg.Console.SignIn != nil {
		_, err := cfg.Console.SignIn.Secret(env)
		add(err)
	}
	if cfg.Notifications != nil {
		for _, d := range cfg.Notifications.Destinations {
			_, err := d.Target(env)
			add(err)
		}
	}
	return all
}

// secretName matches the usual names of variables and headers that hold a secret.
var secretName = regexp.MustCompile(`(?i)token|key|secret|passw|pwd|auth|credential|cookie|dsn`)

// LiteralSecrets names the variables and headers of a server's entry that look secret and have a literal value instead
// of a variable.
func LiteralSecrets(entry map[string]any) []string {
	var names []string
	for _, key := range []string{"env", "environment", "headers", "http_headers"} {
		values, _ := entry[key].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(values)) {
			text, ok := values[name].(string)
			if ok && text != "" && secretName.MatchString(name) && settings.Literal(text) {
				names = append(names, name)
			}
		}
	}
	return names
}
