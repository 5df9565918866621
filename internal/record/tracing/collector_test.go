package tracing

import (
	"bytes"
	"context"
	"fmt"
	"github.com/codemode-project/codemode/call"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/otlp"
	"github.com/codemode-project/codemode/internal/record/otlptest"
)

// traced gives a run to traces.
func traced(t *testing.T, traces *Traces, run int) {
	for _, state := range []string{audit.Running, audit.OK} {
		traces.Observer().Entry(t.Context(), &call.Entry{Kind: audit.Run, State: state, Run: fmt.Sprint(run)})
	}
}

// TestBadCollectorsCostNothing: with a collector that is away, that never answers or that refuses, the record is
// observed at once, every span is counted, and the log says it without secrets.
func TestBadCollectorsCostNothing(t *testing.T) {
	const runs = 2 * otlp.MaxQueue
	for _, test := range []struct {
		what    string
		address func(t *testing.T, stop <-chan struct{}) string
		drops   bool
		says    string
	}{
		{"away", func(t *testing.T, _ <-chan struct{}) string { return "http://" + mcptest.FreeAddress(t) }, false,
			"does not take spans"},
		{"never answers", func(t *testing.T, stop <-chan struct{}) string {
			return otlptest.New(t, otlptest.Handler{Traces: func(ctx context.Context, _ string, _ []otlptest.Span, _ string) bool {
				select {
				case <-stop:
				case <-ctx.Done():
				}
				return false
			}})
		}, true, "some spans are not sent"},
		{"refuses", func(t *testing.T, _ <-chan struct{}) string {
			return otlptest.New(t, otlptest.Handler{Traces: func(context.Context, string, []otlptest.Span, string) bool {
				return false
			}})
		}, false, "does not take spans"},
	} {
		t.Run(test.what, func(t *testing.T) {
			stop := make(chan struct{})
			stopped := sync.OnceFunc(func() { close(stop) })
			url := test.address(t, stop) + "/v1/traces?key=SECRET"
			t.Cleanup(stopped) // before the collector's own end
			var text bytes.Buffer
			traces := New(Options{To: otlp.Collector{URL: url}, Percent: 100, Log: slog.New(slog.NewTextHandler(&text, nil))})
			observed := make(chan struct{})
			go func() {
				defer close(observed)
				for n := range runs {
					traced(t, traces, n)
				}
			}()
			select {
			case <-observed:
			case <-time.After(closeWait): // hundreds of times what it takes; a wait for the collector takes longer
				t.Fatal("the record waits for the collector")
			}
			sent, lost, dropped := traces.Spans()
			if sent > 0 || lost+dropped > runs || test.drops && dropped == 0 {
				t.Errorf("of %d spans %d were sent, %d lost and %d dropped", runs, sent, lost, dropped)
			}
			stopped()
			traces.Close()
			if sent, lost, dropped = traces.Spans(); sent > 0 || lost+dropped != runs {
				t.Errorf("of %d spans %d were sent, %d lost and %d dropped", runs, sent, lost, dropped)
			}
			if !strings.Contains(text.String(), test.says) || strings.Contains(text.String(), "SECRET") ||
				strings.Count(text.String(), "\n") > 4 {
				t.Errorf("the log, which should say %q:\n%s", test.says, text.String())
			}
		})
	}
}

func TestSpansThatArriveAreCounted(t *testing.T) {
	traces := New(Options{To: otlp.Collector{URL: otlptest.New(t, otlptest.Handler{}) + "/v1/traces"}, Percent: 100,
		Log: slog.New(slog.DiscardHandler)})
	for n := range 7 {
		traced(t, traces, n)
	}
	traces.Close()
	if sent, lost, dropped := traces.Spans(); sent != 7 || lost+dropped != 0 {
		t.Errorf("%d sent, %d lost, %d dropped", sent, lost, dropped)
	}
}
