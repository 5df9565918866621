// Package push sends the figures of package metrics to an OpenTelemetry collector over OTLP. They are the same figures
// as for Prometheus, under the same names: each is defined once.
package push

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/codemode-project/codemode/internal/address"
	"github.com/codemode-project/codemode/internal/record/otlp"
)

// Options say where figures go.
type Options struct {
	To      otlp.Collector
	Every   time.Duration
	Version string
	Log     *slog.Logger
}

// A Pusher sends figures.
type Pusher struct {
	Options
	from   prometheus.Gatherer
	began  otlp.Int
	stop   context.CancelFunc
	done   chan struct{}
	failed bool // it was logged
}

// closeWait bounds the sending of the last figures.
const closeWait = 5 * time.Second

// New begins to send what from gathers. It does not wait for the collector. While that takes nothing, nothing gathers
// here: figures count from the start of the process, and the next ones that arrive have all.
func New(from prometheus.Gatherer, o Options) *Pusher {
	ctx, stop := context.WithCancel(context.Background())
	p := &Pusher{Options: o, from: from, began: otlp.Int(time.Now().UnixNano()), stop: stop, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		tick := time.NewTicker(o.Every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.push(ctx)
			case <-ctx.Done():
				return
			}
		}
	}()
	return p
}

// Close sends the last figures. A nil Pusher has none.
func (p *Pusher) Close() {
	if p == nil {
		return
	}
	p.stop()
	<-p.done
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	p.push(ctx)
}

// push sends the figures as they are. It logs once, until it succeeds again, that the collector does not take them.
func (p *Pusher) push(ctx context.Context) {
	families, err := p.from.Gather() // with an error it has the figures that it could gather
	if err != nil {
		p.Log.Debug("some figures could not be gathered", "error", err)
	}
	now, all := otlp.Int(time.Now().UnixNano()), make([]metric, len(families))
	for i, f := range families {
		all[i] = metricOf(f, p.began, now)
	}
	err = p.To.Send(ctx, otlp.Request("Metrics", "metrics", "/metrics", p.Version, all))
	if err != nil && !p.failed && !errors.Is(ctx.Err(), context.Canceled) {
		p.Log.Warn("the collector of figures does not take them; it misses those of this time", "collector",
			address.SchemeHost(p.To.URL), "error", err)
	}
	p.failed = err != nil
}

// A metric is one as OTLP has it (opentelemetry/proto/metrics/v1/metrics.proto).
type metric struct {
	Name      string  `json:"name"`
	About     string  `json:"description,omitempty"`
	Gauge     *points `json:"gauge,omitempty"`
	Sum       *points `json:"sum,omitempty"`
	Histogram *points `json:"histogram,omitempty"`
	Summary   *points `json:"summary,omitempty"`
}

type points struct {
	Points    []point `json:"dataPoints"`
	Kind      int     `json:"aggregationTemporality,omitempty"`
	Monotonic bool    `json:"isMonotonic,omitempty"`
}

// cumulative is AGGREGATION_TEMPORALITY_CUMULATIVE of the protocol.
const cumulative = 2

type point struct {
	Attributes []otlp.Attribute `json:"attributes,omitempty"`
	Start      otlp.Int         `json:"startTimeUnixNano"`
	Time       otlp.Int         `json:"timeUnixNano"`
	Value      *otlp.Double     `json:"asDouble,omitempty"`
	Count      *otlp.Int        `json:"count,omitempty"`
	Total      *otlp.Double     `json:"sum,omitempty"`
	Buckets    []otlp.Int       `json:"bucketCounts,omitempty"`   // one more than bounds
	Bounds     []otlp.Double    `json:"explicitBounds,omitempty"` // without infinity
	Quantiles  []quantile       `json:"quantileValues,omitempty"`
}

type quantile struct {
	Quantile otlp.Double `json:"quantile"`
	Value    otlp.Double `json:"value"`
}

func metricOf(f *dto.MetricFamily, began, now otlp.Int) metric {
	m, all := metric{Name: f.GetName(), About: f.GetHelp()}, &points{}
	for _, of := range f.Metric {
		p := point{Start: began, Time: now}
		for _, l := range of.Label {
			p.Attributes = append(p.Attributes, otlp.Text(l.GetName(), l.GetValue()))
		}
		total := func(count uint64, sum float64) {
			n, total := otlp.Int(count), otlp.Double(sum)
			p.Count, p.Total = &n, &total
		}
		value := func(v float64) {
			d := otlp.Double(v)
			p.Value = &d
		}
		switch {
		case of.Counter != nil:
			m.Sum, all.Kind, all.Monotonic = all, cumulative, true
			value(of.Counter.GetValue())
		case of.Histogram != nil:
			m.Histogram, all.Kind = all, cumulative
			total(of.Histogram.GetSampleCount(), of.Histogram.GetSampleSum())
			p.buckets(of.Histogram)
		case of.Summary != nil:
			m.Summary = all
			total(of.Summary.GetSampleCount(), of.Summary.GetSampleSum())
			for _, q := range of.Summary.Quantile {
				p.Quantiles = append(p.Quantiles, quantile{otlp.Double(q.GetQuantile()), otlp.Double(q.GetValue())})
			}
		default:
			m.Gauge = all
			value(of.Gauge.GetValue() + of.Untyped.GetValue())
		}
		all.Points = append(all.Points, p)
	}
	return m
}

// buckets adds the buckets of a histogram. Prometheus counts in each what is below its bound; OTLP counts what is
// between the bounds.
func (p *point) buckets(h *dto.Histogram) {
	below := uint64(0)
	for _, b := range h.Bucket {
		if bound := b.GetUpperBound(); !math.IsInf(bound, 1) {
			p.Bounds = append(p.Bounds, otlp.Double(bound))
			p.Buckets = append(p.Buckets, otlp.Int(b.GetCumulativeCount()-below))
			below = b.GetCumulativeCount()
		}
	}
	p.Buckets = append(p.Buckets, otlp.Int(h.GetSampleCount()-below))
}
