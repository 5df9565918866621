package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// burn keeps the processors busy with n other processes until the test ends.
func burn(t *testing.T, n int) {
	t.Helper()
	for range n {
		cmd := exec.Command(os.Args[0], "-test.run=^TestBurner$")
		cmd.Env = append(os.Environ(), "SANDBOX_TEST_BURNS=1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
}

// TestBurner is the other process, not a test.
func TestBurner(t *testing.T) {
	if os.Getenv("SANDBOX_TEST_BURNS") == "" {
		t.Skip("only what burn starts computes here")
	}
	for parent := os.Getppid(); os.Getppid() == parent; { // should the test be killed
		for range 1 << 30 {
		}
	}
}

// processTime is how much processor time this process has used.
func processTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

const computes = "let n = 0; for (let i = 0; i < 5e5; i++) n = (n * 31 + i) % 1000003; return n"

// Programs that compute at once, beside other processes that do, are charged for no more than this process has used,
// and each gets through although much more time passes than its limit.
func TestTheCPULimitIsOfTheGuestsOwnTime(t *testing.T) {
	e := limited(t, 256<<20)
	run := func(limit time.Duration) (time.Duration, error) {
		r, err := e.Run(t.Context(), Program{Source: computes, Owner: "anna", Limits: Limits{CPU: limit}}, nil)
		return r.Usage.CPU, err
	}
	var alone time.Duration
	for range 3 {
		before := processTime(t)
		if _, err := run(time.Minute); err != nil {
			t.Fatal(err)
		}
		alone = max(alone, processTime(t)-before)
	}
	limit := 6 * alone
	n := 8 * runtime.GOMAXPROCS(0)
	burn(t, runtime.GOMAXPROCS(0))
	took := make([]time.Duration, n)
	before := processTime(t)
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			var err error
			if took[i], err = run(limit); err != nil {
				t.Errorf("a program that takes %v of its %v: %v", alone, limit, err)
			}
		})
	}
	running.Wait()
	used := processTime(t) - before
	var charged time.Duration
	for _, d := range took {
		charged += d
	}
	t.Logf("alone %v; %d at once are charged %v, and the process used %v", alone, n, charged, used)
	if spare := time.Duration(n) * 2 * (&Limits{CPU: limit}).coarse(); charged > used+used/10+spare {
		t.Errorf("%d programs are charged %v, but the whole process used %v", n, charged, used)
	}
	if charged < used/3 {
		t.Errorf("%d programs are charged %v, but the process used %v for them", n, charged, used)
	}
}

// A program that computes for longer than its limit is stopped however many do: not before its time, and none much
// later.
func TestProgramsBeyondTheCPULimitAreStopped(t *testing.T) {
	e := limited(t, 256<<20)
	const limit, late = 50 * time.Millisecond, 250 * time.Millisecond
	n := 8 * runtime.GOMAXPROCS(0)
	burn(t, runtime.GOMAXPROCS(0))
	before := processTime(t)
	var running sync.WaitGroup
	for range n {
		running.Go(func() {
			r, err := e.Run(t.Context(), Program{Source: "for (;;);", Owner: "anna", Limits: Limits{CPU: limit}}, nil)
			if ended := new(Error); !errors.As(err, &ended) || ended.Kind != TimedOut {
				t.Errorf("got %v, want that its time is over", err)
			}
			if r.Usage.CPU < limit || r.Usage.CPU > limit+late {
				t.Errorf("it was stopped after %v, want %v and at most %v more", r.Usage.CPU, limit, late)
			}
		})
	}
	running.Wait()
	if used, least := processTime(t)-before, time.Duration(n)*(limit-2*(&Limits{CPU: limit}).coarse()); used < least {
		t.Errorf("%d programs were stopped when the process had used %v, want at least %v", n, used, least)
	}
}
