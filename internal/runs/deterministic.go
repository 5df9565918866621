package runs

import (
	"time"

	"github.com/codemode-project/codemode/sandbox"
)

// Deterministic makes a run depend on nothing but its program, its input, its limits and the answers of its calls: for
// tests of programs, simulations, and to repeat a run. The same of these gives the same value, console, error and
// Usage.Steps, in every process and on every machine that has the same guest, also if the run waits for people
// meanwhile. [sandbox.Deterministic] says how time passes, and what still ends a run early.
type Deterministic struct {
	// Seed gives the numbers of Math.random and of crypto, which are no secrets then.
	Seed uint64 `json:"seed"`
	// Start is what the clock says when the program starts, to the millisecond; the zero Time means 1970-01-01.
	Start time.Time `json:"start,omitzero"`
	// Steps is how many steps the program may make, see [sandbox.Usage]: one more ends it as
	// [sandbox.TooManySteps], at the same place everywhere. The limit of processor time ends it earlier on a slow
	// machine. Zero means that there is no other limit.
	Steps int64 `json:"steps,omitempty"`
}

// applyTo makes a program of the sandbox deterministic, unless d is nil.
func (d *Deterministic) applyTo(p *sandbox.Program) {
	if d != nil {
		p.Deterministic = &sandbox.Deterministic{Seed: d.Seed, Start: d.Start}
		p.Limits.Steps = d.Steps
	}
}
