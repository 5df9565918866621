//go:build unix

package main

import (
	"context"
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

	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/internal/record/otlptest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// A receiver takes spans over OTLP, as a collector does.
type receiver struct {
	t   *testing.T
	url string

	mu    sync.Mutex
	spans map[string]*otlptest.Span // by their names
	token string                    // of the last request
	text  strings.Builder           // all that was received
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{t: t, spans: map[string]*otlptest.Span{}}
	r.url = otlptest.New(t, otlptest.Handler{Traces: r.take}) + "/v1/traces"
	return r
}

func (r *receiver) take(_ context.Context, token string, spans []otlptest.Span, text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.token = token
	r.text.WriteString(text)
	for _, s := range spans {
		r.spans[s.Name] = &s
	}
	return true
}

// span waits for a span.
func (r *receiver) span(name string) *otlptest.Span {
	r.t.Helper()
	var s *otlptest.Span
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
func attributes(s *otlptest.Span) (all []string) {
	for _, a := range s.Attributes {
		if a.Key != "codemode.run" {
			all = append(all, a.Key+"="+a.Value.StringValue+a.Value.IntValue)
		}
	}
	slices.Sort(all)
	return all
}

// TestTracesOfARun: a run is a part of its caller's trace, with a span for each call and question, and servers get the
// span of their call, in _meta and in a header.
func TestTracesOfARun(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
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
		"tracing": {"url": %q, "headers": {"Authorization": "Bearer ${OTEL}"}},
		"mcpServers": {"up": {"type": "http", "url": %q}}, "evaluation": {"defaultProfile": "p",
			"profiles": {"p": {"allowlist": ["up__do", "up__fail"], "asklist": ["up__write"]}}}}`, r.url, server.URL))
	s := serveOverHTTP(t, "0", []string{"OTEL=the token of the collector"}, "--config", config, "--state", t.TempDir())
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
	if got := run.TraceID; got != caller {
		t.Errorf("the run is in the trace %s, want %s", got, caller)
	}
	if got := run.ParentSpanID; got != above {
		t.Errorf("the run is below %s, want %s", got, above)
	}
	for _, test := range []struct {
		name, below string
		want        []string
	}{
		{"tools/call up__do", "run p", []string{"codemode.outcome=ok", "codemode.decision=allow",
			"codemode.decided_by=rule", "gen_ai.operation.name=execute_tool", "gen_ai.tool.name=up__do",
			"mcp.method.name=tools/call", "codemode.call=1"}},
		{"tools/call up__write", "run p", []string{"codemode.outcome=ok", "codemode.decision=ask"}},
		{"ask up__write", "tools/call up__write", []string{"codemode.answer=allowed", "codemode.decided_by=person"}},
		{"tools/call up__fail", "run p", []string{"codemode.outcome=error", "error.type=tool_error"}},
		{"tools/call (unknown tool)", "run p", []string{"codemode.outcome=refused", "error.type=ToolNotFoundError"}},
	} {
		got, below := r.span(test.name), r.span(test.below)
		if got.ParentSpanID != below.SpanID || got.TraceID != run.TraceID {
			t.Errorf("%s is not below %s", test.name, test.below)
		}
		for _, want := range test.want {
			if !slices.Contains(attributes(got), want) {
				t.Errorf("%s has no %s but %q", test.name, want, attributes(got))
			}
		}
		if got.Start < run.Start || got.End > run.End {
			t.Errorf("%s is not within its run", test.name)
		}
	}
	var want []string
	for _, name := range []string{"do", "write", "fail"} {
		want = append(want, "00-"+caller+"-"+r.span("tools/call up__"+name).SpanID+"-01")
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
	if last := r.spans["run p"]; last.TraceID == caller || last.ParentSpanID != "" {
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
	t.Parallel()
	r := newReceiver(t)
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"),
		fmt.Sprintf(`{"tracing": {"url": %q, "percent": 0}}`, r.url))
	s := serveOverHTTP(t, "0", nil, "--config", config, "--state", t.TempDir())
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil)
	const caller = "0af7651916cd43dd8448eb211c80319c"
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		c, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.url, MaxRetries: -1,
			HTTPClient: mcptest.Sends("Traceparent", "00-"+caller+"-b7ad6b7169203331-01")},
			&mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		callText(t, c, `return "`+version+`"`)
		c.Close()
		if got := r.span("run (base tool)").TraceID; got != caller {
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

// TestFiguresAreSent: a server sends its figures to a collector, with an address for Prometheus or without, and the last
// ones when it stops.
func TestFiguresAreSent(t *testing.T) {
	for name, address := range map[string]string{"without an address": "", "beside an address": `"address": "0", `} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			last := map[string]float64{}
			url := otlptest.New(t, otlptest.Handler{Metrics: func(_ context.Context, _ string, all []otlptest.Metric) bool {
				mu.Lock()
				defer mu.Unlock()
				for _, one := range all {
					for _, p := range slices.Concat(one.Sum.DataPoints, one.Gauge.DataPoints) {
						last[one.Name] = p.AsDouble
					}
				}
				return true
			}})
			config := write(t, filepath.Join(t.TempDir(), "codemode.json"), fmt.Sprintf(
				`{"diagnostics": {%s"push": {"url": %q, "seconds": 3600}}}`, address, url+"/v1/metrics"))
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
