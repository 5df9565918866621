package backup

import "time"

// keptKeys is how long the idempotency key of a run that did not come back stays, so that nothing runs twice.
const keptKeys = 7 * 24 * time.Hour

// A choice says which rows come back. What is left out could happen a second time, or was perhaps taken back after the
// backup was made.
type choice struct {
	runs, grants bool
	now          int64           // microseconds since 1970
	waiting      map[string]bool // the runs that come back
}

func newChoice(runs, grants bool) *choice {
	return &choice{runs: runs, grants: grants, now: time.Now().UnixMicro(), waiting: map[string]bool{}}
}

// The phases of parked runs in the database that matter here.
const (
	phaseWaiting = 0
	phaseClaimed = 1 // by a process that had not begun it
)

// comesBack decides about a row, and may change it. Parked runs come before the rows that depend on them.
func (c *choice) comesBack(t *table, r row) bool {
	number := func(column string) int64 {
		n, _ := r[t.at(column)].(int64)
		return n
	}
	text := func(column string) string {
		s, _ := r[t.at(column)].(string)
		return s
	}
	switch t.name {
	case "parked":
		// One that a process had begun is over: its image is that of a moment before.
		phase := number("phase")
		if !c.runs || phase != phaseWaiting && phase != phaseClaimed || number("expires") <= c.now {
			return false
		}
		r[t.at("phase")], r[t.at("claim")], r[t.at("beats")] = int64(phaseWaiting), "", int64(0)
		c.waiting[text("run")] = true
	case "approvals":
		return c.waiting[text("run")]
	case "grants":
		return c.grants && r[t.at("revoked_at")] == nil && number("expires") > c.now &&
			(text("run") == "" || c.waiting[text("run")])
	case "keys":
		// All come back, because a request whose key is unknown runs again.
		if r[t.at("expires")] == nil && !c.waiting[text("run")] {
			r[t.at("expires")] = c.now + keptKeys.Microseconds()
		}
	}
	return true
}
