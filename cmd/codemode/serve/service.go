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
	"github.com/codemode-project/codemode/internal/fair"
	"github.com/codemode-project/codemode/internal/record/metrics"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/record/tracing"
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
		Profile: set.Profile, Principal: launch.Principal(), Session: s.session, Local: true, Version: launch.Version(),
		Log:      s.log,
		StateKey: e.Record().DeriveKey("seal requestState"), Reattach: reattach(e),
	}
	if s.traces != nil {
		offered.Trace = s.traces.Extract
	}
	s.server = server.New(e, offered)
	s.closing = append(s.closing, s.server.Close)
	return nil
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

// serveStdio serves one client until ctx ends or the client goes.
func (s *service) serveStdio(ctx context.Context, streams cli.Streams) error {
	e := s.evaluator
	s.follow(nil)
	s.health.started(e.Record().Reachable)
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	// Runs that wait for people are parked before the connection ends.
	defer context.AfterFunc(ctx, func() { s.health.stopping(); parkRuns(serving, e); end() })()
	return s.server.ServeStdio(serving, streams.In, streams.Out)
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
