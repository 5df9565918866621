package metrics

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/codemode-project/codemode/internal/record/otlp"
	"github.com/codemode-project/codemode/internal/record/otlptest"
	"github.com/codemode-project/codemode/internal/testwait"
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

// pushed sends figures and returns what arrives, in the words of Prometheus.
func pushed(t *testing.T, m *Metrics) map[string]*dto.MetricFamily {
	t.Helper()
	arrived := make(chan []otlptest.Metric, 10)
	url := otlptest.New(t, otlptest.Handler{Metrics: func(_ context.Context, token string, all []otlptest.Metric) bool {
		if token != "Bearer T" {
			t.Errorf("the collector got the token %q", token)
		}
		arrived <- all
		return true
	}})
	p := m.Push(PushOptions{Every: time.Hour, Version: "v1", Log: slog.New(slog.DiscardHandler),
		To: otlp.Collector{URL: url + "/v1/metrics", Headers: map[string]string{"Authorization": "Bearer T"}}})
	p.Close() // sends the last figures
	families := map[string]*dto.MetricFamily{}
	for _, one := range <-arrived {
		families[one.Name] = familyFrom(t, one)
	}
	return families
}

func familyFrom(t *testing.T, one otlptest.Metric) *dto.MetricFamily {
	f := &dto.MetricFamily{Name: &one.Name}
	count := func(text string) uint64 {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Errorf("%s: the count %q", one.Name, text)
		}
		return n
	}
	add := func(p otlptest.Point, of *dto.Metric) {
		for _, a := range p.Attributes {
			of.Label = append(of.Label, &dto.LabelPair{Name: &a.Key, Value: &a.Value.StringValue})
		}
		f.Metric = append(f.Metric, of)
	}
	for _, p := range one.Gauge.DataPoints {
		add(p, &dto.Metric{Gauge: &dto.Gauge{Value: &p.AsDouble}})
	}
	for _, p := range one.Sum.DataPoints {
		add(p, &dto.Metric{Counter: &dto.Counter{Value: &p.AsDouble}})
	}
	for _, p := range one.Histogram.DataPoints {
		all, between := count(p.Count), uint64(0)
		h := &dto.Histogram{SampleCount: &all}
		for i, text := range p.BucketCounts {
			between += count(text)
			if below := between; i < len(p.ExplicitBounds) {
				h.Bucket = append(h.Bucket, &dto.Bucket{CumulativeCount: &below, UpperBound: &p.ExplicitBounds[i]})
			}
		}
		if between != all || len(p.BucketCounts) != len(p.ExplicitBounds)+1 {
			t.Errorf("%s: %d values are in %d buckets, and there are %d", one.Name, between, len(p.BucketCounts), all)
		}
		add(p, &dto.Metric{Histogram: h})
	}
	return f
}

// TestBothWaysOutHaveTheSameFigures: what Prometheus scrapes and what a collector gets have the same names, labels and
// values.
func TestBothWaysOutHaveTheSameFigures(t *testing.T) {
	m := filled()
	scrape, arrived := scraped(t, m), pushed(t, m)
	names := func(of map[string]*dto.MetricFamily) []string { return slices.Sorted(maps.Keys(of)) }
	// The handler for scrapes counts itself; nothing scrapes here but the test.
	if got, want := names(arrived), names(scrape); !slices.Equal(got, want) {
		t.Fatalf("a collector gets\n%q, and Prometheus\n%q", got, want)
	}
	for name, f := range scrape {
		if !strings.HasPrefix(name, "codemode_") {
			continue // of the process, which goes on
		}
		for i, one := range f.GetMetric() {
			var labels []string
			for _, l := range one.GetLabel() {
				labels = append(labels, l.GetName()+"=\""+l.GetValue()+"\"")
			}
			want := value(scrape, name, labels...)
			if got := value(arrived, name, labels...); got != want || want < 0 {
				t.Errorf("%s%q: a collector gets %v, and Prometheus %v", name, labels, got, want)
			}
			got := arrived[name].GetMetric()[i].GetHistogram().GetBucket()
			for b, bucket := range one.GetHistogram().GetBucket() {
				if b < len(got) && (got[b].GetCumulativeCount() != bucket.GetCumulativeCount() ||
					got[b].GetUpperBound() != bucket.GetUpperBound()) {
					t.Errorf("%s%q: bucket %d is %v, want %v", name, labels, b, got[b], bucket)
				}
			}
		}
	}
}

// TestACollectorThatTakesNoFigures is said once, without what its address or its answer may hold, and the figures that
// arrive later have everything.
func TestACollectorThatTakesNoFigures(t *testing.T) {
	arrived := make(chan float64, 100)
	url := otlptest.New(t, otlptest.Handler{Metrics: func(_ context.Context, _ string, all []otlptest.Metric) bool {
		for _, one := range all {
			if one.Name == "codemode_record_write_failures_total" {
				arrived <- one.Sum.DataPoints[0].AsDouble
			}
		}
		return false
	}})
	var text bytes.Buffer
	m := filled()
	before := value(scraped(t, m), "codemode_record_write_failures_total")
	p := m.Push(PushOptions{To: otlp.Collector{URL: url + "/v1/metrics?key=SECRET"},
		Every: 20 * time.Millisecond, Log: slog.New(slog.NewTextHandler(&text, nil))})
	first := <-arrived
	m.writeFailures.add(1)
	if !testwait.Holds(func() bool { return <-arrived == before+1 }) || first != before {
		t.Errorf("first %v arrived, want %v", first, before)
	}
	p.Close()
	if n := strings.Count(text.String(), "does not take them"); n != 1 || strings.Contains(text.String(), "SECRET") {
		t.Errorf("the log has it %d times:\n%s", n, text.String())
	}
}
