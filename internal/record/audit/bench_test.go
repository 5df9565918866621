package audit_test

import (
	"fmt"
	"github.com/codemode-project/codemode/call"
	"sync"
	"testing"

	"github.com/codemode-project/codemode/internal/record/audit"
)

// BenchmarkOneEntry is what one call waits for when nothing else goes on.
func BenchmarkOneEntry(b *testing.B) {
	r := record(b, unbounded(b))
	warm(b, r)
	for n := 0; b.Loop(); n++ {
		if err := r.Write(b.Context(), running("r_1", n)); err != nil {
			b.Fatal(err)
		}
	}
}

// unbounded are options with a share that no benchmark uses up.
func unbounded(b *testing.B) audit.Options {
	o := newPlace(b).options()
	o.Share = 1 << 50
	return o
}

func warm(b *testing.B, r *audit.Record) {
	b.Helper()
	if err := r.Write(b.Context(), call.Entry{Kind: audit.Notice, State: "warm"}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCalls is the cost of a recorded call, two entries, while 16 are in flight.
func BenchmarkCalls(b *testing.B) {
	r := record(b, unbounded(b))
	warm(b, r)
	b.ResetTimer()
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			run := fmt.Sprint("r_", w)
			for n := w; n < b.N; n += 16 {
				if err := r.Write(b.Context(), running(run, n)); err != nil {
					b.Error(err)
				}
				if err := r.Add(b.Context(), ended(run, n)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := r.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(2*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}

// BenchmarkStream is how many entries a second go in when nobody waits for each.
func BenchmarkStream(b *testing.B) {
	r := record(b, unbounded(b))
	warm(b, r)
	b.ResetTimer()
	for n := range b.N {
		if err := r.Add(b.Context(), ended("r_1", n)); err != nil {
			b.Fatal(err)
		}
	}
	if err := r.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}
