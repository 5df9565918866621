package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/cmd/codemode/responder"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/fair"
	"github.com/codemode-project/codemode/internal/record/metrics"
	"github.com/codemode-project/codemode/internal/record/tracing"
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/internal/server/limits"
	"github.com/codemode-project/codemode/internal/server/oauth"
	"github.com/codemode-project/codemode/server"
)

// A service is what one configuration serves: an Evaluator with its record, MCP, and the page for people. A process has
// one without a name, or one for each tenant.
type service struct {
	name    string // of the tenant; "" without tenants
	prefix  string // of all its paths; "" without tenants
	set     launch.Settings
	config  *config.Config // that it starts with; nil without files, and if a file has a problem
	session string
	check   func(config.HTTP) error // refuses a value of the key http; nil refuses none
	health  health
	figures *metrics.Metrics // nil without diagnostics
	log     *slog.Logger

	// What open makes.
	traces     *tracing.Traces // nil without
	responders *responder.Responders
	page       *page // nil without
	evaluator  *codemode.Evaluator
	server     *server.Server

	// What mount makes.
	web      *server.HTTP
	handler  http.Handler
	stopping []func() // called before closing connections; streams must end then

	closing []func() // called last, in reverse
}

// named adds the name of the tenant to an error.
func (s *service) named(err error) error {
	if err == nil || s.name == "" {
		return err
	}
	return fmt.Errorf("tenant %s: %w", s.name, err)
}

// close closes what open has opened.
func (s *service) close(ctx context.Context) (err error) {
	last := s.closing
	if s.evaluator != nil {
		// The Evaluator ends before its record's figures, its traces and its responders do.
		err = launch.Close(ctx, s.evaluator)
	}
	for i := len(last) - 1; i >= 0; i-- {
		last[i]()
	}
	return err
}

// mount makes the handler of the service below its prefix. connections are those of a listener that several services
// have; nil if this one is alone.
func (s *service) mount(at *door, connections *limits.Connections) (err error) {
	s.web, err = s.server.HTTP(server.HTTPOptions{Env: launch.Env, Public: at.public || s.name != "", Check: s.check,
		Connections: connections, Group: s.name})
	if err != nil {
		return err
	}
	mux := http.NewServeMux() // behind the checks of Host and Origin
	mcp := http.StripPrefix(s.prefix, s.web)
	mux.Handle(s.prefix+server.Path, mcp)
	mux.Handle(s.prefix+server.Path+"/", mcp)
	if s.prefix == "" {
		mux.HandleFunc(oauth.MetadataPath, s.web.Metadata)
	}
	mux.HandleFunc(oauth.MetadataPath+s.prefix+"/", s.web.Metadata) // the path of the resource is at the end
	s.page.mount(s, at, mux)
	s.handler = s.count(probes(&s.health, s.prefix, s.web.Guard(mux)))
	return nil
}

// mount puts the page of a service beside MCP, if browsers can reach it there.
func (p *page) mount(s *service, at *door, mux *http.ServeMux) {
	if p == nil || p.address != "" {
		return
	}
	if (at.public || at.socket) && p.config.Origin == "" {
		s.log.Warn("the page for people is not served, because browsers need its address with TLS: name it in " +
			`"console": {"origin": "https://..."}`)
		return
	}
	origin, path := at.url, s.prefix+config.ConsolePath
	if at.socket {
		origin = p.config.Origin // only what stands before the socket knows it
	}
	if err := p.open(s.evaluator, &s.set, origin, path, s.log); err != nil {
		s.log.Error("the page for people is not served", "error", err)
		return
	}
	mux.Handle(path, p.console.Handler())
	mux.Handle(path+"/", p.console.Handler())
	s.stopping = append(s.stopping, p.offerLinks(&s.set, s.log), p.console.Close, p.beside, p.tokens.Close)
}

// serveStdio serves one client until ctx ends or the client goes.
func (s *service) serveStdio(ctx context.Context, streams cli.Streams) error {
	e := s.evaluator
	s.follow(nil)
	s.health.started(e.Record().Reachable)
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	// Runs that wait for people are parked before the connection ends.
	defer context.AfterFunc(ctx, func() { s.health.stopping(); parkRuns(serving, e); end() })()
	err := s.server.ServeStdio(serving, streams.In, streams.Out)
	parkRuns(context.WithoutCancel(ctx), e) // those that go on without their calls
	return err
}

// parkRuns gives up runs that wait for a person, within drainWait.
func parkRuns(ctx context.Context, e *codemode.Evaluator) {
	ctx, cancel := context.WithTimeout(ctx, drainWait)
	defer cancel()
	e.Runs().Drain(ctx)
}

// follow reads the figures of the Evaluator, and of budgets besides its own.
func (s *service) follow(more func() []fair.Use) {
	if s.figures == nil {
		return
	}
	e := s.evaluator
	var spans func() (sent, lost, dropped int64)
	if s.traces != nil {
		spans = s.traces.Spans
	}
	s.figures.Follow(metrics.Sources{
		Spans: spans,
		Runs:  func() (all, parked, asks int) { return inProgress(e.Runs().UnderWay.Running()) },
		Budgets: func() []fair.Use {
			if more == nil {
				return e.Runs().Budgets()
			}
			return append(e.Runs().Budgets(), more()...)
		},
		Upstreams: e.Tools().Manager.Status,
		Ready:     func() error { return s.health.check(context.Background()) },
	})
}

// count counts the requests of the service.
func (s *service) count(next http.Handler) http.Handler {
	if s.figures == nil {
		return next
	}
	return s.figures.HTTP(s.prefix, next)
}

// inProgress counts runs, those that are parked, and their calls that wait for people.
func inProgress(runs []runs.Running) (all, parked, asks int) {
	for i := range runs {
		r := &runs[i]
		if r.Outcome != "" {
			continue // it has ended
		}
		all++
		if r.Parked {
			parked++
		}
		for _, c := range r.Calls() {
			if c.State == hostfns.Asking {
				asks++
			}
		}
	}
	return all, parked, asks
}
