package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A health tells supervisors whether the process takes programs.
type health struct {
	mu      sync.Mutex
	store   func(context.Context) error // nil while the process starts
	stops   bool
	checked time.Time // when the store was asked last
	last    error     // what it said
}

var (
	errStarting = errors.New("starting")
	errStopping = errors.New("stopping")
)

const (
	// storeCheck is how long the store has to answer, and storeChecked how long an answer is good for.
	storeCheck   = 2 * time.Second
	storeChecked = time.Second
)

// started says that the process takes programs while its store answers.
func (h *health) started(store func(context.Context) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.store = store
}

// stopping says that the process is about to end.
func (h *health) stopping() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stops = true
}

// leaving reports whether the process is about to end.
func (h *health) leaving() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stops
}

// check returns nil if the process takes programs, or why not, in a line without names of files, hosts and users.
func (h *health) check(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.stops:
		return errStopping
	case h.store == nil:
		return errStarting
	case !h.checked.IsZero() && time.Since(h.checked) < storeChecked:
		return h.last
	}
	store := h.store
	h.mu.Unlock() // signals must not wait for the store
	ctx, cancel := context.WithTimeout(ctx, storeCheck)
	err := store(ctx)
	cancel()
	h.mu.Lock()
	if err != nil {
		err = unreachable(err)
	}
	h.checked, h.last = time.Now(), err
	if h.stops {
		return errStopping
	}
	return err
}

// unreachable says why the store does not answer.
func unreachable(err error) error {
	why := "the store does not answer"
	if known, ok := errors.AsType[interface {
		error
		Reason() string
	}](err); ok {
		why = "the store cannot be used: " + known.Reason()
	}
	return errors.New(why)
}

// serve answers /readyz.
func (h *health) serve(w http.ResponseWriter, r *http.Request) {
	if err := h.check(context.WithoutCancel(r.Context())); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// probes answers supervisors without a token and under any host name. The answers tell nothing else.
//
//	/healthz  200 while the process serves
//	/readyz   200 while it takes programs, 503 from the signal to stop on
func probes(h *health, prefix string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path, ok := strings.CutPrefix(r.URL.Path, prefix); {
		case !ok, r.Method != http.MethodGet && r.Method != http.MethodHead:
			next.ServeHTTP(w, r)
		case path == "/healthz", path == "/readyz" && !h.leaving():
			fmt.Fprintln(w, "ok")
		case path == "/readyz":
			http.Error(w, "stopping", http.StatusServiceUnavailable)
		default:
			next.ServeHTTP(w, r)
		}
	})
}
