package doctor

import (
	"errors"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/runs/inforce"
)

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
