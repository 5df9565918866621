// Package testwait waits in tests for what other processes, goroutines or the kernel do. It takes the place of sleeps
// that hope that something has happened meanwhile: a test names what it waits for, and fails with that name.
package testwait

import (
	"iter"
	"testing"
	"time"
)

// Bound is how long tests wait at most for what has to come. Only a test that fails waits so long, so it is far beyond
// what a busy machine needs under the race detector.
const Bound = 2 * time.Minute

// Until waits until cond holds, and ends the test with what it waited for if it does not within [Bound].
func Until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	if !Holds(cond) {
		t.Fatalf("waited %v in vain: %s", Bound, what)
	}
}

// Holds waits until cond holds, for [Bound] at most, and reports whether it does. It is for tests that say more than
// [Until] when it does not.
func Holds(cond func() bool) bool {
	for range Polls(Bound) {
		if cond() {
			return true
		}
	}
	return false
}

// Polls is a loop that looks again and again, with pauses, until it is left or d is over. Its last look comes after the
// end of d, as the goroutine may not have run for a while.
func Polls(d time.Duration) iter.Seq[int] {
	return func(yield func(int) bool) {
		end, pause := time.Now().Add(d), time.Millisecond
		for n := 0; ; n++ {
			last := time.Now().After(end)
			if !yield(n) || last {
				return
			}
			time.Sleep(pause) // what is waited for may be another process, which no channel tells of
			pause = min(2*pause, 20*time.Millisecond)
		}
	}
}
