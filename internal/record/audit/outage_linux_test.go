package audit_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/pgtest"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/testwait"
)

// An outage is a database that cannot be written for a while.
type outage struct {
	name  string
	tells bool // an attempt to write fails at once
	begin func(t *testing.T, p *place) (open func(context.Context) (*store.DB, error), cut, mend func())
}

// outages are those of a disk and of a PostgreSQL server, which serves all of a test.
func outages(t *testing.T) []outage {
	server := sync.OnceValue(func() *pgtest.Server { return pgtest.Start(t) })
	return []outage{
		{"the disk is full", true, func(t *testing.T, p *place) (func(context.Context) (*store.DB, error), func(), func()) {
			small := filepath.Join(p.dir, "small")
			must(t, os.Mkdir(small, 0o700))
			if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=64m"); err != nil {
				t.Skip("a small file system can be mounted by root only: run it as root, as .ci/run does")
			}
			t.Cleanup(func() { _ = syscall.Unmount(small, syscall.MNT_DETACH) })
			p.dir = small
			ballast := filepath.Join(small, "ballast")
			return p.options().Open, func() { fill(t, ballast) }, func() { must(t, os.Remove(ballast)) }
		}},
		{"PostgreSQL is stopped", true, func(*testing.T, *place) (func(context.Context) (*store.DB, error), func(), func()) {
			return postgres(server().URL("stopped")), server().Stop, server().Start
		}},
		{"PostgreSQL does not answer", false, func(t *testing.T, _ *place) (func(context.Context) (*store.DB, error), func(),
			func()) {
			t.Cleanup(server().Thaw)
			return postgres(server().URL("frozen")), server().Freeze, server().Thaw
		}},
	}
}

func postgres(url string) func(context.Context) (*store.DB, error) {
	return func(ctx context.Context) (*store.DB, error) { return store.Open(ctx, store.Options{URL: url}) }
}

// bounds are what is promised, and what a machine that is busy with other things may take.
func bounds() (outage, answer, recovery time.Duration) {
	if long() {
		return 30 * time.Second, 5 * time.Second, time.Second
	}
	return 2 * time.Second, 15 * time.Second, 5 * time.Second
}

// As long as the record cannot be written, each call is refused before long, whatever else waits to be written; nobody
// is kept busy by it. When it can be written again it is, and it says what was refused.
func TestCallsAreRefusedForAsLongAsTheRecordIsAway(t *testing.T) {
	t.Parallel() // it waits; each has a server of its own
	for _, o := range outages(t) {
		t.Run(o.name, func(t *testing.T) {
			lasts, answer, recovery := bounds()
			p := newPlace(t)
			options := p.options()
			open, cut, mend := o.begin(t, p)
			options.Open = open
			options.Publish = nil
			r := audit.New(options)
			var calls atomic.Int64
			next := func() int { return int(calls.Add(1)) }
			write := func() (refused error) {
				written := make(chan error, 1)
				n := next()
				go func() { written <- r.Write(t.Context(), running("r_1", n)) }()
				select {
				case refused = <-written:
				case <-time.After(answer):
					t.Errorf("call %d was neither recorded nor refused within %v", n, answer)
					refused = <-written
				}
				return refused
			}
			must(t, write())
			cut()
			var clients sync.WaitGroup
			until := time.Now().Add(lasts)
			var refusals atomic.Int64
			for range 8 {
				clients.Go(func() {
					for time.Now().Before(until) && !t.Failed() {
						for range 50 { // what happened, such as that a call was denied
							must(t, r.Add(t.Context(), ended("r_2", next())))
						}
						if write() != nil {
							refusals.Add(1)
						}
						time.Sleep(10 * time.Millisecond) // a client between two calls
					}
				})
			}
			clients.Wait()
			if refusals.Load() == 0 {
				t.Fatal("nothing was refused")
			}
			before := processorTime(t)
			time.Sleep(time.Second) // the processor time of which is measured
			if used := processorTime(t) - before; used > time.Second/2 {
				t.Errorf("%v of processor time went into a second in which nobody did anything", used)
			}
			mend()
			mended := time.Now()
			for range testwait.Polls(testwait.Bound) {
				if write() == nil {
					break
				}
				if took := time.Since(mended); took > recovery {
					t.Fatalf("it is not written again after %v", took)
				}
			}
			must(t, r.Flush(t.Context()))
			closeRecord(t, r)

			db, err := open(t.Context())
			must(t, err)
			defer db.Close()
			states := map[int]string{}
			interrupted := false
			must(t, audit.Entries(t.Context(), db, store.Query{}, func(e *audit.Entry) error {
				if e.Run == "r_1" {
					states[e.Call] += e.State + " "
				}
				interrupted = interrupted || e.Kind == audit.Notice && e.State == "interrupted"
				return nil
			}))
			made := 0
			for call, s := range states {
				if s == "running " {
					made++
				} else if !strings.HasSuffix(s, audit.NotSent+" ") {
					t.Errorf("call %d is recorded as %s", call, s)
				}
			}
			if want := int(calls.Load()); made+int(refusals.Load()) > want || made < 2 || o.tells && !interrupted {
				t.Errorf("%d calls are recorded as made, %d were refused; recorded that it was interrupted: %v", made,
					refusals.Load(), interrupted)
			}
		})
	}
}

// Whoever stops does not wait for a database that is away.
func TestARecordThatIsAwayIsClosedBeforeLong(t *testing.T) {
	t.Parallel() // it waits; each has a server of its own
	for _, o := range outages(t) {
		t.Run(o.name, func(t *testing.T) {
			_, answer, _ := bounds()
			p := newPlace(t)
			options := p.options()
			open, cut, mend := o.begin(t, p)
			options.Open, options.Publish = open, nil
			r := audit.New(options)
			must(t, r.Write(t.Context(), running("r_1", 1)))
			cut()
			defer mend()
			for n := range 1000 {
				must(t, r.Add(t.Context(), ended("r_2", n)))
			}
			begun := time.Now()
			if err := r.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "the record lost") {
				t.Errorf("closing: %v, want how many entries the record lost", err)
			}
			if took := time.Since(begun); took > answer {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func processorTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
