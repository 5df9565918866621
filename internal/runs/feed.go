package runs

import (
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/sandbox"
)

// The lines of a console that a feed keeps.
const (
	tailLines = 100
	tailBytes = 8 << 10
	lineMost  = 4 << 10 // bytes of one line
	// tailsBytes bounds the lines of all runs of a process. If they are more, each run keeps its latest line.
	tailsBytes = 16 << 20
	// lineCost is what a line takes besides its text.
	lineCost = 32
)

// A feed tells those who look at a run what happens in it: the Observe of its request gets each [Event] in its order.
// The viewers of all runs of a process hear that something happened, and then read the calls and the latest lines.
// While nobody looks, a feed keeps the latest lines each time the program waits, and does nothing else.
type feed struct {
	observer *observer // of the request; nil if it has none
	viewers  *viewers  // of all runs

	steps atomic.Uint64 // how often something happened

	mu     sync.Mutex
	lines  []sandbox.Line // the latest
	bytes  int            // of lines
	before int            // lines before these
}

// newFeed makes the feed of a run. observe gets its events, one after the other; nil gets none.
func newFeed(run string, observe func(Event), viewers *viewers, log *slog.Logger) *feed {
	return &feed{observer: newObserver(observe, run, log), viewers: viewers}
}

// Add notes an event. It does not block.
func (f *feed) Add(e Event) {
	f.observer.add(e)
	f.Happened()
}

// Happened tells those who list runs that something happened.
func (f *feed) Happened() {
	f.steps.Add(1)
	f.viewers.tell()
}

// Watched is Program.Watching of the guest.
func (f *feed) Watched() bool { return f.observer != nil || f.viewers.Any() }

// Watch is Program.Watch of the guest.
func (f *feed) Watch(printed []sandbox.Line, made *sandbox.Call) {
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
	f.Happened()
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
		f.lines, f.bytes = append(f.lines, l), f.bytes+len(l.Text)+lineCost
	}
	full := f.viewers.bytes.Add(int64(f.bytes-before)) > tailsBytes
	before = f.bytes
	for len(f.lines) > 1 && (len(f.lines) > tailLines || f.bytes > tailBytes || full) {
		f.bytes -= len(f.lines[0].Text) + lineCost
		f.lines, f.before = f.lines[1:], f.before+1
	}
	f.viewers.bytes.Add(int64(f.bytes - before))
}

// Tail returns the latest lines, and how many were printed before these.
func (f *feed) Tail() (lines []sandbox.Line, before int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append(lines, f.lines...), f.before
}

// Called notes how a call ended. report makes its report, if somebody wants it.
func (f *feed) Called(call int, tool string, report func() hostfns.Report) {
	if f.observer != nil {
		f.observer.add(Event{Kind: CallEnded, Call: call, Tool: tool, Ended: report()})
	}
	f.Happened()
}

// End adds the last events, and waits until the observer has seen all, but not for long.
func (f *feed) End(calls []hostfns.Report, outcome string) { f.observer.end(calls, outcome) }

// Steps grows with everything that happens.
func (f *feed) Steps() uint64 { return f.steps.Load() }

// Drop forgets the lines.
func (f *feed) Drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.viewers.bytes.Add(int64(-f.bytes))
	f.lines, f.bytes = nil, 0
}

// viewers are those who want to know when something happens in any run of the process. The zero value has none.
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

// Any reports whether there are any.
func (v *viewers) Any() bool { return v.n.Load() > 0 }

// Watch adds a viewer. changed receives after each change; changes that come while it is unread are one with it. Call
// stop at the end.
func (v *viewers) Watch() (changed <-chan struct{}, stop func()) {
	viewer := make(chan struct{}, 1)
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
