package profiles

import (
	"time"

	"github.com/codemode-project/codemode/call"
)

// A Call is the subject of a decision. It contains everything that a decision may depend on.
type Call struct {
	Server string         // the upstream's name as configured
	Tool   string         // the tool's name as the upstream spells it
	Name   string         // canonical server__tool; "" = made from Server and Tool
	Args   call.Arguments // as the upstream will get them; none means {}
	// the tool's annotations as the upstream gave them, with the marks of its _meta, see [IsMark]
	Annotations map[string]any
	// allow rules may rely on the annotations, as they may for servers with trustAnnotations in the configuration
	Believed bool

	Time              time.Time // now; zero means unknown, and then no rule with "until" allows anything
	Tainted           bool      // data that the run read from an untrusted server may have reached the call
	Taint             string    // how, in a sentence; "" = unknown
	DefinitionChanged bool      // the tool differs from the reviewed definition
	Counters          Counters
}

// Counters count events before the call. The zero value is a fresh run.
type Counters struct {
	Calls          int // calls of this run so far
	Repeat         int // how many of them had the same tool and the same arguments
	Asks           int // questions to people in this run so far
	AsksLastMinute int // questions of this principal to people in the last minute
	Pending        int // questions of this principal that are open now
	Refusals       int // refusals by people in this run
}
