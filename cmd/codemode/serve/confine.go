package serve

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/confined"
	"github.com/codemode-project/codemode/internal/confine"
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
	all, err := newProcess(o, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	wants := func(s *service) bool { return s.config != nil && s.config.Confine != nil && s.config.Confine.On }
	if o.confine == "" && !slices.ContainsFunc(all.services, wants) {
		return nil
	}
	var rules confine.Rules
	for _, s := range all.services {
		options, err := s.set.Options(nil, nil)
		if err != nil {
			return err
		}
		addresses, err := all.addresses(s)
		if err != nil {
			return err
		}
		own, err := confined.Own(options, s.config, addresses...)
		if err != nil {
			return cli.UsageError(s.named(fmt.Errorf("--confine: %w", err)))
		}
		rules = rules.And(own)
	}
	rules.BestEffort = rules.BestEffort || o.confine == "best-effort"
	return cli.UsageError(confined.Enter(rules))
}

// addresses lists where codemode serve listens for a service.
func (p *process) addresses(s *service) ([]string, error) {
	o := p.options
	all := []string{o.address, o.page, o.figures}
	if s.config != nil && s.config.Console != nil {
		all = append(all, s.config.Console.Address)
	}
	if o.address != "" && o.figures == "" {
		set, err := p.readDiagnostics()
		if err != nil {
			return nil, err
		}
		all = append(all, set.Address)
	}
	return all, nil
}
