// Package feed tells those who look at a run what happens in it, while it happens.
//
// Everybody who looks at a run gets that from its [Feed]: the Observe of its request, each [Event] in its order, and
// the [Viewers] of all runs of a process, who are told that something happened and then read the calls and the latest
// lines. While nobody looks, a Feed keeps the latest lines each time the program waits, and does nothing else.
//
// It does not know how a run is executed: package runs adds what happens.
package feed

import (
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/sandbox"
)

// The lines of a console that a Feed keeps.
const (
	tailLines = 100
	tailBytes = 8 << 10
	lineMost  = 4 << 10 // bytes of one line
	// tailsBytes bounds the lines of all runs of a process. If they are more, each run keeps its latest line.
	tailsBytes = 16 << 20
	// lineBytes is what a line takes besides its text.
	lineBytes = 32
)

// A Feed is what happens in one run.
type Feed struct {
	observer *observer // of the request; nil if it has none
	viewers  *Viewers  // of all runs

	steps atomic.Uint64 // how often something happened

	mu     sync.Mutex
	lines  []sandbox.Line // the latest
	bytes  int            // of lines
	before int            // lines before these
}

// New makes the feed of a run. observe gets its events, one after the other; nil gets none.
func New(run string, observe func(Event), viewers *Viewers, log *slog.Logger) *Feed {
	return &Feed{observer: newObserver(observe, run, log), viewers: viewers}
}

// Add notes an event. It does not block.
func (f *Feed) Add(e Event) {
	f.observer.add(e)
	f.Happened()
}

// Happened tells those who list runs that something happened.
func (f *Feed) Happened() {
	f.steps.Add(1)
	f.viewers.tell()
}

// Watched is Program.Watching of the guest.
func (f *Feed) Watched() bool { return f.observer != nil || f.viewers.Any() }

// Watch is Program.Watch of the guest.
func (f *Feed) Watch(printed []sandbox.Line, made *sandbox.Call) {
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
func (f *Feed) keep(printed []sandbox.Line) {
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

// Tail returns the latest lines, and how many were printed before these.
func (f *Feed) Tail() (lines []sandbox.Line, before int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append(lines, f.lines...), f.before
}

// Called notes how a call ended. report makes its report, if somebody wants it.
func (f *Feed) Called(call int, tool string, report func() hostfns.Report) {
	if f.observer != nil {
		f.observer.add(Event{Kind: CallEnded, Call: call, Tool: tool, Ended: report()})
	}
	f.Happened()
}

// End adds the last events, and waits until the observer has seen all, but not for long.
func (f *Feed) End(calls []hostfns.Report, outcome string) { f.observer.end(calls, outcome) }

// Steps grows with everything that happens.
func (f *Feed) Steps() uint64 { return f.steps.Load() }

// Drop forgets the lines.
func (f *Feed) Drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.viewers.bytes.Add(int64(-f.bytes))
	f.lines, f.bytes = nil, 0
}

// Viewers are those who want to know when something happens in any run of the process. The zero value has none.
type Viewers struct {
	bytes atomic.Int64 // of the lines of all feeds
	n     atomic.Int32 // of all

	mu  sync.Mutex
	all map[chan struct{}]bool
}

// tell notifies the viewers. It does not block: whoever has not looked since the last time will.
func (v *Viewers) tell() {
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
func (v *Viewers) Any() bool { return v.n.Load() > 0 }

// Watch adds a viewer. changed receives after each change; changes that come while it is unread are one with it. Call
// stop at the end.
func (v *Viewers) Watch() (changed <-chan struct{}, stop func()) {
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
