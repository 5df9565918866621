package analysis

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Workers are processes that read programs, see [Work]. Limits on time, memory and stack bound the cost of a text: a
// worker that exceeds them ends, and another replaces it.
type Workers struct {
	command []string
	log     *slog.Logger

	mu      sync.Mutex
	all     map[*worker]bool // those that have not ended
	idle    []*worker        // the one used last is last
	closed  bool
	running sync.WaitGroup
	failure string // why the last start failed, as logged
}

// NewWorkers returns workers that run command, a program and its arguments. The command calls [Work]. Workers start on
// demand, one for each text that a [Reader] reads at the same time, and end with Close. log receives start failures;
// nil discards them.
func NewWorkers(log *slog.Logger, command ...string) *Workers {
	if len(command) == 0 {
		panic("analysis: NewWorkers needs the command that runs a worker")
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Workers{command: command, log: log}
}

// MostWorkers bounds how many programs are read at once: two for each processor, four to eight in all. So one owner,
// who may use all but one of them, blocks nobody else.
func MostWorkers() int { return min(max(2*runtime.GOMAXPROCS(0), 4), 8) }

// Start starts a worker, so that the first text need not wait for it.
func (w *Workers) Start() {
	if p, err := w.start(); err != nil {
		w.failed(err)
	} else {
		w.put(p)
	}
}

// Close ends all workers, busy ones too, and waits for them. It may be called twice.
func (w *Workers) Close() error {
	w.mu.Lock()
	w.closed = true
	for p := range w.all {
		p.kill()
	}
	w.mu.Unlock()
	w.running.Wait()
	return nil
}

// maxWait bounds the wall time of a worker for one text. It is far above maxCPU, because the machine may be busy with
// other work.
const maxWait = 60 * time.Second

// compile makes a worker read a text. An error means that no worker has read it.
func (w *Workers) compile(ctx context.Context, s source) (*Program, []Problem, error) {
	p, err := w.acquire()
	if err != nil {
		return nil, nil, err
	}
	cancelled := context.AfterFunc(ctx, p.kill)
	late := time.AfterFunc(maxWait, p.kill)
	a, err := p.ask(s)
	inTime := late.Stop()
	if !cancelled() && ctx.Err() != nil {
		p.stop()
		return nil, nil, ctx.Err()
	}
	switch {
	case !inTime:
		p.stop()
		return nil, nil, errLate
	case err != nil:
		p.kill() // it may have closed only its output
		p.stop()
		f := p.exceeded()
		if f == nil {
			return nil, nil, &endedError{p.cmd.ProcessState.String(), p.said.line()}
		}
		program, problems := giveUp(s.name, s.text, *f)
		return program, problems, nil
	case a.Last:
		p.stop()
	default:
		w.put(p)
	}
	program, problems := a.of(s.text)
	return program, problems, nil
}

// acquire returns an idle worker, or a new one.
func (w *Workers) acquire() (*worker, error) {
	for {
		w.mu.Lock()
		n := len(w.idle)
		if n == 0 {
			w.mu.Unlock()
			return w.start()
		}
		p := w.idle[n-1]
		w.idle = w.idle[:n-1]
		w.mu.Unlock()
		select {
		case <-p.ended: // it ended in the meantime
		default:
			return p, nil
		}
	}
}

func (w *Workers) put(p *worker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle = append(w.idle, p) // if the workers are closed, Close has killed it
}

// failed logs once why workers cannot start.
func (w *Workers) failed(err error) {
	w.mu.Lock()
	again := w.failure == err.Error()
	w.failure = err.Error()
	w.mu.Unlock()
	if again {
		return
	}
	attrs := []any{"error", err}
	if e, ok := errors.AsType[*endedError](err); ok && e.said != "" {
		attrs = append(attrs, "said", e.said)
	}
	w.log.Warn("no worker can read programs, so this process does: large and intricate ones run unread, or not at all",
		attrs...)
}

// An endedError says that a worker ended for a reason other than the text that it read: another worker may read it.
type endedError struct{ how, said string }

func (e *endedError) Error() string { return "a worker ended: " + e.how }

// errLate says that a worker got no processor time for long: another would not either.
var errLate = errors.New("a worker was not done within " + maxWait.String())

var errWorkersClosed = errors.New("the workers are closed")

// A worker is one process.
type worker struct {
	cmd       *exec.Cmd
	questions *gob.Encoder
	answers   *gob.Decoder
	close     func() error  // its input, which ends it
	said      *lastWords    // to be read once it has ended
	ended     chan struct{} // closed when the process has ended
}

func (w *Workers) start() (*worker, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, errWorkersClosed
	}
	cmd := exec.Command(w.command[0], w.command[1:]...)
	// It needs nothing of our environment. GOMAXPROCS leaves a processor for the watch.
	cmd.Env = []string{"GOMAXPROCS=2", "GOTRACEBACK=none"}
	cmd.Dir = os.TempDir()
	detach(cmd)
	said := &lastWords{}
	cmd.Stderr = said
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting a worker: %w", err)
	}
	// Not StdoutPipe, which Wait closes: we read an answer while Wait waits for the end.
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting a worker: %w", err)
	}
	defer theirs.Close()
	cmd.Stdout = theirs
	if err := cmd.Start(); err != nil {
		_ = out.Close()
		return nil, fmt.Errorf("starting a worker: %w", err)
	}
	p := &worker{
		cmd: cmd, questions: gob.NewEncoder(in), answers: gob.NewDecoder(out), close: in.Close, said: said,
		ended: make(chan struct{}),
	}
	if w.all == nil {
		w.all = map[*worker]bool{}
	}
	w.all[p] = true
	w.running.Go(func() {
		_ = cmd.Wait()
		w.mu.Lock()
		delete(w.all, p)
		w.mu.Unlock()
		_ = out.Close()
		close(p.ended)
	})
	return p, nil
}

// ask sends a text and returns the answer. After an error the worker has ended, or is unusable.
func (p *worker) ask(s source) (*reply, error) {
	if err := p.questions.Encode(request{s.name, s.text}); err != nil {
		return nil, err
	}
	a := &reply{}
	return a, p.answers.Decode(a)
}

func (p *worker) kill() { _ = p.cmd.Process.Kill() }

// stop ends the worker and waits until it has ended.
func (p *worker) stop() {
	_ = p.close()
	<-p.ended
}

// exceeded says which limit ended the worker. Nil means that it ended for another reason: the system ran out of memory
// or threads, or a person killed it. That says nothing about the text.
func (p *worker) exceeded() *fault {
	f := &fault{limit: true, hint: "split the program, or pass data as input"}
	switch exit := p.cmd.ProcessState.ExitCode(); {
	case exit == exitTime || p.used() > maxLife:
		f.message = "reading the program takes too long"
	case exit == exitMemory:
		f.message = "reading the program takes too much memory"
	case exit == exitStack && strings.Contains(p.said.String(), "stack exceeds"):
		f.message = "nested too deeply"
	default:
		return nil
	}
	return f
}

// used is how much processor time the worker used before it ended. The system kills one that used too much.
func (p *worker) used() time.Duration {
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// lastWords keeps the beginning of the worker's output when Go ends it.
type lastWords struct{ bytes.Buffer }

func (l *lastWords) Write(b []byte) (int, error) {
	const most = 1 << 10
	l.Buffer.Write(b[:min(len(b), most-min(l.Len(), most))])
	return len(b), nil
}

func (l *lastWords) line() string {
	first, _, _ := strings.Cut(strings.TrimSpace(l.String()), "\n")
	return readable(first)
}
