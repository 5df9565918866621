//go:build unix

package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	figures "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/codemode-project/codemode/internal/otlptest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// A receiver takes spans over OTLP, as a collector does.
type receiver struct {
	t         *testing.T
	url, grpc string

	mu    sync.Mutex
	spans map[string]*otlp.Span // by their names
	token string                // of the last request
	text  strings.Builder       // all that was received
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{t: t, spans: map[string]*otlp.Span{}}
	c := otlptest.New(t, otlptest.Handler{Traces: r.take})
	r.url, r.grpc = c.HTTP+"/v1/traces", c.GRPC
	return r
}

func (r *receiver) take(_ context.Context, token string, got *collector.ExportTraceServiceRequest) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.token = token
	r.text.WriteString(got.String())
	for _, resource := range got.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, s := range scope.Spans {
				r.spans[s.Name] = s
			}
		}
	}
	return true
}

// span waits for a span.
func (r *receiver) span(name string) *otlp.Span {
	r.t.Helper()
	var s *otlp.Span
	if !testwait.Holds(func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		s = r.spans[name]
		return s != nil
	}) {
		r.t.Fatalf("there is no span %q", name)
	}
	return s
}

// attributes of a span, as NAME=VALUE.
func attributes(s *otlp.Span) (all []string) {
	for _, a := range s.Attributes {
		if a.Key != "codemode.run" {
			all = append(all, fmt.Sprintf("%s=%s%v", a.Key, a.Value.GetStringValue(), a.Value.GetIntValue()))
		}
	}
	slices.Sort(all)
	return all
}

// TestTracesOfARun: a run is a part of its caller's trace, with a span for each call and question, and servers get the
// span of their call, in _meta and in a header. The configuration or the environment chooses the protocol.
func TestTracesOfARun(t *testing.T) {
	t.Run("over HTTP", func(t *testing.T) {
		r := newReceiver(t)
		tracesOfARun(t, r, fmt.Sprintf(`"url": %q`, r.url))
	})
	t.Run("over gRPC", func(t *testing.T) {
		r := newReceiver(t)
		tracesOfARun(t, r, fmt.Sprintf(`"url": %q, "protocol": "grpc"`, r.grpc))
	})
	t.Run("over gRPC, as the environment says", func(t *testing.T) {
		r := newReceiver(t)
		tracesOfARun(t, r, fmt.Sprintf(`"url": %q`, r.grpc), "OTEL_EXPORTER_OTLP_PROTOCOL=grpc")
	})
}

func tracesOfARun(t *testing.T, r *receiver, tracing string, env ...string) {
	var mu sync.Mutex
	var parents []string // what the server got
	up := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, nil)
	for _, name := range []string{"do", "write", "fail"} {
		up.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				mu.Lock()
				defer mu.Unlock()
				parents = append(parents, fmt.Sprint(req.Params.Meta["traceparent"]))
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "SECRET"}}, IsError: name == "fail"}, nil
			})
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return up },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	var headers []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if parent := req.Header.Get("Traceparent"); parent != "" {
			mu.Lock()
			headers = append(headers, parent)
			mu.Unlock()
		}
		handler.ServeHTTP(w, req)
	}))
	defer server.Close()
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"), fmt.Sprintf(`{
		"tracing": {%s, "headers": {"Authorization": "Bearer ${OTEL}"}},
		"mcpServers": {"up": {"type": "http", "url": %q}}, "evaluation": {"defaultProfile": "p",
			"profiles": {"p": {"allowlist": ["up__do", "up__fail"], "asklist": ["up__write"]}}}}`, tracing, server.URL))
	s := serveOverHTTP(t, "0", append(env, "OTEL=the token of the collector"), "--config", config, "--state", t.TempDir())
	c, err := s.connect("2025-11-25", "", &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow_once"}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	const caller, above = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	params := &mcp.CallToolParams{Name: "codemode_eval", Arguments: map[string]any{"code": `
		await codemode.up__do({secret: "SECRET"}); await codemode.up__write({secret: "SECRET"})
		await codemode.up__fail({}).catch(() => 0); await codemode.up__SECRET({}).catch(() => 0); return "SECRET"`}}
	params.Meta = mcp.Meta{"traceparent": "00-" + caller + "-" + above + "-01"}
	if res, err := c.CallTool(t.Context(), params); err != nil || res.IsError {
		t.Fatalf("%+v, %v", res, err)
	}
	run := r.span("run p")
	if got := hex.EncodeToString(run.TraceId); got != caller {
		t.Errorf("the run is in the trace %s, want %s", got, caller)
	}
	if got := hex.EncodeToString(run.ParentSpanId); got != above {
		t.Errorf("the run is below %s, want %s", got, above)
	}
	for _, test := range []struct {
		name, below string
		want        []string
	}{
		{"tools/call up__do", "run p", []string{"codemode.outcome=ok0", "codemode.decision=allow0",
			"codemode.decided_by=rule0", "gen_ai.operation.name=execute_tool0", "gen_ai.tool.name=up__do0",
			"mcp.method.name=tools/call0", "codemode.call=1"}},
		{"tools/call up__write", "run p", []string{"codemode.outcome=ok0", "codemode.decision=ask0"}},
		{"ask up__write", "tools/call up__write", []string{"codemode.answer=allowed0", "codemode.decided_by=person0"}},
		{"tools/call up__fail", "run p", []string{"codemode.outcome=error0", "error.type=tool_error0"}},
		{"tools/call (unknown tool)", "run p", []string{"codemode.outcome=refused0", "error.type=ToolNotFoundError0"}},
	} {
		got, below := r.span(test.name), r.span(test.below)
		if string(got.ParentSpanId) != string(below.SpanId) || string(got.TraceId) != string(run.TraceId) {
			t.Errorf("%s is not below %s", test.name, test.below)
		}
		for _, want := range test.want {
			if !slices.Contains(attributes(got), want) {
				t.Errorf("%s has no %s but %q", test.name, want, attributes(got))
			}
		}
		if got.StartTimeUnixNano < run.StartTimeUnixNano || got.EndTimeUnixNano > run.EndTimeUnixNano {
			t.Errorf("%s is not within its run", test.name)
		}
	}
	var want []string
	for _, name := range []string{"do", "write", "fail"} {
		want = append(want, "00-"+caller+"-"+hex.EncodeToString(r.span("tools/call up__"+name).SpanId)+"-01")
	}
	mu.Lock()
	if !slices.Equal(parents, want) || !slices.Equal(headers, want) {
		t.Errorf("the server got %q in _meta and %q in headers, want %q", parents, headers, want)
	}
	mu.Unlock()
	c.Close()

	// Without a caller's trace, each run is one of its own; the header of the request counts too.
	k := &knocking{t: t, s: s, modern: true}
	if got := k.eval(t.Context(), `return 1`, "", ""); got.failed {
		t.Errorf("%+v", got)
	}
	s.end()
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := r.spans["run p"]; hex.EncodeToString(last.TraceId) == caller || len(last.ParentSpanId) > 0 {
		t.Error("the second run is in the trace of the first")
	}
	if r.token != "Bearer the token of the collector" {
		t.Errorf("the collector got the token %q", r.token)
	}
	if strings.Contains(r.text.String(), "SECRET") {
		t.Error("a span has an argument, a result or a text of the program")
	}
}

// TestACallersHeaderIsItsTrace: the traceparent of an HTTP request counts where its _meta has none.
func TestACallersHeaderIsItsTrace(t *testing.T) {
	r := newReceiver(t)
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"),
		fmt.Sprintf(`{"tracing": {"url": %q, "percent": 0}}`, r.url))
	s := serveOverHTTP(t, "0", nil, "--config", config, "--state", t.TempDir())
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil)
	const caller = "0af7651916cd43dd8448eb211c80319c"
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		c, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.url, MaxRetries: -1,
			HTTPClient: &http.Client{Transport: withParent("00-" + caller + "-b7ad6b7169203331-01")}},
			&mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		callText(t, c, `return "`+version+`"`)
		c.Close()
		if got := hex.EncodeToString(r.span("run (base tool)").TraceId); got != caller {
			t.Errorf("%s: the run is in the trace %s", version, got)
		}
		r.mu.Lock()
		clear(r.spans)
		r.mu.Unlock()
	}
	k := &knocking{t: t, s: s, modern: true}
	_ = k.eval(t.Context(), `return 1`, "", "")
	s.end()
	if len(r.spans) > 0 {
		t.Error("none of a hundred runs is to be traced, and one was")
	}
}

type withParent string

func (w withParent) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Traceparent", string(w))
	return http.DefaultTransport.RoundTrip(r)
}

// TestFiguresAreSent: a server sends its figures to a collector, with an address for Prometheus or without, and the last
// ones when it stops.
func TestFiguresAreSent(t *testing.T) {
	for name, address := range map[string]string{"without an address": "", "beside an address": `"address": "0", `} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			last := map[string]float64{}
			c := otlptest.New(t, otlptest.Handler{Metrics: func(_ context.Context, _ string,
				got *figures.ExportMetricsServiceRequest) bool {
				mu.Lock()
				defer mu.Unlock()
				for _, one := range got.ResourceMetrics[0].ScopeMetrics[0].Metrics {
					for _, p := range slices.Concat(one.GetSum().GetDataPoints(), one.GetGauge().GetDataPoints()) {
						last[one.Name] = p.GetAsDouble()
					}
				}
				return true
			}})
			config := write(t, filepath.Join(t.TempDir(), "codemode.json"), fmt.Sprintf(
				`{"diagnostics": {%s"push": {"url": %q, "protocol": "grpc", "seconds": 3600}}}`, address, c.GRPC))
			s := serveOverHTTP(t, "0", nil, "--config", config, "--state", t.TempDir())
			k := &knocking{t: t, s: s, modern: true}
			for range 3 {
				if got := k.eval(t.Context(), `return 1`, "", ""); got.failed {
					t.Fatalf("%+v", got)
				}
			}
			s.end()
			mu.Lock()
			defer mu.Unlock()
			if last["codemode_runs_started_total"] != 3 || last["codemode_build_info"] != 1 {
				t.Errorf("the collector got %v", last)
			}
		})
	}
}
