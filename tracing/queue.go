package tracing

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"sync/atomic"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// Spans counts, since the start, the ended spans that the collector took, those that it did not, and those that the
// full queue to it dropped. A nil Traces has none.
func (t *Traces) Spans() (sent, lost, dropped int64) {
	if t == nil || t.queue == nil {
		return 0, 0, 0
	}
	return t.queue.sent.Load(), t.queue.lost.Load(), t.queue.dropped.Load()
}

// A queue holds ended spans until the SDK has sent them. The SDK's own queue drops silently what it has no room for, so
// this one counts what waits and passes no more on.
type queue struct {
	sdk.SpanProcessor // the SDK's, with room for size
	log               *slog.Logger
	origin            string
	size              int

	waiting, sent, lost, dropped atomic.Int64

	full   atomic.Bool // it was said, until there is room again
	failed bool        // it was said; the SDK exports one batch at a time
}

// queueSize is how many spans may wait: what OTEL_BSP_MAX_QUEUE_SIZE says, else the default of the SDK.
func queueSize() int {
	if n, err := strconv.Atoi(os.Getenv("OTEL_BSP_MAX_QUEUE_SIZE")); err == nil && n > 0 {
		return n
	}
	return sdk.DefaultMaxQueueSize
}

// OnEnd is of [sdk.SpanProcessor]. It waits for nothing.
func (q *queue) OnEnd(s sdk.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if q.waiting.Add(1) > int64(q.size) {
		q.waiting.Add(-1)
		q.dropped.Add(1)
		if !q.full.Swap(true) {
			q.log.Warn("spans are dropped: the collector of traces is too slow", "collector", q.origin, "waiting", q.size)
		}
		return
	}
	q.SpanProcessor.OnEnd(s)
}

// reporting counts what was sent, and logs when spans are lost, once until some arrive again.
type reporting struct {
	sdk.SpanExporter
	queue *queue
}

// ExportSpans is of [sdk.SpanExporter].
func (r *reporting) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	q, n := r.queue, int64(len(spans))
	err := r.SpanExporter.ExportSpans(ctx, spans)
	q.waiting.Add(-n)
	if err == nil {
		q.sent.Add(n)
		q.full.Store(false)
	} else {
		q.lost.Add(n)
	}
	if err != nil && !q.failed { // without the error, which has the address
		q.log.Warn("the collector of traces does not take spans; they are lost until it does", "collector", q.origin,
			"spans", n)
	}
	q.failed = err != nil
	return nil // the SDK would report it to the log of the whole process
}
