package tracing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/otlp"
)

// local makes Traces whose spans stay here.
func local() (*Traces, *tracetest.SpanRecorder) {
	spans := tracetest.NewSpanRecorder()
	t := &Traces{log: slog.New(slog.DiscardHandler), runs: map[string]*run{}}
	t.provider = sdk.NewTracerProvider(sdk.WithSpanProcessor(spans), sdk.WithIDGenerator(ids{}))
	t.tracer = t.provider.Tracer("test")
	return t, spans
}

// Whatever order entries come in, each span ends once, and no run stays behind.
func TestEveryOrderOfEntries(t *testing.T) {
	began := call.Entry{Kind: audit.Run, State: audit.Running, Run: "r"}
	ended := call.Entry{Kind: audit.Run, State: audit.OK, Run: "r", Reason: "finished"}
	of := func(kind, state, server string) call.Entry {
		return call.Entry{Kind: kind, State: state, Run: "r", Call: 1, Server: server, Tool: "up__do"}
	}
	for _, test := range []struct {
		what    string
		entries []call.Entry
		want    string
	}{
		{"a question about no call", []call.Entry{began, of(audit.Call, audit.Pending, ""),
			of(audit.Approval, call.Allowed, ""), ended}, "[ask up__do run (base tool)]"},
		{"a question about a call of no server", []call.Entry{began, of(audit.Call, audit.Pending, ""),
			of(audit.Call, audit.Running, ""), of(audit.Call, audit.OK, ""), ended},
			"[ask up__do tools/call up__do run (base tool)]"},
		{"an answer that comes too late", []call.Entry{began, of(audit.Approval, "late_answer", "up"), ended},
			"[run (base tool)]"},
		{"a run that ends before its call", []call.Entry{began, of(audit.Call, audit.Pending, "up"), ended,
			of(audit.Call, audit.OK, "up")}, "[ask up__do tools/call up__do run (base tool)]"},
		{"a run that never began", []call.Entry{ended, of(audit.Call, audit.OK, "up")}, "[]"},
		{"one that began twice", []call.Entry{began, began, ended}, "[run (base tool)]"},
		{"an outcome alone", []call.Entry{began, of(audit.Call, audit.OK, "up"), ended},
			"[tools/call up__do run (base tool)]"},
	} {
		traces, spans := local()
		for i := range test.entries {
			traces.Observer().Entry(t.Context(), &test.entries[i])
		}
		var names []string
		for _, s := range spans.Ended() {
			names = append(names, s.Name())
		}
		if got := fmt.Sprint(names); got != test.want || len(spans.Started()) != len(names) || len(traces.runs) > 0 {
			t.Errorf("%s: got %s of %d, %d runs are left, want %s", test.what, got, len(spans.Started()), len(traces.runs),
				test.want)
		}
	}
}

// Another process that resumes a run adds to its trace, and the runs of a process are bounded.
func TestTheTraceOfARun(t *testing.T) {
	var traced []string
	for _, state := range []string{audit.Running, audit.Resumed} {
		traces, spans := local()
		traces.Observer().Entry(t.Context(), &call.Entry{Kind: audit.Run, State: state, Run: "r1"})
		traces.Observer().Entry(t.Context(), &call.Entry{Kind: audit.Call, State: audit.Running, Run: "r1", Call: 1,
			Server: "up"})
		meta := traces.Call(&call.Call{Run: "r1", Number: 1})
		if parent, _ := meta["traceparent"].(string); len(parent) != 55 {
			t.Errorf("a server gets %v", meta)
		}
		if meta := traces.Call(&call.Call{Run: "r1", Number: 2}); meta != nil {
			t.Errorf("for a call without a span a server gets %v", meta)
		}
		traces.Close()
		if n := len(spans.Ended()); n != 2 {
			t.Errorf("%d spans ended with the process, want 2", n)
		}
		traced = append(traced, spans.Ended()[0].SpanContext().TraceID().String())
	}
	if traced[0] != traced[1] {
		t.Errorf("the run is in the traces %q", traced)
	}
	traces, _ := local()
	for i := range maxRuns + 10 {
		traces.Observer().Entry(t.Context(), &call.Entry{Kind: audit.Run, State: audit.Running, Run: fmt.Sprint(i)})
	}
	if n := len(traces.runs); n != maxRuns {
		t.Errorf("%d runs are traced, want %d", n, maxRuns)
	}
}

// A collector that refuses is reported once, without what its address or answer may hold.
func TestACollectorThatRefuses(t *testing.T) {
	asked := make(chan bool, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- true
		http.Error(w, "SECRET", http.StatusForbidden)
	}))
	defer server.Close()
	var text bytes.Buffer
	traces := New(Options{To: otlp.Collector{URL: server.URL + "/v1/traces?key=SECRET"}, Percent: 100,
		Log: slog.New(slog.NewJSONHandler(&text, nil))})
	for i := range 2 {
		traces.Observer().Entry(t.Context(), &call.Entry{Kind: audit.Run, State: audit.Running, Run: fmt.Sprint(i)})
		traces.Observer().Entry(t.Context(), &call.Entry{Kind: audit.Run, State: audit.OK, Run: fmt.Sprint(i)})
		<-asked
	}
	traces.Close()
	var line struct{ Collector string }
	first, _, _ := strings.Cut(text.String(), "\n")
	if err := json.Unmarshal([]byte(first), &line); err != nil || line.Collector != server.URL ||
		strings.Count(text.String(), "does not take spans") != 1 {
		t.Errorf("the log: %v\n%s", err, text.String())
	}
	if strings.Contains(text.String(), "SECRET") {
		t.Errorf("the log has a secret: %s", text.String())
	}
}
