package profiles

import (
	"time"
)

// Limits bound a run. A zero field means that the file does not say; whoever enforces
// the limit then uses its default.
type Limits struct {
	Asks, AsksPerMinute, Pending, Refusals int // questions to people; refusals after which the run ends
	Calls, Repeat                          int // calls of a run; identical calls after which a person is asked
	InFlight                               int // calls at the same time
	CPU, Wall, Call                        time.Duration
	Memory                                 int64
	ArgumentBytes, ResultBytes             int
	ConsoleBytes, ProgramBytes             int
}

// Asking is how people are asked ("ask" in a profile). Zero fields mean that the file
// does not say.
type Asking struct {
	Channels  []string      // elicitation, web, terminal; nil = any, empty = none of them
	Timeout   time.Duration // of one question
	Budget    time.Duration // of all questions of a run together
	MinHuman  time.Duration // an answer that comes faster is not a person's
	Batch     *bool         // gather the questions of a run in one form
	Edit      *bool         // a person may change the arguments
	OtherOnly bool          // the one who asked may not answer (approver "other")
	Absent    string        // wait or refuse: what is done where people could answer and nobody is there; "" = see Awaits
}

// The values of "absent": what to do with a question while nobody is there.
const (
	absentWait   = "wait"
	absentRefuse = "refuse"
)

// Awaits reports whether a question waits for people who are not there yet, on the page or in a terminal. A profile
// that says nothing waits where people are expected, unless it has an answer of its own for the case that nobody is
// there: fallback says that it allows the call.
func (a Asking) Awaits(expected, fallback bool) bool {
	return a.Absent == absentWait || a.Absent == "" && expected && !fallback
}

// Redact says what must not be shown or recorded in clear.
type Redact struct {
	Keys     []string // globs over the names of members, compared without case
	Pointers []string // JSON Pointers; * stands for any member or element
	Detect   bool     // look for what has the form of a secret
	NoDetect bool     // do not: somebody said so, and nobody said Detect
}
