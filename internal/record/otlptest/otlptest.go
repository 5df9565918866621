// Package otlptest is a collector of OpenTelemetry for tests: it takes traces and metrics over OTLP, by HTTP in JSON.
package otlptest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// A Handler gets what arrives, with the header Authorization. With false the collector refuses it, for good. A nil
// function takes everything. Several goroutines may call them.
type Handler struct {
	Traces  func(ctx context.Context, token string, spans []Span, text string) bool
	Metrics func(ctx context.Context, token string, metrics []Metric) bool
}

// A Span is what tests read of one. The protocol has whole numbers of 64 bits as texts.
type Span struct {
	TraceID, SpanID, ParentSpanID, Name string
	Start                               string `json:"startTimeUnixNano"`
	End                                 string `json:"endTimeUnixNano"`
	Attributes                          []Attribute
}

// An Attribute is one of a span or point.
type Attribute struct {
	Key   string
	Value struct{ StringValue, IntValue string }
}

// A Metric has the points of one kind.
type Metric struct {
	Name                  string
	Gauge, Sum, Histogram struct{ DataPoints []Point }
}

// A Point is one figure.
type Point struct {
	Attributes     []Attribute
	AsDouble       float64
	Count          string
	BucketCounts   []string
	ExplicitBounds []float64
}

type request struct {
	ResourceSpans   []struct{ ScopeSpans []struct{ Spans []Span } }
	ResourceMetrics []struct{ ScopeMetrics []struct{ Metrics []Metric } }
}

// New starts a collector, which listens until the test ends, at the address to which senders add /v1/traces or
// /v1/metrics.
func New(t testing.TB, h Handler) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the sender is gone
		}
		var got request
		if err := json.Unmarshal(body, &got); err != nil || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		taken, token := true, r.Header.Get("Authorization")
		for _, all := range got.ResourceSpans {
			if h.Traces != nil {
				taken = h.Traces(r.Context(), token, all.ScopeSpans[0].Spans, string(body))
			}
		}
		for _, all := range got.ResourceMetrics {
			if h.Metrics != nil {
				taken = h.Metrics(r.Context(), token, all.ScopeMetrics[0].Metrics)
			}
		}
		if !taken {
			http.Error(w, "SECRET", http.StatusForbidden)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}
