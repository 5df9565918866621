package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/cmd/codemode/responder"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/record/otlp"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/record/tracing"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/sandbox"
	"github.com/codemode-project/codemode/server"
)

// newProcess finds out what the process serves. It opens nothing.
func newProcess(o *options, log *slog.Logger) (*process, error) {
	p := &process{options: o, log: log}
	if o.tenants != "" {
		return p, p.readTenants()
	}
	cfg, err := readStart(&o.set)
	if err != nil {
		return nil, err
	}
	p.services = []*service{{set: o.set, config: cfg, session: o.session, log: log}}
	return p, nil
}

// open opens all services. close closes what it has opened, also after an error.
func (p *process) open(ctx context.Context, streams cli.Streams) error {
	if p.tenants != nil {
		if err := p.openEngine(ctx); err != nil {
			return cli.InternalError(err)
		}
		if err := p.apart(ctx); err != nil {
			return err
		}
	}
	for _, s := range p.services {
		if err := s.open(ctx, p.options, streams); err != nil {
			return s.named(err)
		}
	}
	return nil
}

// openEngine makes the sandbox of all tenants.
func (p *process) openEngine(ctx context.Context) error {
	dir, memory := launch.CacheDir(), int64(0)
	if c := p.tenants.Process.Capacity; c != nil {
		memory = c.GuestMemory
	}
	engine, err := sandbox.New(context.WithoutCancel(ctx), sandbox.Options{
		CacheDir: dir, Memory: memory, Compiling: func(reason string) {
			p.log.Warn("compiling the sandbox, which takes about a second", "reason", reason, "directory", dir)
		}})
	if err != nil {
		return fmt.Errorf("preparing the sandbox: %w", err)
	}
	p.engine = engine
	return nil
}

// open opens the Evaluator, with all ways to reach people, and makes the server. close closes what it has opened, also
// after an error.
func (s *service) open(ctx context.Context, o *options, streams cli.Streams) error {
	set := &s.set
	if s.figures != nil {
		set.Observer = recorder.Observers(set.Observer, s.figures.Observer())
	}
	var err error
	if s.traces, err = openTraces(s.config, set, s.log); err != nil {
		return err
	}
	s.closing = append(s.closing, s.traces.Close)
	set.TakeOver = true
	ofPage := pageOf(s.config)
	s.responders = responder.Await(set, ofPage.mayAnswer, true, s.log)
	s.closing = append(s.closing, s.responders.Close)
	if s.page, err = newPage(ofPage, set, streams, o.page, o.address != ""); err != nil {
		return err
	}
	if s.evaluator, err = set.OpenWith(ctx, streams.Worker, s.log); err != nil {
		return err
	}
	e := s.evaluator
	s.responders.Follow(e)
	if s.page != nil && s.page.address != "" {
		stop, err := s.page.listen(e, set, s.log)
		if err != nil {
			return err
		}
		s.closing = append(s.closing, stop)
	}
	if err := checkSession(ctx, e, s.session, o.address != ""); err != nil {
		return err
	}
	offered := server.Options{
		Profile: set.Profile, Surface: o.surface, Principal: launch.Principal(), Session: s.session, Local: true,
		Version: launch.Version(), Log: s.log,
		StateKey: e.Record().DeriveKey("seal requestState"), Reattach: reattach(e),
	}
	if s.traces != nil {
		offered.Trace = s.traces.Extract
	}
	s.server = server.New(e, offered)
	s.closing = append(s.closing, s.server.Close)
	return nil
}

// openTraces makes traces, if the configuration says where they go; else it is nil.
func openTraces(cfg *config.Config, set *launch.Settings, log *slog.Logger) (*tracing.Traces, error) {
	to, err := cfg.Tracing(launch.Env)
	if err != nil {
		return nil, cli.UsageError(err)
	}
	if to.URL == "" {
		return nil, nil
	}
	t := tracing.New(tracing.Options{To: otlp.Collector{URL: to.URL, Headers: to.Headers}, Percent: to.Percent,
		Version: launch.Version(), Log: log})
	set.Observer, set.Trace = recorder.Observers(set.Observer, t.Observer()), t.Call
	return t, nil
}

// checkSession refuses to start in a session that has expired or was never created: each program would be refused.
func checkSession(ctx context.Context, e *codemode.Evaluator, session string, overHTTP bool) error {
	switch {
	case inforce.IsMadeSession(session):
		if _, err := e.Rules().Session(ctx, session); err != nil {
			return cli.UsageError(fmt.Errorf("--session or %s: %w", SessionVariable, err))
		}
	case session != "" && overHTTP:
		return cli.UsageError(fmt.Errorf("--session or %s: over HTTP this has to be a session that was created for a "+
			"role, cms_...; each client also has a session of the protocol", SessionVariable))
	}
	return nil
}

// reattach lets a client on 2026-07-28 come back for a run that started in another process, or in this one before a
// restart.
func reattach(e *codemode.Evaluator) server.Reattacher {
	return func(ctx context.Context, run string, _ []string, r codemode.Request) (*codemode.Response, error) {
		response, err := e.Runs().Reattach(ctx, run, r)
		if errors.Is(err, codemode.ErrNoRun) {
			err = fmt.Errorf("%w: %w", server.ErrNotHere, err)
		}
		return response, err
	}
}
