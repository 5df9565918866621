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

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/server"
	"github.com/codemode-project/codemode/server/oauth"
)

// A front is the listener of "serve --http" with everything that it offers to clients and people.
type front struct {
	set       *launch.Settings
	evaluator *codemode.Evaluator
	log       *slog.Logger
	door      *door
	mux       *http.ServeMux // behind the checks of Host and Origin
	stopping  []func()       // called before closing connections; streams must end then
}

const (
	// headerWait and idleWait end silent connections.
	headerWait = 10 * time.Second
	idleWait   = 2 * time.Minute
	// defaultGrace is how long running programs have to finish after the signal to stop.
	defaultGrace = 10 * time.Second
	// drainWait is how long answers have after that to reach their clients.
	drainWait = 10 * time.Second
	// maxHeader is more than any client sends. A browser sends the page all cookies from other ports of this host, some
	// 180 of 4 KiB: with a smaller bound each of those ports could lock people out of the page.
	maxHeader = 1 << 20
)

// serveHTTP serves srv and the page at an address until ctx ends, and then for as long as programs have to finish.
func serveHTTP(ctx context.Context, o *options, page *page, e *codemode.Evaluator, srv *server.Server,
	log *slog.Logger) error {
	collectLess()
	set, err := e.Config().HTTP(launch.Env)
	if err != nil {
		return cli.UsageError(err)
	}
	at, err := openDoor(o.address, set.SocketMode)
	if err != nil {
		return err
	}
	defer at.Close()
	web, err := srv.HTTP(server.HTTPOptions{Env: launch.Env, Public: at.public})
	if err != nil {
		return cli.UsageError(err)
	}
	if err := mayListen(o.address, at, web, set.TLS != nil, log); err != nil {
		return err
	}
	listening := &http.Server{ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	serve := listening.Serve
	if set.TLS != nil {
		pair, err := newCertificates(*set.TLS, log)
		if err != nil {
			return cli.UsageError(fmt.Errorf("http.tls: %w", err))
		}
		defer pair.secure(listening)()
		serve = func(l net.Listener) error { return listening.ServeTLS(l, "", "") }
		at.url = strings.Replace(at.url, "http://", "https://", 1)
	}
	f := &front{set: &o.set, evaluator: e, log: log, mux: http.NewServeMux(), door: at}
	f.mux.Handle(server.Path, web)
	f.mux.Handle(server.Path+"/", web)
	f.mux.HandleFunc(oauth.MetadataPath, web.Metadata)
	f.mux.HandleFunc(oauth.MetadataPath+"/", web.Metadata)
	page.mount(f)
	listening.Handler = o.diagnostics.count(probes(&o.health, web.Guard(f.mux)))
	web.Protect(listening)
	ended := make(chan error, 1)
	go func() { ended <- serve(at) }()
	defer o.begun(e, web, log)()
	log.Info("listening", "mcp", at.url+server.Path)
	select {
	case err = <-ended:
	case <-ctx.Done():
		drain(ctx, o, web, log)
	}
	web.Close() // ends streams and requests that wait for people, so that Shutdown can end
	for _, stop := range f.stopping {
		stop()
	}
	shutdown(ctx, listening, log)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
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
func (o *options) begun(e *codemode.Evaluator, web *server.HTTP, log *slog.Logger) (stop func()) {
	o.diagnostics.follow(e, web.Budgets)
	o.health.started(e.Record().Reachable)
	notify(daemon.SdNotifyReady, log)
	ctx, cancel := context.WithCancel(context.Background())
	var told sync.WaitGroup
	told.Go(func() { watchdog(ctx, func() { _ = e.Runs().Running() }, log) })
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
// is over or a second signal comes.
func drain(ctx context.Context, o *options, web *server.HTTP, log *slog.Logger) {
	grace := cmp.Or(o.grace, web.Grace(), new(defaultGrace))
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o.health.stopping()
	notify(daemon.SdNotifyStopping, log)
	if delay := *cmp.Or(o.delay, new(web.ShutdownDelay())); delay > 0 {
		log.Info("about to stop: not ready, and still taking programs; another signal shortens that", "for", delay)
		select {
		case <-time.After(delay):
		case <-ctx.Done():
		}
	}
	ctx, cancel := context.WithTimeout(ctx, *grace)
	defer cancel()
	log.Info("stopping: no new programs start, and running ones may finish; another signal ends them", "grace", *grace)
	web.Drain(ctx)
	if ctx.Err() != nil {
		log.Warn("ending programs that have not finished")
	}
}

// probes answers supervisors without a token and under any host name. The answers tell nothing else.
//
//	/healthz  200 while the process serves
//	/readyz   200 while it takes programs, 503 from the signal to stop on
func probes(h *health, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			next.ServeHTTP(w, r)
		case r.URL.Path == "/healthz", r.URL.Path == "/readyz" && !h.leaving():
			fmt.Fprintln(w, "ok")
		case r.URL.Path == "/readyz":
			http.Error(w, "stopping", http.StatusServiceUnavailable)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// listenAddress completes an address that a flag gave: a port alone, and :port, are on loopback.
func listenAddress(flag, address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port, err = net.SplitHostPort(net.JoinHostPort("", address))
	}
	if err != nil || port == "" {
		return "", fmt.Errorf("%s %q: it takes an address such as 127.0.0.1:8808, or a port", flag, address)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// loopback reports whether only this machine can reach an address.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
