package serve

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/config/tenants"
	"github.com/codemode-project/codemode/internal/fair"
	"github.com/codemode-project/codemode/internal/record/metrics"
	"github.com/codemode-project/codemode/internal/server/limits"
	"github.com/codemode-project/codemode/internal/server/oauth"
	"github.com/codemode-project/codemode/sandbox"
)

// A process serves one service, or those of all tenants. Tenants share its listener, its diagnostics and its sandbox,
// and nothing else.
type process struct {
	options     *options
	services    []*service
	tenants     *tenants.File // nil without tenants
	diagnostics *diagnostics
	engine      *sandbox.Engine     // of all tenants; nil without
	connections *limits.Connections // of all tenants; nil without
	log         *slog.Logger
}

// readDiagnostics reads the key "diagnostics".
func (p *process) readDiagnostics() (config.Diagnostics, error) {
	cfg := p.services[0].config
	if p.tenants != nil {
		cfg = p.tenants.Process
	}
	return readDiagnostics(cfg)
}

// readListener reads what the key "http" says about the listener.
func (p *process) readListener() (config.HTTP, error) {
	if p.tenants != nil {
		return p.tenants.Process.HTTP(launch.Env)
	}
	return p.services[0].evaluator.Config().HTTP(launch.Env)
}

// close closes all services, and then what they share.
func (p *process) close(ctx context.Context) error {
	errs := make([]error, len(p.services))
	p.each(func(s *service) {
		for i := range p.services {
			if p.services[i] == s {
				errs[i] = s.named(s.close(ctx))
			}
		}
	})
	if p.engine != nil {
		errs = append(errs, p.engine.Close(context.WithoutCancel(ctx)))
	}
	return errors.Join(errs...)
}

// each calls f for all services at once, and waits for the calls.
func (p *process) each(f func(*service)) {
	var done sync.WaitGroup
	for _, s := range p.services {
		done.Go(func() { f(s) })
	}
	done.Wait()
}

// sharedConnections are the connections of the listener of tenants; nil without tenants. There may be as many as the
// tenants may have requests.
func (p *process) sharedConnections() *limits.Connections {
	if p.tenants == nil {
		return nil
	}
	requests := 0
	for _, s := range p.services {
		requests += s.evaluator.Loader().Capacity().Requests
	}
	p.connections = limits.NewConnections(limits.New(0, requests, "").Connections)
	return p.connections
}

// route leads requests to the tenants. An unknown tenant is like any other path that does not exist.
func (p *process) route() http.Handler {
	nowhere := probes(&p.services[0].health, "", http.NotFoundHandler()) // all begin to stop together
	if d := p.diagnostics; d != nil {
		shared := d.metrics
		shared.Follow(metrics.Sources{Ready: func() error { return p.ready() }, Budgets: func() []fair.Use {
			return append(p.engine.Budgets(), p.connections.Use())
		}})
		nowhere = shared.HTTP("", nowhere)
	}
	byName := map[string]http.Handler{}
	for _, s := range p.services {
		byName[s.name] = s.handler
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := byName[tenantOf(r.URL.Path)]; h != nil {
			h.ServeHTTP(w, r)
			return
		}
		nowhere.ServeHTTP(w, r)
	})
}

// tenantOf is the name of a tenant in a path, "" if it has none: /t/acme/..., or the path of metadata about that, where
// RFC 9728 puts it.
func tenantOf(path string) string {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(path, oauth.MetadataPath), tenants.Prefix(""))
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// ready returns nil if a service takes programs, or why none does.
func (p *process) ready() error {
	var first error
	for _, s := range p.services {
		err := s.health.check(context.Background())
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return first
}
