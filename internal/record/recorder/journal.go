package recorder

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/codemode-project/codemode/call"
)

// journalLength is how many entries a Journal keeps.
const journalLength = 1000

// A Journal is the record of an Evaluator without a Recorder: the latest entries, in memory. It forgets everything when
// the process ends.
type Journal struct {
	log *slog.Logger

	mu      sync.Mutex
	entries []call.Entry // a ring of at most journalLength
	next    int          // where the next entry goes once the ring is full
}

// Record stores an entry. It never fails.
func (j *Journal) Record(ctx context.Context, e call.Entry) error {
	j.log.Debug("call", "kind", e.Kind, "state", e.State, "run", e.Run, "call", e.Call, "tool", e.Tool,
		"profile", e.Profile, "verdict", e.Verdict, "rules", e.Rules, "decidedBy", e.DecidedBy, "reason", e.Reason)
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.entries) < journalLength {
		j.entries = append(j.entries, e)
		return nil
	}
	j.entries[j.next] = e
	j.next = (j.next + 1) % journalLength
	return nil
}

// Entries returns the stored entries, oldest first.
func (j *Journal) Entries() []call.Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append(slices.Clone(j.entries[j.next:]), j.entries[:j.next]...)
}

// Journal is the record in memory; nil if calls are recorded elsewhere.
func (k *Recorder) Journal() *Journal {
	to := k.To
	if o, ok := to.(observed); ok {
		to = o.Recorder
	}
	j, _ := to.(*Journal)
	return j
}
