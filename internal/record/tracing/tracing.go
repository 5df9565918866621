// Package tracing makes traces of runs, and sends them to an OpenTelemetry collector over OTLP.
//
// A run is one trace, or a part of its caller's: a span for the run, below it one for each call, below that one for
// each question to people. It sees the entries of the record as a [recorder.Observer]: it traces what happened, and
// uses the words of the record. Spans have names of tools and profiles, decisions and outcomes. They have no arguments,
// results, program texts and principals: the record has those, by the run.
package tracing

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/record/otlp"
	"github.com/codemode-project/codemode/internal/record/recorder"
)

// Options say where spans go.
type Options struct {
	To      otlp.Collector
	Percent int // of the runs whose caller does not say whether to trace them
	Version string
	Log     *slog.Logger
}

// Traces makes the traces of one process. Many goroutines may call its methods.
type Traces struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	spans    *otlp.Sender[sdk.ReadOnlySpan] // nil keeps them here
	log      *slog.Logger

	mu   sync.Mutex
	runs map[string]*run
	full bool // it was said that there are too many
}

// maxRuns bounds the runs that are traced at once; further ones are not traced.
const maxRuns = 10_000

// New makes Traces. It does not wait for the collector.
func New(o Options) *Traces {
	t := &Traces{log: o.Log, runs: map[string]*run{}}
	t.spans = otlp.NewSender(o.To, "spans", func(batch []sdk.ReadOnlySpan) any {
		return otlp.Request("Spans", "spans", "", o.Version, spansOf(batch))
	}, o.Log)
	t.provider = sdk.NewTracerProvider(sdk.WithSpanProcessor(ended{t.spans}), sdk.WithIDGenerator(ids{}),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(float64(o.Percent)/100))))
	t.tracer = t.provider.Tracer("github.com/codemode-project/codemode", trace.WithInstrumentationVersion(o.Version))
	return t
}

// Observer returns the function that sees the record.
func (t *Traces) Observer() recorder.Observer { return recorder.Observer{Entry: t.entry} }

// words carries traceparent and tracestate.
var words = propagation.TraceContext{}

// Extract puts the trace of a caller into the context of its run; meta has traceparent and tracestate, or is nil.
func (t *Traces) Extract(ctx context.Context, meta map[string]any) context.Context {
	carrier := propagation.MapCarrier{}
	for name, value := range meta {
		if text, ok := value.(string); ok {
			carrier[name] = text
		}
	}
	return words.Extract(ctx, carrier)
}

// Call returns what the server of a call gets in _meta: the span of the call as parent. It is nil if the call has none.
func (t *Traces) Call(c *call.Call) map[string]any {
	span := t.spanOf(c.Run, c.Number)
	if span == nil {
		return nil
	}
	carrier := propagation.MapCarrier{}
	words.Inject(trace.ContextWithSpan(context.Background(), span), carrier)
	meta := map[string]any{}
	for name, value := range carrier {
		meta[name] = value
	}
	return meta
}

// closeWait bounds the sending of the last spans.
const closeWait = 5 * time.Second

// Close ends the spans of runs that go on in other processes, and sends what is left. A nil Traces has nothing.
func (t *Traces) Close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	for id, r := range t.runs {
		r.end("elsewhere", time.Now())
		delete(t.runs, id)
	}
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.log.Warn("the last spans did not reach the collector of traces")
	}
}

// ids makes the identifiers. The trace of a run whose caller has none is named by the run, so that another process that
// resumes the run adds to the same trace.
type ids struct{}

type runKey struct{}

func (ids) NewIDs(ctx context.Context) (id trace.TraceID, _ trace.SpanID) {
	if run, ok := ctx.Value(runKey{}).(string); ok {
		sum := sha256.Sum256([]byte("codemode run " + run))
		copy(id[:], sum[:])
		return id, ids{}.NewSpanID(ctx, id)
	}
	for !id.IsValid() {
		fill(id[:])
	}
	return id, ids{}.NewSpanID(ctx, id)
}

func (ids) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	for !id.IsValid() {
		fill(id[:])
	}
	return id
}

func fill(b []byte) {
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
}
