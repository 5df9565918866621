//go:build unix

package upstream_test

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/codemode-project/codemode/upstream"
)

// BenchmarkHealthyBesideBad compares healthy servers by themselves with the same beside one of each bad kind,
// which are called all the time. The healthy ones are called by one program that makes one call after the other, and
// by two, which with their servers leave no processor time to anybody else. Every round goes through by
// themselves, beside, and by themselves again, so that what else the machine does falls on both: "noise" is how far
// the two measurements of the same thing lie apart, "ratio" how much slower 99 of 100 calls are beside the bad ones.
// These are medians of quarters of a second: what a machine steals comes in bursts, which would decide alone how
// long the slowest calls of several seconds take. What the bad ones cost is told apart: the processor time
// that we spend on them, and what their own processes burn. Garbage is collected as seldom as in codemode serve: in a
// process of a few megabytes it would be collected so often that the slowest calls were those that met a collection.
//
//	go test ./upstream -run '^$' -bench HealthyBesideBad -benchtime 6x
func BenchmarkHealthyBesideBad(b *testing.B) {
	b.Run("one caller", func(b *testing.B) { besideBad(b, 1) })
	b.Run("two callers", func(b *testing.B) { besideBad(b, 2) })
}

func besideBad(b *testing.B, callers int) {
	const phase = 2 * time.Second
	spare := make([]byte, 8<<20) // see collectSeldom of cmd/codemode
	defer runtime.KeepAlive(spare)
	var gone sync.WaitGroup // what is told of the crowd when it has ended
	m := upstream.NewManager(upstream.Options{Gone: func(string) { gone.Done() }})
	defer m.Close(b.Context())
	m.Set(healthy(b))
	usually(b, m, callers, phase) // everything is warm

	var ratios, noises, alone, besides, ours, theirs []float64
	before := usually(b, m, callers, 2*phase)
	for b.Loop() {
		began, spent := time.Now(), processorTime(syscall.RUSAGE_CHILDREN)
		crowd := badCrowd(b)
		gone.Add(len(crowd))
		m.Set(append(healthy(b), crowd...))
		stop := bother(m)
		time.Sleep(phase) // they start, and fail for the first time
		idle := processorTime(syscall.RUSAGE_SELF)
		time.Sleep(phase)
		ours = append(ours, percent(processorTime(syscall.RUSAGE_SELF)-idle, phase))
		beside := usually(b, m, callers, 2*phase)
		stop()
		m.Set(healthy(b))
		gone.Wait()
		theirs = append(theirs, percent(processorTime(syscall.RUSAGE_CHILDREN)-spent, time.Since(began)))
		after := usually(b, m, callers, 2*phase)
		b.Logf("99 of 100 calls take at most %v alone, %v beside, %v alone", before, beside, after)
		alone, besides = append(alone, micro(before), micro(after)), append(besides, micro(beside))
		ratios = append(ratios, 2*micro(beside)/(micro(before)+micro(after)))
		noises = append(noises, float64(max(before, after))/float64(min(before, after)))
		before = after
	}
	b.ReportMetric(median(alone), "p99-alone-µs")
	b.ReportMetric(median(besides), "p99-beside-µs")
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(median(noises), "noise")
	b.ReportMetric(median(ours), "cpu-%-of-ours")
	b.ReportMetric(median(theirs), "cpu-%-of-theirs")
	b.ReportMetric(0, "ns/op")
}

// usually is what slowest says of half of the quarters of a second of some time.
func usually(b *testing.B, m *upstream.Manager, callers int, d time.Duration) time.Duration {
	const quarter = time.Second / 4
	var all []time.Duration
	for range d / quarter {
		all = append(all, slowest(b, m, callers, quarter))
	}
	return median(all)
}

// processorTime is what this process, or its children that have ended, have used so far.
func processorTime(who int) time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(who, &u) // fails for an unknown who only
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func percent(part, whole time.Duration) float64 { return 100 * float64(part) / float64(whole) }

func micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func median[T cmp.Ordered](of []T) T { return slices.Sorted(slices.Values(of))[len(of)/2] }
