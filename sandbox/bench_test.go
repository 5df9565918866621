package sandbox

import (
	"context"
	"encoding/json"
	"testing"
	"time"
)

func bench(b *testing.B, source string, limits Limits, h Host) {
	b.Helper()
	e := testEngine(b)
	p := Program{Source: source, Limits: limits}
	for b.Loop() {
		if _, err := e.Run(b.Context(), p, h); err != nil {
			b.Fatal(err)
		}
	}
}

const onePlusOne = "return (async () => 1+1)()"

func BenchmarkFresh(b *testing.B) { bench(b, onePlusOne, Limits{}, echo) }

func BenchmarkFreshParallel(b *testing.B) {
	e := testEngine(b)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := e.Run(b.Context(), Program{Source: onePlusOne}, echo); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A guest that is instantiated and initialised for each run, as without a snapshot.
func BenchmarkInstantiateAnew(b *testing.B) {
	e := testEngine(b)
	for b.Loop() {
		if err := e.InitialiseAnew(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHostCall(b *testing.B) {
	bench(b, "for (let i = 0; i < 1000; i++) await codemode.a__b(i)", Limits{}, echo)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/call")
}

func BenchmarkParallel100(b *testing.B) {
	host := func(ctx context.Context, c *Call) (json.RawMessage, error) {
		time.Sleep(10 * time.Millisecond) // a server that takes so long
		return c.Args, nil
	}
	bench(b, "await Promise.all(Array.from({length: 100}, (_, i) => codemode.a__b(i)))", Limits{InFlight: 100}, host)
}

func BenchmarkFib(b *testing.B) {
	bench(b, "function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) } return fib(27)", Limits{}, echo)
}

func BenchmarkPark(b *testing.B) {
	e := testEngine(b)
	for b.Loop() {
		r, err := e.Start(b.Context(), Program{Source: parkedProgram}, later)
		if err != nil {
			b.Fatal(err)
		}
		image, err := r.Park(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(image)), "bytes")
	}
}
