package metrics_test

import (
	"context"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/record/metrics"
	"github.com/codemode-project/codemode/internal/record/recorder"
)

// BenchmarkRecordedCall compares programs with 200 recorded calls, with figures and without:
//
//	go test ./internal/record/metrics -run '^$' -bench RecordedCall -count 6
func BenchmarkRecordedCall(b *testing.B) {
	const calls = 200
	cfg, err := config.Parse("c.json", []byte(`{"builtin": false, "evaluation": {"defaultProfile": "p",
		"profiles": {"p": {"allowlist": ["own__*"]}}}}`))
	if err != nil {
		b.Fatal(err)
	}
	type nothing struct{}
	own := codemode.Server{Name: "own", Functions: []codemode.Function{
		codemode.Func("do", "does nothing", func(context.Context, nothing) (nothing, error) { return nothing{}, nil })}}
	for _, test := range []struct {
		name     string
		observer recorder.Observer
	}{{"without", recorder.Observer{}}, {"with", metrics.New("v1").Observer()}} {
		b.Run(test.name, func(b *testing.B) {
			e, err := codemode.New(b.Context(), codemode.Options{Config: cfg, Servers: []codemode.Server{own},
				RecordDir: b.TempDir(), ServiceOptions: codemode.ServiceOptions{Observer: test.observer}})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close(context.Background())
			run := func() {
				if _, err := e.Eval(b.Context(), codemode.Request{
					Code: `await Promise.all(Array.from({length: 200}, () => codemode.own__do({})))`}); err != nil {
					b.Fatal(err)
				}
			}
			run()
			for b.Loop() {
				run()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/calls, "ns/call")
		})
	}
}
