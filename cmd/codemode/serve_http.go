package main

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
	"syscall"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/server"
)

// A front is the listener of `serve --http`, where everything that codemode offers to clients and people is mounted.
type front struct {
	set       *setting
	evaluator *codemode.Evaluator
	log       *slog.Logger
	url       string         // what it is reached by here, such as http://127.0.0.1:8808
	mux       *http.ServeMux // behind the checks of Host and Origin
	stopping  []func()       // run when it stops, before connections are closed; streams have to end then
}

// mount adds what the listener offers. This is the one place: /mcp is the server's, anything else has a line of its own here.
func (f *front) mount(mcp http.Handler) {
	f.mux.Handle(server.Path, mcp)
	f.mux.Handle(server.Path+"/", mcp)
	f.mountConsole()
}

const (
	// headerWait and idleWait end connections on which nothing is sent.
	headerWait = 10 * time.Second
	idleWait   = 2 * time.Minute
	// defaultGrace is how long programs under way have when the process is told to stop.
	defaultGrace = 10 * time.Second
	// drainWait is how long answers have after that to get to their clients.
	drainWait = 10 * time.Second
	// maxHeader is more than any client sends. A browser sends the page all cookies that other ports of this host have set for it, some
	// 180 of 4 KiB: a smaller bound would let each of those ports lock people out of the page.
	maxHeader = 1 << 20
)

// listening is what flags say about serving over HTTP.
type listening struct {
	address string         // "" is over stdio
	grace   *time.Duration // nil is left to the configuration
}

// serveHTTP offers srv at an address until ctx ends, and then for as long as programs have to finish.
func serveHTTP(
	ctx context.Context, set *setting, e *codemode.Evaluator, srv *server.Server, listen *listening, log *slog.Logger,
) error {
	address, err := listenAddress(listen.address)
	if err != nil {
		return usage(err)
	}
	public := !loopback(address)
	web, err := srv.HTTP(server.HTTPOptions{Env: os.LookupEnv, Public: public})
	if err != nil {
		return usage(err)
	}
	switch _, tokens := web.NeedsToken(); {
	case public && !tokens:
		return usage(fmt.Errorf("--http %s: others than programs on this machine can reach that address, and the configuration has no http.tokens to tell who may: add some, or listen on 127.0.0.1", address))
	case public:
		log.Warn("tokens and programs travel in clear to this address: put a proxy with TLS in front of it, and its name into http.hosts", "address", address)
	case !tokens:
		log.Info("every program on this machine can come in; http.tokens in the configuration says who may")
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return usage(fmt.Errorf("--http: %w", err))
	}
	f := &front{set: set, evaluator: e, log: log, mux: http.NewServeMux(), url: "http://" + listener.Addr().String()}
	f.mount(web)
	front := &http.Server{
		Handler: probes(web, web.Guard(f.mux)), ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	web.Protect(front)
	ended := make(chan error, 1)
	go func() { ended <- front.Serve(listener) }()
	log.Info("listening", "mcp", f.url+server.Path)
	select {
	case err = <-ended:
	case <-ctx.Done():
		drain(ctx, web, cmp.Or(listen.grace, web.Grace(), new(defaultGrace)), log)
	}
	web.Close() // what waits for people or for the next event ends, so that Shutdown can
	for _, stop := range f.stopping {
		stop()
	}
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainWait)
	defer cancel()
	if e := front.Shutdown(draining); e != nil {
		log.Warn("connections were cut", "error", e)
		_ = front.Close()
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// drain lets programs finish, for as long as grace is, or until a second signal.
func drain(ctx context.Context, web *server.HTTP, grace *time.Duration, log *slog.Logger) {
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *grace)
	defer cancel()
	log.Info("stopping: nothing new is begun, and programs that run may finish; another signal ends them", "grace", *grace)
	web.Drain(ctx)
	if ctx.Err() != nil {
		log.Warn("programs that have not finished are ended")
	}
}

// probes answers whoever looks after the process, without a token and under any name: they say nothing but that.
//
//	/healthz  200 while the process serves
//	/readyz   200 while it takes programs, 503 from the signal to stop on
func probes(web *server.HTTP, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			next.ServeHTTP(w, r)
		case r.URL.Path == "/healthz", r.URL.Path == "/readyz" && !web.Draining():
			fmt.Fprintln(w, "ok")
		case r.URL.Path == "/readyz":
			http.Error(w, "stopping", http.StatusServiceUnavailable)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// listenAddress completes an address: a port alone, and :port, are on loopback.
func listenAddress(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port, err = net.SplitHostPort(net.JoinHostPort("", address))
	}
	if err != nil || port == "" {
		return "", fmt.Errorf("--http %q: it takes an address such as 127.0.0.1:8808, or a port", address)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// loopback reports whether an address is reached from this machine alone.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
