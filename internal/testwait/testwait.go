// Package testwait waits in tests for other processes, goroutines or the kernel. It replaces sleeps that hope that
// something has happened in the meantime: a test names the condition it waits for, and fails with that name.
package testwait

import (
	"iter"
	"testing"
	"time"
)

// Bound is the longest time that tests wait for an event. Only a failing test waits so long, so it is far beyond what a
// busy machine needs under the race detector.
const Bound = 2 * time.Minute

// Until waits until cond holds. If it does not within [Bound], Until ends the test with the name of the condition.
func Until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	if !Holds(cond) {
		t.Fatalf("waited %v in vain: %s", Bound, what)
	}
}

// Holds waits until cond holds, for [Bound] at most, and reports whether it does. It is for tests that report more than
// [Until] on failure.
func Holds(cond func() bool) bool {
	for range Polls(Bound) {
		if cond() {
			return true
		}
	}
	return false
}

// Polls is a loop that checks repeatedly, with pauses, until the caller leaves it or d is over. Its last check comes
// after the end of d, because the goroutine may not have run for a while.
func Polls(d time.Duration) iter.Seq[int] {
	return func(yield func(int) bool) {
		end, pause := time.Now().Add(d), time.Millisecond
		for n := 0; ; n++ {
			last := time.Now().After(end)
			if !yield(n) || last {
				return
			}
			time.Sleep(pause) // the condition may depend on another process, which no channel reports
			pause = min(2*pause, 20*time.Millisecond)
		}
	}
}
