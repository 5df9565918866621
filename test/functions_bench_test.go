package codemode_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/config"
)

// BenchmarkFunctionCall is one call of a Go function by a program, one after the other, with all that belongs to it but
// the disk; BenchmarkRecordedCalls has the same of a built-in tool.
func BenchmarkFunctionCall(b *testing.B) {
	f := codemode.Func("add", "", func(_ context.Context, in struct {
		A, B int
	}) (int, error) {
		return in.A + in.B, nil
	})
	e := openBench(b, codemode.Server{Name: "math", Functions: []codemode.Function{f}})
	const calls = 500
	code := fmt.Sprintf(`for (let i = 0; i < %d; i++) await codemode.%%s; return 1`, calls)
	for _, row := range []struct{ name, call string }{
		{"function", "math__add({A: i, B: 1})"}, {"builtin", "time__now({})"},
	} {
		b.Run(row.name, func(b *testing.B) {
			for b.Loop() {
				if r, err := e.Eval(b.Context(), codemode.Request{Code: fmt.Sprintf(code, row.call)}); err != nil {
					b.Fatal(r.Text(err))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*calls), "ns/call")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func openBench(b *testing.B, servers ...codemode.Server) *codemode.Evaluator {
	b.Helper()
	engine, err := sharedEngine()
	if err != nil {
		b.Fatal(err)
	}
	cfg, err := config.Parse("codemode.json", []byte(
		`{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"allowlist": ["*"]}}}}`))
	if err != nil {
		b.Fatal(err)
	}
	e, err := codemode.New(b.Context(), codemode.Options{Engine: engine, Config: cfg, Servers: servers})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = e.Close(context.Background()) })
	return e
}
