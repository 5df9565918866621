package profiles

import (
	"time"

	"github.com/codemode-project/codemode/call"
)

// A Call is what is decided. Everything a decision may depend on is in it.
type Call struct {
	Server string         // the upstream's name as configured
	Tool   string         // the tool's name as the upstream wrote it
	Name   string         // canonical server__tool; "" = made from Server and Tool
	Args   call.Arguments // as they will be sent; none are {}
	// the tool's annotations as the upstream gave them, with the marks of its _meta, see [IsMark]
	Annotations map[string]any

	Time              time.Time // now; zero means unknown, and then no rule with "until" allows anything
	Tainted           bool      // what the run has read of an untrusted server may have reached the call
	Taint             string    // how, in a sentence; "" = nobody says
	DefinitionChanged bool      // the tool is no longer what was reviewed
	Counters          Counters
}

// Counters count what happened before the call. The zero value is a fresh run.
type Counters struct {
	Calls          int // calls of this run so far
	Repeat         int // of those, how many had the same tool and the same arguments
	Asks           int // questions put to people in this run so far
	AsksLastMinute int // questions put to people by this principal in the last minute
	Pending        int // questions of this principal that are open now
	Refusals       int // refusals by people in this run
}
