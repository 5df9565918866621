// Package push sends the figures of package metrics to an OpenTelemetry collector over OTLP. They are the same figures
// as for Prometheus, under the same names: each is defined once, and a bridge reads them.
package push

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/codemode-project/codemode/internal/address"
)

// Options say where figures go.
type Options struct {
	URL     string // of the collector, such as http://localhost:4318/v1/metrics, or over gRPC http://localhost:4317
	GRPC    bool   // OTLP over gRPC; else over HTTP, in protobuf
	Headers map[string]string
	Every   time.Duration
	Version string
	Log     *slog.Logger
}

// A Pusher sends figures.
type Pusher struct {
	provider *metric.MeterProvider
	log      *slog.Logger
}

const (
	// pushWait bounds one attempt, with its repetitions.
	pushWait = 10 * time.Second
	// closeWait bounds the sending of the last figures.
	closeWait = 5 * time.Second
)

// New begins to send what from gathers. It does not wait for the collector. While that takes nothing, nothing gathers
// here: figures count from the start of the process, and the next ones that arrive have all.
func New(ctx context.Context, from prometheus.Gatherer, o Options) (*Pusher, error) {
	exporter, err := exporterOf(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("sending figures: %w", err)
	}
	about := resource.NewSchemaless(attribute.String("service.name", "codemode"),
		attribute.String("service.version", o.Version))
	reader := metric.NewPeriodicReader(&reporting{Exporter: exporter, log: o.Log, origin: address.SchemeHost(o.URL)},
		metric.WithInterval(o.Every), metric.WithTimeout(pushWait),
		metric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(from))))
	return &Pusher{metric.NewMeterProvider(metric.WithReader(reader), metric.WithResource(about)), o.Log}, nil
}

func exporterOf(ctx context.Context, o Options) (metric.Exporter, error) {
	if o.GRPC {
		return otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpointURL(o.URL), otlpmetricgrpc.WithHeaders(o.Headers))
	}
	return otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(o.URL), otlpmetrichttp.WithHeaders(o.Headers))
}

// reporting logs when the collector takes no figures, once until it does again.
type reporting struct {
	metric.Exporter
	log    *slog.Logger
	origin string
	failed bool // the SDK exports one batch at a time
}

func (r *reporting) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	err := r.Exporter.Export(ctx, all)
	if err != nil && !r.failed { // without the error, which has the address
		r.log.Warn("the collector of figures does not take them; it misses those of this time", "collector", r.origin)
	}
	r.failed = err != nil
	return nil // the SDK would report it to the log of the whole process
}

// Close sends the last figures. A nil Pusher has none.
func (p *Pusher) Close() {
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	if err := p.provider.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
		p.log.Warn("the last figures did not reach the collector")
	}
}
