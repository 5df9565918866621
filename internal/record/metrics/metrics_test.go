package metrics

import (
	"context"
	"errors"
	"fmt"
	"github.com/codemode-project/codemode/call"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/fair"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// scraped reads the figures as Prometheus does.
func scraped(t *testing.T, m *Metrics) map[string]*dto.MetricFamily {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(w.Body)
	checktest.OK(t, err)
	return families
}

// value is that of the figure with the labels, such as `server="up"`. A histogram's is its count.
func value(families map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	for _, m := range families[name].GetMetric() {
		var has []string
		for _, l := range m.GetLabel() {
			has = append(has, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
		}
		slices.Sort(has)
		slices.Sort(labels)
		if slices.Equal(has, labels) {
			return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return -1
}

// feed gives entries as the record gets them.
func feed(m *Metrics, entries ...call.Entry) {
	for i := range entries {
		m.Observer().Entry(context.Background(), &entries[i])
	}
}

// everything counts one event of each kind.
func everything(m *Metrics) {
	feed(m,
		call.Entry{Kind: audit.Run, State: audit.Running, Profile: "p"},
		call.Entry{Kind: audit.Call, State: audit.Running, Server: "up", Tool: "up__do", Verdict: "allow"},
		call.Entry{Kind: audit.Call, State: audit.OK, Server: "up", Tool: "up__do", Verdict: "allow", MS: 12},
		call.Entry{Kind: audit.Call, State: audit.Refused, Server: "up", Tool: "up__no", Verdict: "deny", Reason: "denied"},
		call.Entry{Kind: audit.Call, State: audit.Refused, Tool: "nobody's", Verdict: "deny", Reason: "ToolNotFound"},
		call.Entry{Kind: audit.Call, State: audit.Pending, Server: "up", Tool: "up__do", Verdict: "ask", Profile: "p"},
		call.Entry{Kind: audit.Approval, State: call.Allowed, DecidedBy: &call.DecidedBy{How: "person", LatencyMS: 2000}},
		call.Entry{Kind: audit.Approval, State: "timeout", DecidedBy: &call.DecidedBy{How: "none"}},
		call.Entry{Kind: audit.Run, State: audit.Parked, Profile: "p"},
		call.Entry{Kind: audit.Run, State: "resumed", Profile: "p"},
		call.Entry{Kind: audit.Run, State: audit.OK, Reason: "finished", Profile: "p", MS: 2500},
		call.Entry{Kind: audit.Run, State: audit.Refused, Reason: "not started"},
		call.Entry{Kind: audit.Access, State: "no_token"},
		call.Entry{Kind: audit.Policy, State: "loaded"},
	)
	m.Observer().Written(time.Millisecond, nil)
	m.Observer().Written(time.Second, errors.New("disk full"))
}

func TestEntriesAreCounted(t *testing.T) {
	m := New("v1")
	everything(m)
	got := scraped(t, m)
	for _, want := range []struct {
		value  float64
		name   string
		labels []string
	}{
		{1, "codemode_runs_started_total", []string{`profile="p"`}},
		{1, "codemode_runs_ended_total", []string{`profile="p"`, `outcome="finished"`}},
		{1, "codemode_runs_ended_total", []string{`profile="(base tool)"`, `outcome="not started"`}},
		{1, "codemode_runs_parked_total", []string{`profile="p"`}},
		{1, "codemode_runs_resumed_total", []string{`profile="p"`}},
		{1, "codemode_run_duration_seconds", []string{`profile="p"`}},
		{1, "codemode_calls_total", []string{`server="up"`, `decision="allow"`, `outcome="ok"`}},
		{1, "codemode_calls_total", []string{`server="up"`, `decision="deny"`, `outcome="refused"`}},
		{1, "codemode_calls_total", []string{`server="none"`, `decision="deny"`, `outcome="refused"`}},
		{1, "codemode_call_refusals_total", []string{`reason="denied"`}},
		{1, "codemode_call_refusals_total", []string{`reason="ToolNotFound"`}},
		{1, "codemode_call_duration_seconds", []string{`server="up"`}},
		{1, "codemode_asks_total", []string{`profile="p"`}},
		{1, "codemode_asks_answered_total", []string{`answer="allowed"`}},
		{1, "codemode_asks_answered_total", []string{`answer="timeout"`}},
		{1, "codemode_ask_wait_seconds", nil},
		{2, "codemode_record_write_seconds", nil},
		{1, "codemode_record_write_failures_total", nil},
		{1, "codemode_access_total", []string{`state="no_token"`}},
		{1, "codemode_policy_changes_total", []string{`state="loaded"`}},
	} {
		if v := value(got, want.name, want.labels...); v != want.value {
			t.Errorf("%s%v: got %v, want %v", want.name, want.labels, v, want.value)
		}
	}
}

// What a program, a caller or a server can choose never becomes a label, and nothing makes the figures grow for ever.
func TestLabelsAreBounded(t *testing.T) {
	m := New("v1")
	const secret = "SECRET"
	for i := range 5000 {
		other := fmt.Sprint(secret, i)
		feed(m, call.Entry{Kind: audit.Call, State: audit.OK, Server: fmt.Sprint("s", i), Verdict: "allow", Run: other,
			Tool: other, Principal: other, Client: other, Session: other, Role: other, Script: other, Detail: other},
			call.Entry{Kind: audit.Run, State: audit.OK, Profile: fmt.Sprint("p", i), Reason: "finished", Run: other,
				Principal: other, Program: &call.EntryProgram{Name: other, Text: other}},
			call.Entry{Kind: audit.Call, State: audit.Refused, Reason: strings.Repeat("r", 1000) + fmt.Sprint(i)},
			call.Entry{Kind: audit.Access, State: "a\xff", Principal: other, Client: other, Detail: other})
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if strings.Contains(w.Body.String(), secret) {
		t.Error("a figure has a text of a caller")
	}
	for name, f := range scraped(t, m) {
		if n := len(f.GetMetric()); n > maxNames+2 {
			t.Errorf("%s has %d series", name, n)
		}
	}
}

func sources(ready *error) Sources {
	use := fair.Use{What: "memory for programs", Used: 7, Total: 9, Waiting: 1, Refused: 4}
	up := upstream.Status{Name: "up", State: upstream.Ready, Tools: 6, Restarts: 2}
	return Sources{
		Runs:      func() (int, int, int) { return 5, 2, 3 },
		Budgets:   func() []fair.Use { return []fair.Use{use} },
		Upstreams: func() []upstream.Status { return []upstream.Status{up} },
		Ready:     func() error { return *ready },
		Spans:     func() (int64, int64, int64) { return 11, 12, 13 },
	}
}

func TestAScrapeReadsWhatIsInUse(t *testing.T) {
	m := New("v1")
	if got := scraped(t, m); got["codemode_ready"] != nil {
		t.Error("there is a figure without a source")
	}
	var ready error
	m.Follow(sources(&ready))
	got := scraped(t, m)
	for _, want := range []struct {
		value  float64
		name   string
		labels []string
	}{
		{1, "codemode_ready", nil},
		{3, "codemode_runs", []string{`state="running"`}},
		{2, "codemode_runs", []string{`state="parked"`}},
		{3, "codemode_asks_open", nil},
		{11, "codemode_spans_total", []string{`state="sent"`}},
		{12, "codemode_spans_total", []string{`state="lost"`}},
		{13, "codemode_spans_total", []string{`state="dropped"`}},
		{7, "codemode_budget_used", []string{`budget="memory_for_programs"`}},
		{9, "codemode_budget_size", []string{`budget="memory_for_programs"`}},
		{1, "codemode_budget_waiting", []string{`budget="memory_for_programs"`}},
		{4, "codemode_budget_refusals_total", []string{`budget="memory_for_programs"`}},
		{1, "codemode_upstream_state", []string{`server="up"`, `state="ready"`}},
		{0, "codemode_upstream_state", []string{`server="up"`, `state="failed"`}},
		{6, "codemode_upstream_tools", []string{`server="up"`}},
		{2, "codemode_upstream_restarts_total", []string{`server="up"`}},
	} {
		if v := value(got, want.name, want.labels...); v != want.value {
			t.Errorf("%s%v: got %v, want %v", want.name, want.labels, v, want.value)
		}
	}
	if ready = errors.New("stopping"); value(scraped(t, m), "codemode_ready") != 0 {
		t.Error("it is ready while it stops")
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	problems, err := promlint.New(w.Body).Lint()
	checktest.OK(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// Event streams go through: what counts requests hides neither Flush nor the deadlines of a response.
func TestRequestsAreCounted(t *testing.T) {
	m := New("v1")
	server := httptest.NewServer(m.HTTP("", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if err := errors.Join(control.SetWriteDeadline(time.Now().Add(time.Minute)), control.Flush()); err != nil {
			t.Error(err)
		}
		if _, ok := w.(http.Flusher); !ok {
			t.Error("a response cannot be flushed")
		}
	})))
	defer server.Close()
	for _, path := range []string{"/mcp", "/mcp/p?token=SECRET", "/console/x", "/readyz", "/%2f/SECRET"} {
		r, err := http.NewRequest("PURGE", server.URL+path, nil)
		checktest.OK(t, err)
		res, err := http.DefaultClient.Do(r)
		checktest.OK(t, err)
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	got := scraped(t, m)
	for route, n := range map[string]float64{"mcp": 2, "page": 1, "probe": 1, "other": 1} {
		v := value(got, "codemode_http_requests_total", `route="`+route+`"`, `method="unknown"`, `code="200"`)
		if open := value(got, "codemode_http_requests_open", `route="`+route+`"`); v != n || open != 0 {
			t.Errorf("%s: %v requests, %v open, want %v", route, v, open, n)
		}
	}
}

// A call costs three entries: running, outcome, and how long it was written.
func BenchmarkCall(b *testing.B) {
	m := New("v1")
	o := m.Observer()
	running := &call.Entry{Kind: audit.Call, State: audit.Running, Server: "up", Profile: "p", Verdict: "allow"}
	ended := &call.Entry{Kind: audit.Call, State: audit.OK, Server: "up", Profile: "p", Verdict: "allow", MS: 3}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		o.Entry(ctx, running)
		o.Written(time.Millisecond, nil)
		o.Entry(ctx, ended)
	}
}

// Each tenant has figures of its own, and what no tenant has is counted under none.
func TestTenantsAreCountedApart(t *testing.T) {
	all := ForTenants("v1", "acme", "bolt")
	feed(all["acme"], call.Entry{Kind: audit.Run, State: audit.Running, Profile: "p"})
	var ready error
	for name, m := range all {
		m.Follow(sources(&ready))
		h := m.HTTP("/t/"+name, http.NotFoundHandler())
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/t/"+name+"/mcp/p", nil))
	}
	got := scraped(t, all["bolt"])
	for _, want := range []struct {
		value  float64
		name   string
		labels []string
	}{
		{1, "codemode_runs_started_total", []string{`profile="p"`, `tenant="acme"`}},
		{-1, "codemode_runs_started_total", []string{`profile="p"`, `tenant="bolt"`}},
		{1, "codemode_ready", []string{`tenant="acme"`}},
		{1, "codemode_ready", []string{`tenant="bolt"`}},
		{7, "codemode_budget_used", []string{`budget="memory_for_programs"`, `tenant=""`}},
		{1, "codemode_http_requests_total", []string{`route="mcp"`, `method="post"`, `code="404"`, `tenant="bolt"`}},
		{1, "codemode_http_requests_total", []string{`route="mcp"`, `method="post"`, `code="404"`, `tenant="acme"`}},
	} {
		if v := value(got, want.name, want.labels...); v != want.value {
			t.Errorf("%s%v: got %v, want %v", want.name, want.labels, v, want.value)
		}
	}
	for name, f := range got {
		for _, m := range f.GetMetric() {
			labelled := slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == "tenant" })
			if of := strings.HasPrefix(name, "codemode_") && name != "codemode_build_info"; of != labelled {
				t.Errorf("%s: the label tenant is there: %v", name, labelled)
			}
		}
	}
}
