package profiles

import (
	"sync"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiles/match"
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

// A view is a call in the form that rules evaluate.
type view struct {
	call Call
	args *match.Arguments // separate, so that the rest needs no heap allocation
	names
	trusted bool
}

// A Clock keeps time from going back, for [Call.Time]: setting the system's clock back does not revive a rule after its
// "until". The zero value is ready.
type Clock struct {
	mu     sync.Mutex
	latest time.Time
}

// At returns now, or the latest time that it ever got if that is later.
func (c *Clock) At(now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.After(c.latest) {
		c.latest = now
	}
	return c.latest
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
