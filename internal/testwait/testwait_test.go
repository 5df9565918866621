package testwait

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A failing test is one whose failure is looked at.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.said = format
	for _, a := range args {
		if s, ok := a.(string); ok {
			f.said += s
		}
	}
	runtime.Goexit()
}

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		Until(t, "half a minute has passed", func() bool { return time.Since(began) >= 30*time.Second })
		if d := time.Since(began); d > 31*time.Second {
			t.Errorf("it waited for %v", d)
		}
		f := &failing{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			Until(f, "the moon is green", func() bool { return false })
		}()
		if <-done; !strings.Contains(f.said, "the moon is green") {
			t.Errorf("a test that waits in vain says %q", f.said)
		}
	})
}

// TestWithinLooksAtTheEnd: a goroutine that did not run until the time was over looks once more.
func TestWithinLooksAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		if !Within(time.Second, func() bool {
			if looks++; looks == 1 {
				time.Sleep(time.Minute)
			}
			return looks == 2
		}) {
			t.Error("it did not look again")
		}
	})
}
