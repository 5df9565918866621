package runs

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/sandbox"
)

// Everybody who looks at a run gets what happens in it from its feed: the Observe of its request, each event in its
// order, and those who list the runs in progress ([Executor.Running]), who are told that something happened
// ([Executor.Watch]) and then read the calls and the latest lines. While nobody looks, a feed keeps the latest lines
// each time the program waits, and does nothing else.

// The lines of a console that a feed keeps.
const (
	tailLines = 100
	tailBytes = 8 << 10
	lineMost  = 4 << 10 // bytes of one line
	// tailsBytes bounds the lines of all runs of a process. If they are more, each run keeps its latest line.
	tailsBytes = 16 << 20
	// lineBytes is what a line takes besides its text.
	lineBytes = 32
)

// A feed is what happens in one run.
type feed struct {
	observer *observer // of the request; nil if it has none
	viewers  *viewers  // of all runs

	steps atomic.Uint64 // how often something happened

	mu     sync.Mutex
	lines  []sandbox.Line // the latest
	bytes  int            // of lines
	before int            // lines before these
}

// add notes an event. It does not block.
func (f *feed) add(e Event) {
	f.observer.add(e)
	f.happened()
}

// happened tells those who list runs that something happened.
func (f *feed) happened() {
	f.steps.Add(1)
	f.viewers.tell()
}

// watched is Program.Watching of the guest.
func (f *feed) watched() bool { return f.observer != nil || f.viewers.n.Load() > 0 }

// watch is Program.Watch of the guest.
func (f *feed) watch(printed []sandbox.Line, made *sandbox.Call) {
	if len(printed) > 0 {
		f.keep(printed)
	}
	if f.observer != nil {
		for _, l := range printed {
			f.observer.add(Event{Kind: Printed, Line: l})
		}
		if made != nil {
			f.observer.add(Event{Kind: CallStarted, Call: made.ID, Tool: made.Name})
		}
	}
	f.happened()
}

// keep keeps the latest lines.
func (f *feed) keep(printed []sandbox.Line) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(printed) - tailLines; n > 0 {
		f.before, printed = f.before+n, printed[n:]
	}
	before := f.bytes
	for _, l := range printed {
		l.Text = strings.Clone(l.Text[:min(len(l.Text), lineMost)]) // it is a part of a much longer text
		f.lines, f.bytes = append(f.lines, l), f.bytes+len(l.Text)+lineBytes
	}
	full := f.viewers.bytes.Add(int64(f.bytes-before)) > tailsBytes
	before = f.bytes
	for len(f.lines) > 1 && (len(f.lines) > tailLines || f.bytes > tailBytes || full) {
		f.bytes -= len(f.lines[0].Text) + lineBytes
		f.lines, f.before = f.lines[1:], f.before+1
	}
	f.viewers.bytes.Add(int64(f.bytes - before))
}

// tail returns the latest lines, and how many were printed before these.
func (f *feed) tail() (lines []sandbox.Line, before int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append(lines, f.lines...), f.before
}

// called notes how a call ended.
func (f *feed) called(x *execution, in *hostfns.Invocation, err error) {
	if f.observer != nil {
		report, ok := x.run.Report(in.ID)
		if !ok {
			report = hostfns.ReportOf(in, err)
		}
		f.observer.add(Event{Kind: CallEnded, Call: in.ID, Tool: in.Name, Ended: report})
	}
	f.happened()
}

// drop forgets the lines.
func (f *feed) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.viewers.bytes.Add(int64(-f.bytes))
	f.lines, f.bytes = nil, 0
}

// viewers are those who want to know when something happens in any run of the process.
type viewers struct {
	bytes atomic.Int64 // of the lines of all feeds
	n     atomic.Int32 // of all

	mu  sync.Mutex
	all map[chan struct{}]bool
}

// tell notifies the viewers. It does not block: whoever has not looked since the last time will.
func (v *viewers) tell() {
	if v.n.Load() == 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for viewer := range v.all {
		select {
		case viewer <- struct{}{}:
		default:
		}
	}
}

// Watch notifies a viewer of [Executor.Running] after each change: a run begins, makes a call, prints, waits or ends.
// Changes that come while a notification is unread are one with it. Call stop at the end.
func (e *Executor) Watch() (changed <-chan struct{}, stop func()) {
	viewer, v := make(chan struct{}, 1), &e.viewers
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.all == nil {
		v.all = map[chan struct{}]bool{}
	}
	v.all[viewer] = true
	v.n.Store(int32(len(v.all)))
	return viewer, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.all, viewer)
		v.n.Store(int32(len(v.all)))
	}
}
