package codemode_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/sandbox"
)

// burnerEnv makes this test binary a process that only computes.
const burnerEnv = "CODEMODE_TEST_BURNS"

// Thirty-two programs at once that each take 0.57 s of processor time succeed under the limit of 5 s, also beside other
// processes that keep all processors busy; thirty-two that compute for ever are stopped.
func TestThirtyTwoProgramsComputeAtOnce(t *testing.T) {
	if os.Getenv(burnerEnv) != "" {
		for parent := os.Getppid(); os.Getppid() == parent; {
			for range 1 << 30 {
			}
		}
		return
	}
	if os.Getenv("CODEMODE_LONG") == "" {
		t.Skip("it takes minutes: CODEMODE_LONG=1; sandbox.TestTheCPULimitIsOfTheGuestsOwnTime is its small form")
	}
	const programs, takes, limit = 32, 570 * time.Millisecond, 5 * time.Second
	const endlessLimit, late = time.Second, 250 * time.Millisecond
	limited := func(cpu time.Duration) *codemode.Evaluator {
		return open(t, fmt.Sprintf(`{"limits": {"cpu": %q, "wall": "1h"}}`, cpu), readInWorkers)
	}
	plain, endless := limited(limit), limited(endlessLimit)
	run := func(e *codemode.Evaluator, code string) (*codemode.Response, error) {
		return e.Eval(t.Context(), codemode.Request{Unrestricted: true, Code: code})
	}
	used := func() time.Duration {
		var u syscall.Rusage
		must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	computing := func(rounds int) string {
		return fmt.Sprintf("let n = 0; for (let i = 0; i < %d; i++) n = (n * 31 + i) %% 1000003; return n", rounds)
	}
	const sample = 5_000_000
	before := used()
	if r, err := run(plain, computing(sample)); err != nil {
		t.Fatal(r.Text(err))
	}
	rounds := int(sample * float64(takes) / float64(used()-before))
	atOnce := func(e *codemode.Evaluator, code string, judge func(*codemode.Response, error)) {
		responses, ended := make([]*codemode.Response, programs), make([]error, programs)
		var running sync.WaitGroup
		before, began := used(), time.Now()
		for i := range programs {
			running.Go(func() { responses[i], ended[i] = run(e, code) })
		}
		running.Wait()
		all := used() - before
		t.Logf("%d programs took %v; the process used %v, %v each", programs, time.Since(began), all, all/programs)
		for i, r := range responses {
			judge(r, ended[i])
		}
	}
	for _, beside := range []int{0, runtime.GOMAXPROCS(0)} {
		t.Run(fmt.Sprintf("beside %d other processes", beside), func(t *testing.T) {
			for range beside {
				cmd := exec.Command(os.Args[0], "-test.run=^TestThirtyTwoProgramsComputeAtOnce$")
				cmd.Env = append(os.Environ(), burnerEnv+"=1")
				must(t, cmd.Start())
				defer func() {
					_ = cmd.Process.Kill()
					_ = cmd.Wait()
				}()
			}
			succeeded, charged := 0, time.Duration(0)
			atOnce(plain, computing(rounds), func(r *codemode.Response, err error) {
				if err != nil {
					t.Error(err)
					return
				}
				succeeded++
				charged = max(charged, r.Usage.CPU)
			})
			t.Logf("%d of %d succeeded, charged at most %v", succeeded, programs, charged)
			charged = 0
			atOnce(endless, "for (;;);", func(r *codemode.Response, err error) {
				ended, ok := errors.AsType[*sandbox.Error](err)
				if !ok || ended.Kind != sandbox.TimedOut || !strings.Contains(ended.Message, "computed longer than") {
					t.Errorf("a program that computes for ever ended with %v", err)
				}
				charged = max(charged, r.Usage.CPU)
			})
			t.Logf("the last endless program was stopped %v after its limit", charged-endlessLimit)
			if charged > endlessLimit+late {
				t.Errorf("an endless program was stopped after %v, want at most %v", charged, endlessLimit+late)
			}
		})
	}
}
