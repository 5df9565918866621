//go:build unix

package main

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/codemode-project/codemode/internal/testwait"
)

// TestFiguresOfAProcess: the figures of codemode serve --http are those of what clients did, at their own address.
func TestFiguresOfAProcess(t *testing.T) {
	u := newEffects(t, 0)
	flags := u.replicas(t, "codemode.db")
	s := serveOverHTTP(t, "0", nil, append(flags, "--diagnostics", "0")...)
	at := diagnosticsAt.FindStringSubmatch(s.log.String())
	if at == nil || !strings.HasPrefix(at[1], "http://127.0.0.1:") {
		t.Fatalf("no diagnostics of this machine:\n%s", s.log)
	}
	k := &knocking{t: t, s: s, modern: true}
	for range 3 {
		if got := k.eval(t.Context(), `await codemode.up__do({SECRET: 1}); return 1`, "", ""); got.failed || got.err != nil {
			t.Fatalf("%+v", got)
		}
	}
	if got := k.eval(t.Context(), `await codemode.up__ask({SECRET: 1})`, "", ""); got.err != nil {
		t.Fatalf("%+v", got)
	}
	wanted := []string{
		`codemode_runs_started_total{profile="p"} 4`,
		`codemode_runs_ended_total{outcome="finished",profile="p"} 3`,
		`codemode_runs{state="running"} 0`,
		`codemode_calls_total{decision="allow",outcome="ok",server="up"} 3`,
		`codemode_calls_total{decision="deny",outcome="refused",server="up"} 1`,
		`codemode_call_duration_seconds_count{server="up"} 3`,
		`codemode_record_write_seconds_count 3`,
		`codemode_upstream_state{server="up",state="ready"} 1`,
		`codemode_http_requests_total{code="200",method="post",route="mcp"} 4`,
		`codemode_budget_used{budget="requests_at_once"} 0`,
		`codemode_ready 1`,
		`process_open_fds `, `go_goroutines `,
	}
	// A request is counted when its handler has ended: that may be after the client has read the whole answer.
	var text string
	missing := func(what string) bool { return !strings.Contains(text, what) }
	testwait.Holds(func() bool {
		_, text = fetch(t, at[1]+"/metrics")
		return !slices.ContainsFunc(wanted, missing)
	})
	for _, what := range wanted {
		if missing(what) {
			t.Errorf("there is no %s in\n%s", what, regexp.MustCompile(`(?m)^#.*\n|^go_.*\n`).ReplaceAllString(text, ""))
		}
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	if _, err := parser.TextToMetricFamilies(strings.NewReader(text)); err != nil {
		t.Errorf("Prometheus cannot read it: %v", err)
	}
	if strings.Contains(text, "SECRET") || strings.Contains(text, "up__") {
		t.Error("the figures have an argument or a tool")
	}
	for _, path := range []string{"/metrics", "/debug/pprof/", "/livez"} {
		if status, _ := fetch(t, strings.TrimSuffix(s.url, "/mcp")+path); status != http.StatusNotFound {
			t.Errorf("%s at the address of MCP: status %d", path, status)
		}
	}
	s.end()
}

// TestALoadBalancerNotices: after the signal a process says that it is not ready, and takes programs for a while.
func TestALoadBalancerNotices(t *testing.T) {
	u := newEffects(t, 0)
	s := serveOverHTTP(t, "0", nil, append(u.replicas(t, "codemode.db"),
		"--diagnostics", "0", "--shutdown-delay", "3s")...)
	at := diagnosticsAt.FindStringSubmatch(s.log.String())
	if status, _ := fetch(t, at[1]+"/readyz"); status != http.StatusOK {
		t.Errorf("it is not ready: %d", status)
	}
	began := time.Now()
	s.signal()
	if status, body := fetch(t, at[1]+"/readyz"); status != http.StatusServiceUnavailable || body != "stopping\n" {
		t.Errorf("after the signal: %d %q", status, body)
	}
	k := &knocking{t: t, s: s, modern: true}
	got := k.eval(t.Context(), `await codemode.up__do({}); return 1`, "", "")
	if got.status != http.StatusOK || got.failed {
		t.Errorf("a program in the delay: %+v", got)
	}
	s.exits()
	if took := time.Since(began); took < 3*time.Second {
		t.Errorf("it ended after %v", took)
	}
}
