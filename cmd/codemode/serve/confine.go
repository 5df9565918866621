package serve

import (
	"fmt"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/confined"
	"github.com/codemode-project/codemode/config"
)

// enterConfinement replaces this process by a confined one, if flag or configuration want that. It returns without an
// error in a process that is confined, or need not be.
func (o *options) enterConfinement() error {
	if o.confine != "" && o.confine != "on" && o.confine != "best-effort" {
		return cli.UsageError(fmt.Errorf("--confine %q: it is on or best-effort", o.confine))
	}
	p, err := confined.Current()
	if err != nil {
		return cli.UsageError(err)
	}
	if o.set.Confined = p; p != nil {
		return nil
	}
	options, err := o.set.Options(nil, nil)
	if err != nil {
		return err
	}
	var cfg *config.Config
	if !options.Files.None() {
		if cfg, err = options.Files.Load(); err != nil {
			return cli.UsageError(err)
		}
	}
	listed := cfg != nil && cfg.Confine != nil && cfg.Confine.On
	if o.confine == "" && !listed {
		return nil
	}
	addresses, err := o.addresses(cfg)
	if err != nil {
		return err
	}
	rules, err := confined.Own(options, cfg, addresses...)
	if err != nil {
		return cli.UsageError(fmt.Errorf("--confine: %w", err))
	}
	rules.BestEffort = rules.BestEffort || o.confine == "best-effort"
	return cli.UsageError(confined.Enter(rules))
}

// addresses lists where codemode serve listens with that configuration.
func (o *options) addresses(cfg *config.Config) ([]string, error) {
	all := []string{o.address, o.page, o.figures}
	if cfg != nil && cfg.Console != nil {
		all = append(all, cfg.Console.Address)
	}
	if o.address != "" && o.figures == "" {
		set, err := readDiagnostics(cfg)
		if err != nil {
			return nil, err
		}
		all = append(all, set.Address)
	}
	return all, nil
}
