package metrics

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/codemode-project/codemode/internal/record/otlp"
	"github.com/codemode-project/codemode/internal/secrets"
)

// PushOptions say where figures go.
type PushOptions struct {
	To      otlp.Collector
	Every   time.Duration
	Version string
	Log     *slog.Logger
}

// A Pusher sends figures.
type Pusher struct {
	PushOptions
	of     *Metrics
	began  otlp.Int
	stop   context.CancelFunc
	done   chan struct{}
	failed bool // it was logged
}

// closeWait bounds the sending of the last figures.
const closeWait = 5 * time.Second

// Push begins to send the figures of the process to a collector of OpenTelemetry: those that Prometheus scrapes, under the
// same names. It does not wait for the collector. While that takes nothing, nothing gathers here: figures count from the
// start of the process, and the next ones that arrive have all.
func (m *Metrics) Push(o PushOptions) *Pusher {
	ctx, stop := context.WithCancel(context.Background())
	p := &Pusher{PushOptions: o, of: m, began: otlp.Int(time.Now().UnixNano()), stop: stop, done: make(chan struct{})}
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
	families := p.of.Gather()
	now, all := otlp.Int(time.Now().UnixNano()), make([]metric, len(families))
	for i, f := range families {
		all[i] = metricOf(f, p.began, now)
	}
	err := p.To.Send(ctx, otlp.Request("Metrics", "metrics", "/metrics", p.Version, all))
	if err != nil && !p.failed && !errors.Is(ctx.Err(), context.Canceled) {
		p.Log.Warn("the collector of figures does not take them; it misses those of this time", "collector",
			secrets.SchemeHost(p.To.URL), "error", err)
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
}

func metricOf(f Family, began, now otlp.Int) metric {
	m, all := metric{Name: f.Name, About: f.Help}, &points{}
	switch f.Kind {
	case Counter:
		m.Sum, all.Kind, all.Monotonic = all, cumulative, true
	case Histogram:
		m.Histogram, all.Kind = all, cumulative
	default:
		m.Gauge = all
	}
	for _, s := range f.Series {
		p, value := point{Start: began, Time: now}, otlp.Double(s.Value)
		for _, l := range s.Labels {
			p.Attributes = append(p.Attributes, otlp.Text(l.Name, l.Value))
		}
		if f.Kind != Histogram {
			p.Value = &value
			all.Points = append(all.Points, p)
			continue
		}
		p.Total, p.Count = &value, new(otlp.Int)
		for _, bound := range f.Bounds {
			p.Bounds = append(p.Bounds, otlp.Double(bound))
		}
		for _, n := range s.Buckets {
			p.Buckets = append(p.Buckets, otlp.Int(n))
			*p.Count += otlp.Int(n)
		}
		all.Points = append(all.Points, p)
	}
	return m
}
