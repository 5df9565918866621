package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/server"
)

// serveHTTP serves all services at an address until ctx ends, and then for as long as programs have to finish.
func (p *process) serveHTTP(ctx context.Context) error {
	collectLess()
	lookMore()
	set, err := p.readListener()
	if err != nil {
		return cli.UsageError(err)
	}
	at, err := openDoor(p.options.address, set.SocketMode)
	if err != nil {
		return err
	}
	defer at.Close()
	listening := &http.Server{ErrorLog: slog.NewLogLogger(p.log.Handler(), slog.LevelDebug)}
	serve := listening.Serve
	if set.TLS != nil {
		pair, err := newCertificates(*set.TLS, p.log)
		if err != nil {
			return cli.UsageError(fmt.Errorf("http.tls: %w", err))
		}
		defer pair.secure(listening)()
		serve = func(l net.Listener) error { return listening.ServeTLS(l, "", "") }
		at.url = strings.Replace(at.url, "http://", "https://", 1)
	}
	if err := p.mount(at, set.TLS != nil, listening); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- serve(at) }()
	defer p.begun()()
	for _, s := range p.services {
		s.log.Info("listening", "mcp", at.url+s.prefix+server.Path)
	}
	select {
	case err = <-ended:
	case <-ctx.Done():
		p.drain(ctx)
	}
	for _, s := range p.services {
		s.web.Close() // ends streams and requests that wait for people, so that Shutdown can end
		for _, stop := range s.stopping {
			stop()
		}
	}
	shutdown(ctx, listening, p.log)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// mount makes the handlers of all services, and gives the listener's server the one that leads to them.
func (p *process) mount(at *door, encrypted bool, listening *http.Server) error {
	shared := p.sharedConnections()
	for _, s := range p.services {
		if err := s.mount(at, shared); err != nil {
			return s.named(cli.UsageError(err))
		}
		if err := mayListen(p.options.address, at, s.web, encrypted, s.log); err != nil {
			return s.named(err)
		}
	}
	if shared == nil { // one service is alone with the listener
		listening.Handler = p.services[0].handler
		p.services[0].web.Protect(listening)
		return nil
	}
	listening.Handler = p.route()
	shared.Protect(listening)
	return nil
}

// mayListen refuses an address that others can reach and that needs no token, and says who can connect.
func mayListen(address string, at *door, web *server.HTTP, encrypted bool, log *slog.Logger) error {
	switch _, tokens := web.NeedsToken(); {
	case at.public && !tokens:
		return cli.UsageError(fmt.Errorf("--http %s: other machines can reach that address, and the configuration has no "+
			"http.tokens that say who may connect: add some, or listen on 127.0.0.1", address))
	case at.public && !encrypted:
		log.Warn("connections to this address are not encrypted: name a certificate in http.tls, or put a proxy with TLS in "+
			"front of it, and add its name to http.hosts", "address", at.Addr().String())
	case at.socket && !tokens:
		log.Info("every program that may open the socket can connect; http.tokens in the configuration limits that")
	case !tokens:
		log.Info("every program on this machine can connect; http.tokens in the configuration limits that")
	}
	return nil
}

// begun tells supervisors that the process serves, and that it works, until stop is called.
func (p *process) begun() (stop func()) {
	for _, s := range p.services {
		s.follow(s.web.Budgets)
		s.health.started(s.evaluator.Record().Reachable)
	}
	notify(daemon.SdNotifyReady, p.log)
	ctx, cancel := context.WithCancel(context.Background())
	var told sync.WaitGroup
	told.Go(func() {
		watchdog(ctx, func() {
			for _, s := range p.services {
				_ = s.evaluator.Runs().UnderWay.Running()
			}
		}, p.log)
	})
	return func() {
		cancel()
		told.Wait()
	}
}

// shutdown lets responses reach their clients.
func shutdown(ctx context.Context, s *http.Server, log *slog.Logger) {
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainWait)
	defer cancel()
	if e := s.Shutdown(draining); e != nil {
		log.Warn("closing connections before their responses were complete", "error", e)
		_ = s.Close()
	}
}

// drain says that the process is not ready, gives load balancers time to notice, and lets programs finish, until grace
// is over or a second signal comes. Of several services the longest times count.
func (p *process) drain(ctx context.Context) {
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var grace, delay time.Duration
	for _, s := range p.services {
		s.health.stopping()
		grace = max(grace, *cmp.Or(p.options.grace, s.web.Grace(), new(defaultGrace)))
		delay = max(delay, *cmp.Or(p.options.delay, new(s.web.ShutdownDelay())))
	}
	notify(daemon.SdNotifyStopping, p.log)
	if delay > 0 {
		p.log.Info("about to stop: not ready, and still taking programs; another signal shortens that", "for", delay)
		select {
		case <-time.After(delay):
		case <-ctx.Done():
		}
	}
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	p.log.Info("stopping: no new programs start, and running ones may finish; another signal ends them", "grace", grace)
	p.each(func(s *service) { s.web.Drain(ctx) })
	if ctx.Err() != nil {
		p.log.Warn("ending programs that have not finished")
	}
}
