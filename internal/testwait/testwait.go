// Package testwait waits in tests for what other processes, goroutines or the kernel do. It takes the place of sleeps
// that hope that something has happened meanwhile: a test names what it waits for, and fails with that name.
package testwait

import (
	"testing"
	"time"
)

// bound is how long [Until] waits at most. Only a test that fails waits so long, so it is far beyond what a busy machine
// needs under the race detector.
const bound = 90 * time.Second

// Until waits until cond holds, and ends the test with what it waited for if it does not.
func Until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	if !Holds(cond) {
		t.Fatalf("waited %v in vain: %s", bound, what)
	}
}

// Holds waits until cond holds and reports whether it does. It is for tests that say more than [Until] when it does not.
func Holds(cond func() bool) bool {
	return Within(bound, cond)
}

// Within is [Holds] with a bound of the caller's own.
func Within(d time.Duration, cond func() bool) bool {
	for end, pause := time.Now().Add(d), time.Millisecond; !cond(); pause = min(2*pause, 20*time.Millisecond) {
		if time.Now().After(end) {
			return cond() // once more: this goroutine may not have run for a while
		}
		time.Sleep(pause)
	}
	return true
}
