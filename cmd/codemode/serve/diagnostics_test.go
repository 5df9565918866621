package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/record/metrics"
)

// Figures are for this machine, or for who has the token; profiles of the process for both. Probes are for everybody.
func TestWhoMayReadDiagnostics(t *testing.T) {
	const token = "the token of prometheus"
	local, public := "127.0.0.1:9464", "0.0.0.0:9464"
	bearer := func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	password := func(r *http.Request) { r.SetBasicAuth("anybody", token) }
	wrong := func(r *http.Request) { r.Header.Set("Authorization", "Bearer not it") }
	nobody := func(*http.Request) {}
	for _, test := range []struct {
		what   string
		set    config.Diagnostics
		host   string
		path   string
		as     func(*http.Request)
		status int
	}{
		{"figures on this machine", config.Diagnostics{Address: local}, "localhost:9464", "/metrics", nobody, 200},
		{"by IPv6", config.Diagnostics{Address: "[::1]:9464"}, "[::1]:9464", "/metrics", nobody, 200},
		{"a page that rebinds its name", config.Diagnostics{Address: local}, "evil.test:9464", "/metrics", nobody, 403},
		{"without the token that there is", config.Diagnostics{Address: local, Fingerprint: config.Fingerprint(token)},
			"localhost", "/metrics", nobody, 401},
		{"with another one", config.Diagnostics{Address: local, Fingerprint: config.Fingerprint(token)}, "localhost",
			"/metrics", wrong, 401},
		{"with the token", config.Diagnostics{Address: local, Fingerprint: config.Fingerprint(token)}, "localhost",
			"/metrics", bearer, 200},
		{"from elsewhere, and there is no token", config.Diagnostics{Address: public}, "pod.cluster", "/metrics",
			nobody, 403},
		{"from elsewhere with the token", config.Diagnostics{Address: public, Fingerprint: config.Fingerprint(token)},
			"pod.cluster", "/metrics", bearer, 200},
		{"a probe from elsewhere", config.Diagnostics{Address: public}, "10.1.2.3:9464", "/livez", nobody, 200},
		{"profiles that nobody asked for", config.Diagnostics{Address: local}, "localhost", "/debug/pprof/", nobody, 404},
		{"profiles without the token",
			config.Diagnostics{Address: local, Fingerprint: config.Fingerprint(token), PProf: true}, "localhost",
			"/debug/pprof/heap", nobody, 401},
		{"profiles with the token as a password",
			config.Diagnostics{Address: local, Fingerprint: config.Fingerprint(token), PProf: true}, "localhost",
			"/debug/pprof/heap", password, 200},
		{"the command line, which may have secrets",
			config.Diagnostics{Address: local, Fingerprint: config.Fingerprint(token), PProf: true}, "localhost",
			"/debug/pprof/cmdline", bearer, 404},
		{"anything else", config.Diagnostics{Address: local}, "localhost", "/", nobody, 404},
	} {
		d := &diagnostics{metrics: metrics.New("v1"), services: []*service{{}}, set: test.set}
		r := httptest.NewRequest(http.MethodGet, test.path, nil)
		r.Host = test.host
		test.as(r)
		w := httptest.NewRecorder()
		d.handler().ServeHTTP(w, r)
		if w.Code != test.status {
			t.Errorf("%s: got %d %s, want %d", test.what, w.Code, strings.TrimSpace(w.Body.String()), test.status)
		}
	}
}

func TestProfilesStayOnThisMachine(t *testing.T) {
	set := config.Diagnostics{Address: "127.0.0.1:0", Fingerprint: "sha256:1", PProf: true}
	d, err := openDiagnostics(set, "0.0.0.0:0", []*service{{}}, slog.New(slog.DiscardHandler))
	if err == nil {
		d.close()
		t.Error("the flag opened profiles to other machines")
	}
	if d, err := openDiagnostics(config.Diagnostics{}, "", []*service{{}}, nil); d != nil || err != nil {
		t.Errorf("nobody asked for diagnostics: %v, %v", d, err)
	}
}

// reasoned is an error of the store.
type reasoned struct{ error }

func (reasoned) Reason() string { return "the disk is full" }

// A process is not ready while it starts, stops or has no store, and says why without names.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &health{}
		ready := func() string {
			w := httptest.NewRecorder()
			h.serve(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
			body, _ := io.ReadAll(w.Body)
			return fmt.Sprint(w.Code, " ", strings.TrimSpace(string(body)))
		}
		asked := 0
		var store error
		wants := func(want string) {
			t.Helper()
			if got := ready(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		wants("503 starting")
		h.started(func(context.Context) error { asked++; return store })
		wants("200 ok")
		store = errors.New("dial tcp db.example:5432: connection refused")
		wants("200 ok") // it was asked a moment ago
		time.Sleep(storeChecked)
		wants("503 the store does not answer")
		store = reasoned{store}
		time.Sleep(storeChecked)
		for range 100 {
			wants("503 the store cannot be used: the disk is full")
		}
		if asked != 3 {
			t.Errorf("the store was asked %d times, want 3", asked)
		}
		store = nil
		time.Sleep(storeChecked)
		wants("200 ok")
		h.started(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }) // it hangs
		time.Sleep(storeChecked)
		began := time.Now()
		wants("503 the store does not answer")
		if took := time.Since(began); took != storeCheck {
			t.Errorf("it took %v", took)
		}
		h.stopping()
		wants("503 stopping")
	})
}
