package doctor

import (
	"maps"
	"slices"
	"strings"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/confined"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/confine"
)

// confinement tries what "serve --confine" promises, and says what each server would reach.
func (d *diagnosis) confinement(set *launch.Settings, e *codemode.Evaluator) {
	cfg := e.Config()
	wanted := cfg != nil && cfg.Confine != nil && cfg.Confine.On
	const check, subject = "confine", "this system"
	missing := confine.Missing()
	stopped, err := confine.Try()
	var open []string
	for _, part := range slices.Sorted(maps.Keys(stopped)) {
		if !stopped[part] {
			open = append(open, part)
		}
	}
	const hint = `"best-effort" goes on without that`
	switch text := strings.Join(missing, "; "); {
	case wanted && !confine.Possible():
		d.fail(cli.ExitInternal, check, subject, `remove "confine" from the configuration to start without it`,
			"codemode serve does not start: %s", text)
	case err != nil && wanted:
		d.fail(cli.ExitInternal, check, subject, hint, "a confined process did not run: %v", err)
	case err != nil:
		d.ok(check, subject, "serve --confine would not start: %v", err)
	case len(open) > 0 && wanted && !cfg.Confine.BestEffort:
		d.fail(cli.ExitInternal, check, subject, hint, "a confined process still reached %s; %s", strings.Join(open, ", "), text)
	case len(open) > 0 || len(missing) > 0:
		d.warn(check, subject, "", "a confined process still reached %s; %s", strings.Join(open, ", "), text)
	default:
		d.ok(check, subject, "a confined process was stopped at %s", strings.Join(slices.Sorted(maps.Keys(stopped)), ", "))
	}
	if wanted {
		d.reaches(set, e)
	}
}

// reaches says what each server would reach.
func (d *diagnosis) reaches(set *launch.Settings, e *codemode.Evaluator) {
	o, err := set.Options(nil, nil)
	var all map[string]*confined.Reach
	if err == nil {
		all, err = confined.Reaches(o, e.Config())
	}
	if err != nil {
		d.fail(cli.ExitUsage, "confine", "servers", "codemode serve refuses to start with it", "%v", err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d.ok("confine", name, "%s", all[name])
	}
}
