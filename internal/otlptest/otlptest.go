// Package otlptest is a collector of OpenTelemetry for tests: it takes traces and metrics over OTLP, by gRPC and by
// HTTP in protobuf.
package otlptest

import (
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // senders may compress
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// A Handler gets what arrives, with the header Authorization. With false the collector refuses it, for good. A nil
// function takes everything. Several goroutines may call them.
type Handler struct {
	Traces  func(ctx context.Context, token string, r *traces.ExportTraceServiceRequest) bool
	Metrics func(ctx context.Context, token string, r *metrics.ExportMetricsServiceRequest) bool
}

// A Collector listens until its test ends.
type Collector struct {
	HTTP string // its address, such as http://127.0.0.1:4318, to which senders add /v1/traces or /v1/metrics
	GRPC string // such as http://127.0.0.1:4317
}

// New starts a collector.
func New(t testing.TB, h Handler) *Collector {
	t.Helper()
	if h.Traces == nil {
		h.Traces = func(context.Context, string, *traces.ExportTraceServiceRequest) bool { return true }
	}
	if h.Metrics == nil {
		h.Metrics = func(context.Context, string, *metrics.ExportMetricsServiceRequest) bool { return true }
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		var got traces.ExportTraceServiceRequest
		take(t, w, r, &got, func(token string) bool { return h.Traces(r.Context(), token, &got) })
	})
	mux.HandleFunc("POST /v1/metrics", func(w http.ResponseWriter, r *http.Request) {
		var got metrics.ExportMetricsServiceRequest
		take(t, w, r, &got, func(token string) bool { return h.Metrics(r.Context(), token, &got) })
	})
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	traces.RegisterTraceServiceServer(server, &traceService{h: h})
	metrics.RegisterMetricsServiceServer(server, &metricsService{h: h})
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := server.Serve(listener); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	return &Collector{HTTP: web.URL, GRPC: "http://" + listener.Addr().String()}
}

// take reads a request over HTTP.
func take(t testing.TB, w http.ResponseWriter, r *http.Request, into proto.Message, handle func(token string) bool) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(body); err != nil {
			t.Error(err)
			return
		}
	}
	data, err := io.ReadAll(body)
	if err == nil {
		err = proto.Unmarshal(data, into)
	}
	switch {
	case err != nil && r.Context().Err() == nil:
		t.Errorf("%s: %v", r.URL.Path, err)
	case !handle(r.Header.Get("Authorization")):
		http.Error(w, "SECRET", http.StatusForbidden)
	default:
		w.Header().Set("Content-Type", "application/x-protobuf")
	}
}

type traceService struct {
	traces.UnimplementedTraceServiceServer
	h Handler
}

func (s *traceService) Export(ctx context.Context, r *traces.ExportTraceServiceRequest) (
	*traces.ExportTraceServiceResponse, error) {
	return &traces.ExportTraceServiceResponse{}, refusal(s.h.Traces(ctx, token(ctx), r))
}

type metricsService struct {
	metrics.UnimplementedMetricsServiceServer
	h Handler
}

func (s *metricsService) Export(ctx context.Context, r *metrics.ExportMetricsServiceRequest) (
	*metrics.ExportMetricsServiceResponse, error) {
	return &metrics.ExportMetricsServiceResponse{}, refusal(s.h.Metrics(ctx, token(ctx), r))
}

func refusal(taken bool) error {
	if taken {
		return nil
	}
	return status.Error(codes.PermissionDenied, "SECRET")
}

func token(ctx context.Context) string {
	if all := metadata.ValueFromIncomingContext(ctx, "authorization"); len(all) > 0 {
		return all[0]
	}
	return ""
}
