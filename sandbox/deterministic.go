package sandbox

import (
	"crypto/sha512"
	"encoding/binary"
	"time"
)

// A Deterministic run depends on nothing but the program, its input, its limits and the answers of its calls. Two runs
// that have the same of these, and the same guest ([Engine.Hash]), give the same value, console, error and
// [Usage.Steps], on every machine, also if one was parked meanwhile.
//
// To the program, calls take no time: the clock stands still while it computes and while a call is open. When no call
// is open, the clock jumps to the next timer, without waiting. The answers of calls arrive one after the other, in the
// order in which the program made the calls, whichever comes first. So a timer never ends before a call that was made
// before it: a program cannot limit the time of a call.
//
// What the machine decides still ends a run early: Limits.CPU and Limits.Wall, which measure real time, the end of the
// context, and memory that other runs have. Limits.Steps bounds the time of a program at the same place everywhere.
type Deterministic struct {
	// Seed gives the numbers of Math.random and of crypto, which are no secrets then.
	Seed uint64
	// Start is what the clock says when the program starts, to the millisecond; the zero Time means 1970-01-01.
	Start time.Time
}

// randomness is what the guest gets for crypto (32 bytes), and for Math.random (8 bytes).
func (d *Deterministic) randomness() []byte {
	sum := sha512.Sum512(binary.LittleEndian.AppendUint64([]byte("codemode seed 1\n"), d.Seed))
	return sum[:40]
}

// at is what the clock says after the program's time.
func (d *Deterministic) at(elapsed time.Duration) time.Time {
	if d.Start.IsZero() {
		return time.UnixMilli(0).Add(elapsed)
	}
	return d.Start.Add(elapsed)
}
