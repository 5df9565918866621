package sandbox

import (
	"context"
	"encoding/json"
	"slices"
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

// Each program runs by turns in a fresh guest and in a session that holds something, so that both see the same machine.
func BenchmarkSession(b *testing.B) {
	for name, source := range map[string]string{
		"small": onePlusOne,
		"loop":  "let sum = 0; for (let i = 0; i < 1e5; i++) sum += i; return sum",
		"calls": "let got = []; for (let i = 0; i < 10; i++) got.push(await codemode.a__echo({i})); return got.length",
	} {
		b.Run(name, func(b *testing.B) { benchByTurns(b, source) })
	}
}

func benchByTurns(b *testing.B, source string) {
	e := testEngine(b)
	s := newSession(b, e)
	benchSession(b, s, smallSession)
	var fresh, session []time.Duration
	for b.Loop() {
		t := now()
		if _, err := e.Run(b.Context(), Program{Source: source}, echo); err != nil {
			b.Fatal(err)
		}
		middle := now()
		benchSession(b, s, source)
		fresh = append(fresh, middle-t)
		session = append(session, now()-middle)
	}
	slices.Sort(fresh)
	slices.Sort(session)
	f, m := fresh[len(fresh)/2], session[len(session)/2]
	b.ReportMetric(float64(f.Nanoseconds()), "fresh-median-ns")
	b.ReportMetric(float64(m.Nanoseconds()), "session-median-ns")
	b.ReportMetric(float64(m)/float64(f), "session/fresh")
}

func BenchmarkSessionPutAway(b *testing.B) {
	e := testEngine(b)
	s := newSession(b, e)
	benchSession(b, s, smallSession)
	for b.Loop() {
		image, err := s.Image()
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
		if s, err = e.Open("anna", image); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(image)), "image-bytes")
		b.ReportMetric(float64(s.Size()), "opened-bytes")
		benchSession(b, s, "1 + 1")
	}
}

const smallSession = `
	const seen = new Map([["a", {n: 1}], ["b", {n: 2}]]);
	class Account { #balance = 0n; add(n) { this.#balance += BigInt(n); return this.#balance } }
	const account = new Account(), rows = Array.from({length: 100}, (_, i) => ({id: i, name: "row " + i}));
	let count = 0;
	function next() { return ++count }
	next()`

func benchSession(b *testing.B, s *Session, source string) {
	if _, err := s.Run(b.Context(), Program{Source: source}, echo); err != nil {
		b.Fatal(err)
	}
}
