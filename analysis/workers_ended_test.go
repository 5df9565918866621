//go:build linux || darwin

package analysis

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/checktest"
)

// A text is not to blame for a worker that ends for another reason.
func TestWorkersThatEndOtherwise(t *testing.T) {
	self, err := os.Executable()
	checktest.OK(t, err)
	for _, tt := range []struct {
		name   string
		script string // of a shell that is told how a worker is started
	}{
		{"they end at once", `exit 0`},
		{"they fail at once", `exit 1`},
		{"they end like Go without threads", `echo 'runtime: failed to create new OS thread' >&2; exit 2`},
		{"they are killed at once", `kill -9 $$`},
		{"they close their output", `exec >&-; read x`},
		{"the system has no memory for them", `ulimit -v 200000; exec "$0" "$1"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := NewWorkers(nil, "/bin/sh", "-c", tt.script, self, asWorker)
			t.Cleanup(func() { _ = w.Close() })
			r := &Reader{Workers: w}
			for range 3 {
				p, problems, err := r.Compile(t.Context(), "", "1+1")
				if err != nil || len(problems) > 0 || p.JS != "return(1+1)" {
					t.Fatalf("got %v, %v, %v", p, problems, err)
				}
			}
		})
	}
}

// What is said about a text because its worker was killed does not stay.
func TestAWorkerThatIsKilledWhileItReads(t *testing.T) {
	w := testWorkers(t)
	r := &Reader{Workers: w}
	w.Start()
	text := "({a:'" + strings.Repeat("a", 200_000) + "'})" // more than is read in this process
	stop := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Microsecond):
				w.mu.Lock()
				for p := range w.all {
					p.kill()
				}
				w.mu.Unlock()
			}
		}
	}()
	_, _, err := r.Compile(t.Context(), "", text)
	close(stop)
	<-stopped
	checktest.OK(t, err)
	if _, problems, err := r.Compile(t.Context(), "", text); err != nil || len(problems) > 0 {
		t.Errorf("afterwards: %v, %v", problems, err)
	}
}

// A worker that the system holds is one that a text may have been given to.
func TestAWorkerThatIsStopped(t *testing.T) {
	w := testWorkers(t)
	w.Start()
	p := w.idle[0]
	checktest.OK(t, p.cmd.Process.Signal(syscall.SIGSTOP))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	large := "return '" + strings.Repeat("a", 250_000) + "'" // more than a pipe holds
	if _, _, err := (&Reader{Workers: w}).Compile(ctx, "", large); err == nil {
		t.Error("it was read")
	}
	<-p.ended
}
