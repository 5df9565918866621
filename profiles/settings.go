package profiles

import (
	"slices"
	"time"

	"github.com/codemode-project/codemode/internal/profiles/pattern"
)

// Limits bound a run. A zero field means that the file does not set it; the enforcing code then uses its default.
type Limits struct {
	Asks, AsksPerMinute, Pending, Refusals int // questions to people; refusals after which the run ends
	Calls, Repeat                          int // calls of a run; identical calls before a question to a person
	InFlight                               int // calls at the same time
	CPU, Wall, Call                        time.Duration
	Memory                                 int64
	ArgumentBytes, ResultBytes             int
	ConsoleBytes, ProgramBytes             int
}

// Asking is how to ask people ("ask" in a profile). A zero field means that the file does not set it.
type Asking struct {
	Channels  []string      // elicitation, web, terminal; nil = any, empty = none of them
	Timeout   time.Duration // of one question
	Budget    time.Duration // of all questions of a run together
	MinHuman  time.Duration // a faster answer is not a person's
	Batch     *bool         // gather the questions of a run in one form
	Edit      *bool         // a person may change the arguments
	OtherOnly bool          // the asking principal may not answer (approver "other")
	Absent    string        // wait or refuse: what to do if people could answer but nobody is present; "" = see Awaits
}

// The values of "absent": what to do with a question while nobody is present.
const (
	absentWait   = "wait"
	absentRefuse = "refuse"
)

// Awaits reports whether a question waits for people who are not present yet, on the page or in a terminal. By default
// a profile waits if people are expected, unless it allows the call in their absence (fallback).
func (a Asking) Awaits(expected, fallback bool) bool {
	return a.Absent == absentWait || a.Absent == "" && expected && !fallback
}

// Redact says what not to show or record in clear.
type Redact struct {
	Keys     []string // globs over the names of members, ignoring case
	Pointers []string // JSON Pointers; * stands for any member or element
	Detect   bool     // detect texts in the form of a secret
	NoDetect bool     // do not: a file said so, and none said Detect
	Tools    []RedactTools
}

// RedactTools says what else not to show or record of the calls of some tools.
type RedactTools struct {
	Tool     string   `json:"tool"` // their pattern
	Keys     []string `json:"keys,omitempty"`
	Pointers []string `json:"pointers,omitempty"`
	glob     *pattern.Pattern
}

// Of says what not to show or record of the calls of a tool.
func (x Redact) Of(tool string) Redact {
	for _, t := range x.Tools {
		if t.glob.Match(tool) {
			x.Keys, x.Pointers = slices.Concat(x.Keys, t.Keys), slices.Concat(x.Pointers, t.Pointers)
		}
	}
	x.Tools = nil
	return x
}
