package tracing

import (
	"cmp"
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/record/audit"
)

// A run is a traced run, with its open spans.
type run struct {
	span  trace.Span
	ctx   context.Context     // has span
	calls map[int]*tracedCall // that have not ended
}

type tracedCall struct {
	span trace.Span // nil for a question that is about no call
	ask  trace.Span // nil unless people are asked
}

// entry traces an entry of the record.
func (t *Traces) entry(ctx context.Context, e *call.Entry) {
	switch e.Kind {
	case audit.Run, audit.Call, audit.Approval:
	default:
		return
	}
	now := e.Time
	if now.IsZero() {
		now = time.Now()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.runs[e.Run]
	switch {
	case e.Kind == audit.Run && (e.State == audit.Running || e.State == audit.Resumed):
		t.begin(ctx, e, now)
	case r == nil: // not traced
	case e.Kind == audit.Run && e.State == audit.Parked:
		r.span.AddEvent("parked", trace.WithTimestamp(now))
	case e.Kind == audit.Run:
		r.ended(e, now)
		delete(t.runs, e.Run)
	case e.Kind == audit.Call:
		t.call(r, e, now)
	case e.State != call.Late:
		r.answered(e, now)
	}
}

// begin begins the span of a run. The caller holds mu.
func (t *Traces) begin(ctx context.Context, e *call.Entry, now time.Time) {
	if t.runs[e.Run] != nil {
		return
	}
	if len(t.runs) >= maxRuns {
		if !t.full {
			t.log.Warn("too many runs at once for tracing; further ones are not traced", "runs", maxRuns)
		}
		t.full = true
		return
	}
	profile := cmp.Or(e.Profile, "(base tool)")
	ctx = context.WithValue(trace.ContextWithSpanContext(context.Background(), trace.SpanContextFromContext(ctx)),
		runKey{}, e.Run)
	ctx, span := t.tracer.Start(ctx, "run "+profile, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(now),
		trace.WithAttributes(attribute.String("gen_ai.operation.name", "execute_tool"),
			attribute.String("codemode.run", e.Run), attribute.String("codemode.profile", e.Profile)))
	if e.State == audit.Resumed {
		span.AddEvent(audit.Resumed, trace.WithTimestamp(now))
	}
	t.runs[e.Run] = &run{span: span, ctx: ctx, calls: map[int]*tracedCall{}}
}

// ended ends the span of a run.
func (r *run) ended(e *call.Entry, now time.Time) {
	if e.State != audit.OK {
		r.span.SetStatus(codes.Error, e.Reason)
		r.span.SetAttributes(attribute.String("error.type", e.Reason))
	}
	r.end(e.Reason, now)
}

// end ends the span of a run, and those below it that are still open.
func (r *run) end(outcome string, now time.Time) {
	for _, c := range r.calls {
		if c.ask != nil {
			c.ask.End(trace.WithTimestamp(now))
		}
		if c.span != nil {
			c.span.End(trace.WithTimestamp(now))
		}
	}
	r.span.SetAttributes(attribute.String("codemode.outcome", outcome))
	r.span.End(trace.WithTimestamp(now))
}

// call traces an entry about a call. The caller holds mu.
func (t *Traces) call(r *run, e *call.Entry, now time.Time) {
	c := r.calls[e.Call]
	if c == nil {
		c = &tracedCall{}
		r.calls[e.Call] = c
	}
	if c.span == nil && (e.State != audit.Pending || e.Server != "") {
		_, c.span = t.tracer.Start(r.ctx, "tools/call "+toolOf(e), trace.WithSpanKind(trace.SpanKindClient),
			trace.WithTimestamp(now.Add(-took(e))))
	}
	switch e.State {
	case audit.Running:
		return
	case audit.Pending:
		above := r.ctx
		if c.span != nil {
			above = trace.ContextWithSpan(above, c.span)
		}
		_, c.ask = t.tracer.Start(above, "ask "+toolOf(e), trace.WithTimestamp(now))
		return
	}
	delete(r.calls, e.Call)
	if c.ask != nil { // its answer was not recorded
		c.ask.End(trace.WithTimestamp(now))
	}
	c.span.SetAttributes(attribute.String("mcp.method.name", "tools/call"),
		attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", toolOf(e)),
		attribute.String("codemode.server", e.Server), attribute.Int("codemode.call", e.Call),
		attribute.String("codemode.decision", e.Verdict), attribute.String("codemode.risk", e.Risk),
		attribute.String("codemode.outcome", e.State))
	if e.DecidedBy != nil {
		c.span.SetAttributes(attribute.String("codemode.decided_by", e.DecidedBy.How))
	}
	if kind := errorType(e); kind != "" {
		c.span.SetAttributes(attribute.String("error.type", kind))
		c.span.SetStatus(codes.Error, "")
	}
	c.span.End(trace.WithTimestamp(now))
}

// took is how long a call has taken, for one that was seen only at its end.
func took(e *call.Entry) time.Duration { return time.Duration(e.MS * float64(time.Millisecond)) }

// toolOf is the tool of an entry. A name that no server has is the program's own text.
func toolOf(e *call.Entry) string {
	if e.Server == "" && e.State == audit.Refused {
		return "(unknown tool)"
	}
	return e.Tool
}

// errorType says in a word why a call failed, as the conventions for MCP want it; "" for one that succeeded.
func errorType(e *call.Entry) string {
	switch e.State {
	case audit.OK:
		return ""
	case audit.Failed:
		return "tool_error"
	case audit.Refused:
		return e.Reason
	}
	return e.State
}

// answered ends the span of a question.
func (r *run) answered(e *call.Entry, now time.Time) {
	c := r.calls[e.Call]
	if c == nil || c.ask == nil {
		return
	}
	c.ask.SetAttributes(attribute.String("codemode.answer", e.State))
	if e.DecidedBy != nil {
		c.ask.SetAttributes(attribute.String("codemode.decided_by", e.DecidedBy.How),
			attribute.String("codemode.channel", e.DecidedBy.Channel))
	}
	c.ask.End(trace.WithTimestamp(now))
	if c.ask = nil; c.span == nil { // no call follows
		delete(r.calls, e.Call)
	}
}

// spanOf is the span of an open call; nil if there is none.
func (t *Traces) spanOf(id string, number int) trace.Span {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.runs[id]
	if r == nil || r.calls[number] == nil {
		return nil
	}
	return r.calls[number].span
}
