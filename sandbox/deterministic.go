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

// jump moves the clock of a deterministic run to its next timer, which is due at, unless a call is open.
func (r *Run) jump(g *guest, due time.Duration) bool {
	if r.program.Deterministic == nil || due < 0 || g.shared.uint32(sharedPending) > 0 {
		return false
	}
	r.elapsed = due - g.clock
	return true
}

// oldest takes the answer of the oldest call of a deterministic run, if it has come. The caller holds r.mu.
func (r *Run) oldest() []answer {
	first := -1
	for i, a := range r.answers {
		if first < 0 || a.id < r.answers[first].id {
			first = i
		}
	}
	if first < 0 || len(r.open) > 0 && r.open[0].ID < r.answers[first].id {
		return nil
	}
	a, last := r.answers[first], len(r.answers)-1
	r.answers[first], r.answers[last] = r.answers[last], answer{}
	r.answers = r.answers[:last]
	return []answer{a}
}

// An imageAnswer is an answer that came before that of an older call of a deterministic run.
type imageAnswer struct {
	ID    int    `json:"id"`
	Value []byte `json:"value,omitempty"` // byte for byte, because reading it makes steps
	Error []byte `json:"error,omitempty"` // as throwJSON makes it
}

func saveAnswers(answers []answer) (saved []imageAnswer) {
	for _, a := range answers {
		s := imageAnswer{ID: a.id, Value: a.value}
		if a.err != nil {
			s.Error = throwJSON(a.err)
		}
		saved = append(saved, s)
	}
	return saved
}

// A savedThrow is the error of an imageAnswer.
type savedThrow []byte

func (savedThrow) Error() string { return "an error from before the run was parked" }

func (s imageAnswer) answer() answer {
	a := answer{id: s.ID, value: s.Value}
	if s.Error != nil {
		a.err = savedThrow(s.Error)
	}
	return a
}
