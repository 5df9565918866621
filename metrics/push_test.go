package metrics

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/codemode-project/codemode/internal/otlptest"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/metrics/push"
)

// filled are figures of which each has a value.
func filled() *Metrics {
	m := New("v1")
	everything(m)
	var ready error
	m.Follow(sources(&ready))
	m.HTTP("", http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/mcp", nil))
	return m
}

// protocols are the ways to a collector: the address, and whether it speaks gRPC.
var protocols = map[string]func(c *otlptest.Collector) (url string, grpc bool){
	"HTTP": func(c *otlptest.Collector) (string, bool) { return c.HTTP + "/v1/metrics", false },
	"gRPC": func(c *otlptest.Collector) (string, bool) { return c.GRPC, true },
}

// pushed sends figures over a protocol and returns what arrives, in the words of Prometheus.
func pushed(t *testing.T, m *Metrics, protocol string) map[string]*dto.MetricFamily {
	t.Helper()
	arrived := make(chan *collector.ExportMetricsServiceRequest, 10)
	c := otlptest.New(t, otlptest.Handler{Metrics: func(_ context.Context, token string,
		r *collector.ExportMetricsServiceRequest) bool {
		if token != "Bearer T" {
			t.Errorf("the collector got the token %q", token)
		}
		arrived <- r
		return true
	}})
	url, grpc := protocols[protocol](c)
	p, err := push.New(t.Context(), m.Gatherer(), push.Options{URL: url, GRPC: grpc, Every: time.Hour, Version: "v1",
		Headers: map[string]string{"Authorization": "Bearer T"}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	p.Close() // sends the last figures
	families := map[string]*dto.MetricFamily{}
	for _, resource := range (<-arrived).ResourceMetrics {
		for _, scope := range resource.ScopeMetrics {
			for _, one := range scope.Metrics {
				families[one.Name] = familyFrom(one)
			}
		}
	}
	return families
}

func familyFrom(one *otlp.Metric) *dto.MetricFamily {
	f := &dto.MetricFamily{Name: &one.Name}
	add := func(attributes []*common.KeyValue, of *dto.Metric) {
		for _, a := range attributes {
			value := a.Value.GetStringValue()
			of.Label = append(of.Label, &dto.LabelPair{Name: &a.Key, Value: &value})
		}
		f.Metric = append(f.Metric, of)
	}
	for _, p := range one.GetGauge().GetDataPoints() {
		value := p.GetAsDouble()
		add(p.Attributes, &dto.Metric{Gauge: &dto.Gauge{Value: &value}})
	}
	for _, p := range one.GetSum().GetDataPoints() {
		value := p.GetAsDouble()
		add(p.Attributes, &dto.Metric{Counter: &dto.Counter{Value: &value}})
	}
	for _, p := range one.GetHistogram().GetDataPoints() {
		add(p.Attributes, &dto.Metric{Histogram: &dto.Histogram{SampleCount: &p.Count}})
	}
	for _, p := range one.GetSummary().GetDataPoints() {
		add(p.Attributes, &dto.Metric{Summary: &dto.Summary{SampleCount: &p.Count}})
	}
	return f
}

// TestBothWaysOutHaveTheSameFigures: what Prometheus scrapes and what a collector gets have the same names, labels and
// values, whatever the protocol.
func TestBothWaysOutHaveTheSameFigures(t *testing.T) {
	for protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			m := filled()
			scrape, arrived := scraped(t, m), pushed(t, m, protocol)
			names := func(of map[string]*dto.MetricFamily) []string { return slices.Sorted(maps.Keys(of)) }
			// The handler for scrapes counts itself; nothing scrapes here but the test.
			if got, want := names(arrived), names(scrape); !slices.Equal(got, want) {
				t.Fatalf("a collector gets\n%q, and Prometheus\n%q", got, want)
			}
			for name, f := range scrape {
				if !strings.HasPrefix(name, "codemode_") {
					continue // of the process, which goes on
				}
				for _, one := range f.GetMetric() {
					var labels []string
					for _, l := range one.GetLabel() {
						labels = append(labels, l.GetName()+"=\""+l.GetValue()+"\"")
					}
					want := value(scrape, name, labels...)
					if got := value(arrived, name, labels...); got != want || want < 0 {
						t.Errorf("%s%q: a collector gets %v, and Prometheus %v", name, labels, got, want)
					}
				}
			}
		})
	}
}

// TestACollectorThatTakesNoFigures is said once, without what its address or its answer may hold, and the figures that
// arrive later have everything.
func TestACollectorThatTakesNoFigures(t *testing.T) {
	for protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			arrived := make(chan float64, 100)
			c := otlptest.New(t, otlptest.Handler{Metrics: func(_ context.Context, _ string,
				r *collector.ExportMetricsServiceRequest) bool {
				for _, one := range r.ResourceMetrics[0].ScopeMetrics[0].Metrics {
					if one.Name == "codemode_record_write_failures_total" {
						arrived <- one.GetSum().DataPoints[0].GetAsDouble()
					}
				}
				return false
			}})
			url, grpc := protocols[protocol](c)
			if !grpc {
				url += "?key=SECRET"
			}
			var text bytes.Buffer
			m := filled()
			before := value(scraped(t, m), "codemode_record_write_failures_total")
			p, err := push.New(t.Context(), m.Gatherer(), push.Options{URL: url, GRPC: grpc, Every: 20 * time.Millisecond,
				Log: slog.New(slog.NewTextHandler(&text, nil))})
			if err != nil {
				t.Fatal(err)
			}
			first := <-arrived
			m.writeFailures.Inc()
			if !testwait.Holds(func() bool { return <-arrived == before+1 }) || first != before {
				t.Errorf("first %v arrived, want %v", first, before)
			}
			p.Close()
			if n := strings.Count(text.String(), "does not take them"); n != 1 || strings.Contains(text.String(), "SECRET") {
				t.Errorf("the log has it %d times:\n%s", n, text.String())
			}
		})
	}
}
