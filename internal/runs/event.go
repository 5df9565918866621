package runs

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/sandbox"
)

// An Event is something that happened in a run, for the Observe of its request.
type Event struct {
	Kind EventKind
	Run  string
	Time time.Time

	// Of a call: its number and the name that the program called. Calls of codemode's own functions, such as
	// search_tools, are among them; the Calls of a response leave them out.
	Call int
	Tool string
	// Ended says how a call ended, with CallEnded.
	Ended hostfns.Report

	Line    sandbox.Line // Printed
	Outcome string       // RunEnded: as in the record
	Lost    int          // EventsLost: how many
}

// An EventKind says what happened.
type EventKind int

const (
	CallStarted EventKind = iota + 1 // the program made a call
	CallAsked                        // a person is asked about the call
	CallEnded                        // the call has an outcome; not every call gets one before its run ends
	Printed                          // the program printed a line on its console
	RunParked                        // the run waits for people and has left its guest
	RunResumed                       // it has a guest again
	RunEnded                         // the last event
	EventsLost                       // the observer was too slow: events before the next one are missing
)

// String is the event in words, for people: one line, or more for a message of several lines.
func (e Event) String() string {
	switch e.Kind {
	case CallStarted:
		return fmt.Sprintf("call %d: %s", e.Call, e.Tool)
	case CallAsked:
		return fmt.Sprintf("call %d: %s waits for a person", e.Call, e.Tool)
	case CallEnded:
		if e.Ended.Reason != "" {
			return fmt.Sprintf("call %d: %s %s (%s)", e.Call, e.Tool, e.Ended.State, e.Ended.Reason)
		}
		return fmt.Sprintf("call %d: %s %s", e.Call, e.Tool, e.Ended.State)
	case Printed:
		return lineText(e.Line)
	case RunParked:
		return "the run waits for a person"
	case RunResumed:
		return "the run goes on"
	case RunEnded:
		return "the run ended: " + e.Outcome
	case EventsLost:
		return fmt.Sprintf("%d events are missing", e.Lost)
	}
	return fmt.Sprintf("EventKind(%d)", int(e.Kind))
}

// lineText indents the lines of a message after its first, so that no message can look like several.
func lineText(l sandbox.Line) string {
	return l.Level + ": " + strings.ReplaceAll(l.Text, "\n", "\n    ")
}

const (
	// maxEvents is how many events wait for an observer; a run drops further ones and counts them.
	maxEvents = 4096
	// observerWait is how long the end of a run waits for its observer.
	observerWait = time.Second
)

// An observer hands the events of one run to a function, one after the other. A nil one does nothing.
type observer struct {
	f   func(Event)
	run string
	log *slog.Logger

	mu     sync.Mutex
	queue  []Event
	lost   int
	busy   bool          // a goroutine empties the queue
	ended  bool          // nothing is added any more
	idle   chan struct{} // closed when the queue is empty after the end
	closed map[int]bool  // calls with their CallEnded
}

func newObserver(f func(Event), run string, log *slog.Logger) *observer {
	if f == nil {
		return nil
	}
	return &observer{f: f, run: run, log: log, idle: make(chan struct{}), closed: map[int]bool{}}
}

// add notes an event. It does not block.
func (o *observer) add(e Event) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended || e.Kind == CallEnded && o.closed[e.Call] {
		return
	}
	if e.Kind == CallEnded {
		o.closed[e.Call] = true
	}
	o.ended = e.Kind == RunEnded
	e.Run, e.Time = o.run, time.Now()
	if len(o.queue) >= maxEvents && !o.ended {
		o.lost++
		return
	}
	if o.lost > 0 {
		o.queue = append(o.queue, Event{Kind: EventsLost, Run: o.run, Time: e.Time, Lost: o.lost})
		o.lost = 0
	}
	o.queue = append(o.queue, e)
	if !o.busy {
		o.busy = true
		go o.deliver() // ends when the queue is empty
	}
}

// deliver empties the queue.
func (o *observer) deliver() {
	for {
		o.mu.Lock()
		batch := o.queue
		o.queue = nil
		if len(batch) == 0 {
			o.busy = false
			if o.ended {
				close(o.idle)
			}
			o.mu.Unlock()
			return
		}
		o.mu.Unlock()
		for _, e := range batch {
			o.tell(e)
		}
	}
}

// tell calls the function. A panic there ends nothing.
func (o *observer) tell(e Event) {
	defer func() {
		if p := recover(); p != nil {
			o.log.Error("an observer of a run panicked", "run", o.run, "event", e.String(), "panic", fmt.Sprint(p),
				"stack", string(debug.Stack()))
		}
	}()
	o.f(e)
}

// end adds the last events, and waits until the observer has seen all, but not for long.
func (o *observer) end(calls []hostfns.Report, outcome string) {
	if o == nil {
		return
	}
	for _, c := range calls {
		o.add(Event{Kind: CallEnded, Call: c.Call, Tool: c.Tool, Ended: c})
	}
	o.add(Event{Kind: RunEnded, Outcome: outcome})
	select {
	case <-o.idle:
	case <-time.After(observerWait):
		o.log.Warn("an observer of a run is slow; it gets the rest of the events later", "run", o.run)
	}
}
