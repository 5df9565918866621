package serve

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/record/metrics"
	"github.com/codemode-project/codemode/internal/record/otlp"
	"github.com/codemode-project/codemode/internal/server/limits"
)

// A diagnostics is the listener for those who look after the process: its figures and its health. It starts before
// everything else and ends last. A nil one does nothing.
//
//	/livez        200 while the process answers
//	/readyz       200 while it takes programs; else 503, and a line that says why
//	/metrics      figures for Prometheus
//	/debug/pprof  profiles by Go, if the configuration asks for them
type diagnostics struct {
	metrics  *metrics.Metrics // of the process
	services []*service
	set      config.Diagnostics
	server   *http.Server // nil without an address
	ended    chan struct{}
	push     *metrics.Pusher // nil if figures are sent nowhere
	log      *slog.Logger
}

// openDiagnostics listens, if a flag or the configuration names an address, and sends figures, if the configuration
// says where. With either it gives the services their figures.
func openDiagnostics(set config.Diagnostics, flag string, services []*service,
	log *slog.Logger) (*diagnostics, error) {
	if flag != "" {
		address, err := listenAddress("--diagnostics", flag)
		if err != nil {
			return nil, cli.UsageError(err)
		}
		set.Address = address
	}
	if set.Address == "" && set.Push.URL == "" {
		return nil, nil
	}
	d := &diagnostics{services: services, set: set, log: log}
	d.count()
	if set.Address != "" {
		if err := d.listen(); err != nil {
			return nil, err
		}
	}
	if set.Push.URL == "" {
		return d, nil
	}
	d.push = d.metrics.Push(metrics.PushOptions{To: otlp.Collector{URL: set.Push.URL, Headers: set.Push.Headers},
		Every: time.Duration(set.Push.Seconds) * time.Second, Version: launch.Version(), Log: log})
	return d, nil
}

const (
	// mostOfDiagnostics is how many connections the listener keeps.
	mostOfDiagnostics = 256
	// profileWait is how long the reader of a profile by Go may take, after the seconds that it was asked to last.
	profileWait = 30 * time.Second
)

// listen serves at the address.
func (d *diagnostics) listen() error {
	set, log := d.set, d.log
	if set.PProf && !loopback(set.Address) {
		return cli.UsageError(fmt.Errorf("diagnostics at %s: profiles of the process (pprof) are served on this "+
			"machine only: take an address such as 127.0.0.1:9464", set.Address))
	}
	listener, err := net.Listen("tcp", set.Address)
	if err != nil {
		return cli.UsageError(fmt.Errorf("diagnostics: %w", err))
	}
	d.ended = make(chan struct{})
	d.server = &http.Server{
		Handler: d.handler(), WriteTimeout: profileWait,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	limits.WithoutOwners(mostOfDiagnostics).Protect(d.server)
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
	return nil
}

// count makes the figures: of the process, and those of its tenants if it has some.
func (d *diagnostics) count() {
	if len(d.services) == 1 && d.services[0].name == "" {
		d.metrics = metrics.New(launch.Version())
		d.services[0].figures = d.metrics
		return
	}
	var names []string
	for _, s := range d.services {
		names = append(names, s.name)
	}
	all := metrics.ForTenants(launch.Version(), names...)
	for _, s := range d.services {
		s.figures = all[s.name]
	}
	d.metrics = all[""]
}

// ready answers /readyz. With tenants it answers 200 while one of them takes programs, and tells the state of each:
// the others do not end because of one.
func (d *diagnostics) ready(w http.ResponseWriter, r *http.Request) {
	if len(d.services) == 1 && d.services[0].name == "" {
		d.services[0].health.serve(w, r)
		return
	}
	ctx, status := context.WithoutCancel(r.Context()), http.StatusServiceUnavailable
	var lines strings.Builder
	for _, s := range d.services {
		state := "ok"
		if err := s.health.check(ctx); err != nil {
			state = err.Error()
		} else {
			status = http.StatusOK
		}
		fmt.Fprintf(&lines, "tenant %s: %s\n", s.name, state)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, lines.String())
}

func (d *diagnostics) close() {
	if d == nil {
		return
	}
	d.push.Close()
	if d.server == nil {
		return
	}
	stopping, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if d.server.Shutdown(stopping) != nil {
		_ = d.server.Close()
	}
	<-d.ended
}

func (d *diagnostics) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", d.ready)
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
