package serve

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/fair"
	"github.com/codemode-project/codemode/metrics"
	"github.com/codemode-project/codemode/recorder"
)

// A diagnostics is the listener for those who look after the process: its figures and its health. It starts before
// everything else and ends last. A nil one does nothing.
//
//	/livez        200 while the process answers
//	/readyz       200 while it takes programs; else 503, and a line that says why
//	/metrics      figures for Prometheus
//	/debug/pprof  profiles by Go, if the configuration asks for them
type diagnostics struct {
	metrics *metrics.Metrics
	health  *health
	set     config.Diagnostics
	server  *http.Server
	ended   chan struct{}
	log     *slog.Logger
}

// openDiagnostics listens, if a flag or the configuration names an address.
func openDiagnostics(set config.Diagnostics, flag string, h *health, log *slog.Logger) (*diagnostics, error) {
	if flag != "" {
		address, err := listenAddress("--diagnostics", flag)
		if err != nil {
			return nil, cli.UsageError(err)
		}
		set.Address = address
	}
	if set.Address == "" {
		return nil, nil
	}
	if set.PProf && !loopback(set.Address) {
		return nil, cli.UsageError(fmt.Errorf("diagnostics at %s: profiles of the process (pprof) are served on this "+
			"machine only: take an address such as 127.0.0.1:9464", set.Address))
	}
	listener, err := net.Listen("tcp", set.Address)
	if err != nil {
		return nil, cli.UsageError(fmt.Errorf("diagnostics: %w", err))
	}
	d := &diagnostics{metrics: metrics.New(launch.Version()), health: h, set: set, ended: make(chan struct{}), log: log}
	d.server = &http.Server{
		Handler: d.handler(), ReadHeaderTimeout: headerWait, ReadTimeout: headerWait, IdleTimeout: idleWait,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	go func() {
		defer close(d.ended)
		if err := d.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("serving diagnostics failed", "error", err)
		}
	}()
	log.Info("diagnostics are served", "at", "http://"+listener.Addr().String())
	if !loopback(set.Address) && set.Fingerprint == "" {
		log.Warn("figures are not served: other machines can reach this address; diagnostics.token in the configuration " +
			"says who may read them")
	}
	return d, nil
}

// observe gives the options of the Evaluator the functions that count.
func (d *diagnostics) observe(set *launch.Settings) {
	if d != nil {
		set.Observer = recorder.Observers(set.Observer, d.metrics.Observer())
	}
}

// follow reads the figures of an Evaluator, and of budgets besides its own.
func (d *diagnostics) follow(e *codemode.Evaluator, more func() []fair.Use) {
	if d == nil {
		return
	}
	d.metrics.Follow(metrics.Sources{
		Runs: func() (all, parked, asks int) { return inProgress(e.Runs().Running()) },
		Budgets: func() []fair.Use {
			if more == nil {
				return e.Runs().Budgets()
			}
			return append(e.Runs().Budgets(), more()...)
		},
		Upstreams: e.Tools().Manager.Status,
		Ready:     func() error { return d.health.check(context.Background()) },
	})
}

// count counts the requests of a handler.
func (d *diagnostics) count(next http.Handler) http.Handler {
	if d == nil {
		return next
	}
	return d.metrics.HTTP(next)
}

func (d *diagnostics) close() {
	if d == nil {
		return
	}
	stopping, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if d.server.Shutdown(stopping) != nil {
		_ = d.server.Close()
	}
	<-d.ended
}

// inProgress counts runs, those that are parked, and their calls that wait for people.
func inProgress(runs []codemode.Running) (all, parked, asks int) {
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

func (d *diagnostics) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", d.health.serve)
	mux.Handle("GET /metrics", d.admit(d.metrics.Handler()))
	if d.set.PProf {
		mux.Handle("GET /debug/pprof/", d.admit(http.HandlerFunc(pprof.Index)))
		mux.Handle("GET /debug/pprof/cmdline", d.admit(http.NotFoundHandler())) // it may have secrets
		mux.Handle("GET /debug/pprof/profile", d.admit(http.HandlerFunc(pprof.Profile)))
		mux.Handle("GET /debug/pprof/symbol", d.admit(http.HandlerFunc(pprof.Symbol)))
		mux.Handle("GET /debug/pprof/trace", d.admit(http.HandlerFunc(pprof.Trace)))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if loopback(d.set.Address) && !localName(r.Host) { // a web page that uses DNS rebinding
			http.Error(w, "this is not a name of this machine", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// admit refuses requests without the token, if there is one, and all from other machines if there is none.
func (d *diagnostics) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case d.set.Fingerprint == "" && !loopback(d.set.Address):
			http.Error(w, "figures need a token, and the configuration has no diagnostics.token", http.StatusForbidden)
			return
		case d.set.Fingerprint == "": // every program on this machine
		case subtle.ConstantTimeCompare([]byte(config.Fingerprint(presented(r))), []byte(d.set.Fingerprint)) != 1:
			w.Header().Set("WWW-Authenticate", `Bearer realm="codemode diagnostics"`)
			w.Header().Add("WWW-Authenticate", `Basic realm="codemode diagnostics"`)
			http.Error(w, "diagnostics.token is needed", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// presented is the token of a request: a bearer token, or the password of any user, which go tool pprof can send.
func presented(r *http.Request) string {
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "bearer") {
		return strings.TrimSpace(token)
	}
	_, password, _ := r.BasicAuth()
	return password
}

// localName reports whether a Host names this machine.
func localName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return host == "localhost" || net.ParseIP(strings.Trim(host, "[]")).IsLoopback()
}

// readDiagnostics reads the key "diagnostics" from the configuration that the process starts with.
func readDiagnostics(cfg *config.Config) (config.Diagnostics, error) {
	d, err := cfg.Diagnostics(launch.Env)
	if err != nil {
		return d, cli.UsageError(err)
	}
	return d, nil
}
