package tracing

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/codemode-project/codemode/internal/record/otlp"
)

// Spans counts, since the start, the ended spans that the collector took, those that it did not, and those that the
// full queue to it dropped. A nil Traces has none.
func (t *Traces) Spans() (sent, lost, dropped int64) {
	if t == nil || t.spans == nil {
		return 0, 0, 0
	}
	return t.spans.Counts()
}

// ended is the [sdk.SpanProcessor] that passes ended spans on to the sender.
type ended struct{ *otlp.Sender[sdk.ReadOnlySpan] }

func (ended) OnStart(context.Context, sdk.ReadWriteSpan) {}
func (ended) ForceFlush(context.Context) error           { return nil }

func (e ended) OnEnd(s sdk.ReadOnlySpan) {
	if s.SpanContext().IsSampled() {
		e.Add(s)
	}
}

func (e ended) Shutdown(ctx context.Context) error {
	_, lost, _ := e.Counts()
	if e.Close(ctx); ctx.Err() != nil {
		return ctx.Err()
	}
	if _, now, _ := e.Counts(); now > lost {
		return errors.New("the collector did not take them")
	}
	return nil
}

// A span is one as OTLP has it (opentelemetry/proto/trace/v1/trace.proto).
type span struct {
	Trace      string           `json:"traceId"`
	ID         string           `json:"spanId"`
	State      string           `json:"traceState,omitempty"`
	Parent     string           `json:"parentSpanId,omitempty"`
	Flags      int              `json:"flags"`
	Name       string           `json:"name"`
	Kind       int              `json:"kind"`
	Start      otlp.Int         `json:"startTimeUnixNano"`
	End        otlp.Int         `json:"endTimeUnixNano"`
	Attributes []otlp.Attribute `json:"attributes,omitempty"`
	Events     []event          `json:"events,omitempty"`
	Status     *status          `json:"status,omitempty"`
}

type event struct {
	Time otlp.Int `json:"timeUnixNano"`
	Name string   `json:"name"`
}

type status struct {
	Message string `json:"message,omitempty"`
	Code    int    `json:"code"`
}

const (
	// statusError is STATUS_CODE_ERROR of the protocol.
	statusError = 2
	// knownParent and remoteParent are SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK and SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK.
	knownParent, remoteParent = 0x100, 0x200
)

func spansOf(batch []sdk.ReadOnlySpan) []span {
	all := make([]span, len(batch))
	for i, s := range batch {
		is, parent := s.SpanContext(), s.Parent()
		one := span{Trace: is.TraceID().String(), ID: is.SpanID().String(), State: is.TraceState().String(),
			Flags: int(is.TraceFlags()) | knownParent, Name: s.Name(), Kind: int(trace.ValidateSpanKind(s.SpanKind())),
			Start: otlp.Int(s.StartTime().UnixNano()), End: otlp.Int(s.EndTime().UnixNano())}
		if parent.SpanID().IsValid() {
			one.Parent = parent.SpanID().String()
		}
		if parent.IsRemote() {
			one.Flags |= remoteParent
		}
		for _, a := range s.Attributes() {
			if a.Value.Type() == attribute.INT64 {
				one.Attributes = append(one.Attributes, otlp.Whole(string(a.Key), a.Value.AsInt64()))
			} else {
				one.Attributes = append(one.Attributes, otlp.Text(string(a.Key), a.Value.String()))
			}
		}
		for _, e := range s.Events() {
			one.Events = append(one.Events, event{otlp.Int(e.Time.UnixNano()), e.Name})
		}
		if got := s.Status(); got.Code == codes.Error {
			one.Status = &status{got.Description, statusError}
		}
		all[i] = one
	}
	return all
}
