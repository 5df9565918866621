package tracing

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"

	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/internal/otlptest"
)

// nobody is an address of this machine at which nobody listens.
func nobody(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

// TestBadCollectorsCostNothing: with a collector that is away, that never answers or that refuses, the record is
// observed at once, every span is counted, and the log says it without secrets.
func TestBadCollectorsCostNothing(t *testing.T) {
	const runs = 5000 // more than wait
	for _, test := range []struct {
		what    string
		address func(t *testing.T, grpc bool, stop <-chan struct{}) string
		drops   bool
		says    string
	}{
		{"away", func(t *testing.T, _ bool, _ <-chan struct{}) string { return nobody(t) }, false, "collector of traces"},
		{"never answers", func(t *testing.T, grpc bool, stop <-chan struct{}) string {
			return of(otlptest.New(t, otlptest.Handler{Traces: func(ctx context.Context, _ string,
				_ *collector.ExportTraceServiceRequest) bool {
				select {
				case <-stop:
				case <-ctx.Done():
				}
				return false
			}}), grpc)
		}, true, "spans are dropped"},
		{"refuses", func(t *testing.T, grpc bool, _ <-chan struct{}) string {
			return of(otlptest.New(t, otlptest.Handler{Traces: func(context.Context, string,
				*collector.ExportTraceServiceRequest) bool {
				return false
			}}), grpc)
		}, false, "collector of traces"},
	} {
		for protocol, grpc := range map[string]bool{"HTTP": false, "gRPC": true} {
			t.Run(test.what+", "+protocol, func(t *testing.T) {
				stop := make(chan struct{})
				stopped := sync.OnceFunc(func() { close(stop) })
				url := test.address(t, grpc, stop)
				t.Cleanup(stopped) // before the collector's own end
				if !grpc {
					url += "/v1/traces?key=SECRET"
				}
				var text bytes.Buffer
				traces, err := New(t.Context(), Options{URL: url, GRPC: grpc, Percent: 100,
					Log: slog.New(slog.NewTextHandler(&text, nil))})
				if err != nil {
					t.Fatal(err)
				}
				observed := make(chan struct{})
				go func() {
					defer close(observed)
					for n := range runs {
						for _, state := range []string{audit.Running, audit.OK} {
							traces.Observer().Entry(t.Context(), &audit.Entry{Kind: audit.Run, State: state, Run: fmt.Sprint(n)})
						}
					}
				}()
				select {
				case <-observed:
				case <-time.After(closeWait): // thousands of times what it takes; a wait for the collector takes longer
					t.Fatal("the record waits for the collector")
				}
				sent, lost, dropped := traces.Spans()
				waiting := traces.queue.waiting.Load()
				if n := sent + lost + dropped; n > runs || n+int64(traces.queue.size) < runs || waiting < 0 {
					t.Errorf("of %d spans %d were sent, %d lost, %d dropped, and %d wait", runs, sent, lost, dropped, waiting)
				}
				if test.drops && dropped < runs-int64(traces.queue.size) {
					t.Errorf("%d spans were dropped, and %d may wait", dropped, traces.queue.size)
				}
				stopped()
				traces.Close()
				sent, lost, dropped = traces.Spans()
				if n := sent + lost + dropped + traces.queue.waiting.Load(); n != runs || sent > 0 {
					t.Errorf("of %d spans %d were sent, %d lost and %d dropped", runs, sent, lost, dropped)
				}
				if !strings.Contains(text.String(), test.says) || strings.Contains(text.String(), "SECRET") ||
					strings.Count(text.String(), "\n") > 4 {
					t.Errorf("the log, which should say %q:\n%s", test.says, text.String())
				}
			})
		}
	}
}

func of(c *otlptest.Collector, grpc bool) string {
	if grpc {
		return c.GRPC
	}
	return c.HTTP
}

// TestSpansThatArriveAreCounted sends spans over both protocols.
func TestSpansThatArriveAreCounted(t *testing.T) {
	for protocol, grpc := range map[string]bool{"HTTP": false, "gRPC": true} {
		t.Run(protocol, func(t *testing.T) {
			c := otlptest.New(t, otlptest.Handler{})
			url := of(c, grpc)
			if !grpc {
				url += "/v1/traces"
			}
			traces, err := New(t.Context(), Options{URL: url, GRPC: grpc, Percent: 100,
				Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			for n := range 7 {
				traces.Observer().Entry(t.Context(), &audit.Entry{Kind: audit.Run, State: audit.Running, Run: fmt.Sprint(n)})
				traces.Observer().Entry(t.Context(), &audit.Entry{Kind: audit.Run, State: audit.OK, Run: fmt.Sprint(n)})
			}
			traces.Close()
			if sent, lost, dropped := traces.Spans(); sent != 7 || lost+dropped != 0 || traces.queue.waiting.Load() != 0 {
				t.Errorf("%d sent, %d lost, %d dropped, %d wait", sent, lost, dropped, traces.queue.waiting.Load())
			}
		})
	}
}
