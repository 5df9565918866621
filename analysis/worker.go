package analysis

import (
	"encoding/gob"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// Limits on the cost of one text in a worker. 88 KiB of calls take some 50 ms and 12 MB; only a hostile text needs
// more.
const (
	// maxCPU is processor time, where the system reports it, else wall time.
	maxCPU = time.Second
	// maxMemory is the memory that the process gets from the system, in bytes.
	maxMemory = 96 << 20
	// maxStack is the largest stack, in bytes. Go ends a process that needs more.
	maxStack = 32 << 20
	// maxData is the system's own limit on a worker's memory, in bytes, in case the check of maxMemory comes too late.
	maxData = 4 * maxMemory
	// watchEvery is how often a worker checks its usage.
	watchEvery = 5 * time.Millisecond
	// maxLife is how much processor time a worker uses before another replaces it. The system kills a worker that uses
	// more.
	maxLife = 30 * time.Second
)

// Exit codes of a worker that ended at a limit. Go's own, for a full stack, is 2.
const (
	exitTime   = 3
	exitMemory = 4
	exitStack  = 2
)

// Work reads programs for the [Workers] of another process, which started this one, until in ends. Call it first in
// main, for the command passed to NewWorkers, with the standard input and output, and do nothing else in the process:
// Work sets limits on the whole process, and ends it when a text costs too much.
func Work(in io.Reader, out io.Writer) error {
	signal.Ignore(os.Interrupt) // a terminal sends it to all processes; a worker ends with in
	debug.SetMaxStack(maxStack)
	debug.SetMemoryLimit(maxMemory / 2)
	debug.SetGCPercent(400)
	limitProcess(maxLife, maxData)
	var w watch
	decoder, encoder := gob.NewDecoder(in), gob.NewEncoder(out)
	for {
		var q request
		if err := decoder.Decode(&q); err != nil {
			return nil // the requesting process has ended
		}
		w.begin()
		a := replyOf(compile(q.Name, q.Text))
		w.end()
		a.Last = processorTime() > maxLife
		if err := encoder.Encode(a); err != nil {
			return errors.Join(errors.New("answering"), err)
		}
	}
}

// A watch ends the process when a text costs too much.
type watch struct {
	mu    sync.Mutex
	timer *time.Timer
	until time.Duration // the processor time at which the process ends; 0: it is idle
}

func (w *watch) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = processorTime() + maxCPU
	if w.timer == nil {
		w.timer = time.AfterFunc(watchEvery, w.look)
	} else {
		w.timer.Reset(watchEvery)
	}
}

func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = 0
	w.timer.Stop()
}

func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.until == 0 {
		return
	}
	if processorTime() > w.until {
		os.Exit(exitTime)
	}
	held := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	if metrics.Read(held); held[0].Value.Uint64()-held[1].Value.Uint64() > maxMemory {
		os.Exit(exitMemory)
	}
	w.timer.Reset(watchEvery)
}
