package upstream_test

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/codemode-project/codemode/upstream"
)

// BenchmarkHealthyBesideBad compares healthy servers by themselves with the same beside one of each bad kind, of
// which each is called about once a second, when all of them have been going for half a minute. The healthy ones are
// called by one program that makes one call after the other, and by two, which with their servers leave no processor
// time to anybody else. In turn for a fifth of a second each, the bad ones stand still (SIGSTOP, and no calls) and go
// on. "ratio" is how much slower 99 of 100 calls are beside the bad ones, "noise" the same for two measurements with
// the bad ones at a standstill; both are the median of what neighbours say, because machines steal time in bursts, which
// would decide alone how long the slowest calls of several seconds take. What we spend on the bad ones while nobody
// calls the healthy ones is told apart. Garbage is collected as seldom as in codemode serve.
//
//	go test ./upstream -run '^$' -bench HealthyBesideBad -benchtime 250x
func BenchmarkHealthyBesideBad(b *testing.B) {
	b.Run("one caller", func(b *testing.B) { besideBad(b, 1) })
	b.Run("two callers", func(b *testing.B) { besideBad(b, 2) })
}

func besideBad(b *testing.B, callers int) {
	const start = 30 * time.Second // they fail for the fourth time; the burst of a storm is over
	spare := make([]byte, 8<<20)   // see collectSeldom of cmd/codemode
	defer runtime.KeepAlive(spare)
	m := upstream.NewManager(upstream.Options{})
	defer m.Close(b.Context())
	m.Set(append(healthy(b), badCrowd(b)...))
	stop := bother(m)
	keepCalling(b, m, callers, start)
	idle := processorTime()
	time.Sleep(start / 3)
	ours := percent(processorTime()-idle, start/3)
	stop()

	p99 := func() float64 {
		const window = time.Second / 5
		time.Sleep(window / 4) // what was asked for before is over
		return micro(slowest(keepCalling(b, m, callers, window)))
	}
	var alone, beside, ratios, noises []float64
	for b.Loop() {
		signalBad(b, syscall.SIGSTOP)
		a := p99()
		signalBad(b, syscall.SIGCONT)
		stop := bother(m)
		beside = append(beside, p99())
		stop()
		ratios = append(ratios, beside[len(beside)-1]/a)
		if len(alone) > 0 {
			noises = append(noises, a/alone[len(alone)-1])
		}
		alone = append(alone, a)
	}
	b.ReportMetric(median(alone), "p99-alone-µs")
	b.ReportMetric(median(beside), "p99-beside-µs")
	b.ReportMetric(median(ratios), "ratio")
	if len(noises) > 0 {
		b.ReportMetric(median(noises), "noise")
	}
	b.ReportMetric(ours, "cpu-%-of-ours")
	b.ReportMetric(0, "ns/op")
}

// signalBad sends a signal to the bad servers that run now.
func signalBad(b *testing.B, signal syscall.Signal) {
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		b.Fatal(err)
	}
	parent := []byte("PPid:\t" + strconv.Itoa(os.Getpid()) + "\n")
	for _, process := range all {
		about, _ := os.ReadFile(process + "/status") // if it cannot be read, it has ended
		vars, _ := os.ReadFile(process + "/environ")
		if bytes.Contains(about, parent) && bytes.Contains(vars, []byte("CODEMODE_FAKE=")) && !bytes.Contains(vars, []byte("CODEMODE_FAKE=plain\x00")) {
			if pid, err := strconv.Atoi(filepath.Base(process)); err == nil {
				_ = syscall.Kill(-pid, signal)
			}
		}
	}
}

// processorTime is what this process has used so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for an unknown who only
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func percent(part, whole time.Duration) float64 { return 100 * float64(part) / float64(whole) }

func micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func median[T cmp.Ordered](of []T) T { return slices.Sorted(slices.Values(of))[len(of)/2] }
