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

// TestPollsLooksAtTheEnd: a goroutine that did not run until the time was over looks once more.
func TestPollsLooksAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		for n := range Polls(time.Second) {
			if looks++; n == 0 {
				time.Sleep(time.Minute)
			}
		}
		if looks != 2 {
			t.Errorf("it looked %d times", looks)
		}
	})
}
