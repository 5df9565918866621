package runs

import (
	"fmt"
	"strings"
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
