package secrets

import (
	"slices"
	"sync"
)

const (
	// learnedMost bounds how many secrets of one run are remembered, and learnedRuns of how many runs.
	learnedMost = 200
	learnedRuns = 2000
	// learnedLongest is the longest value that is looked for elsewhere.
	learnedLongest = 4096
)

// Learned remembers what was masked for its key in a run, because programs carry values on: what was "token" in a
// result is the program's own value in the next moment, without a key. Its methods may be called from many
// goroutines.
type Learned struct {
	mu   sync.Mutex
	runs map[string]*learnedRun
}

type learnedRun struct {
	values   []string
	replacer *Values
}

// Add notes values of a run and returns all of the run.
func (l *Learned) Add(run string, values []string) *Values {
	if run == "" {
		return Known(values, Mask)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.runs[run]
	if r == nil {
		if len(values) == 0 {
			return nil
		}
		if len(l.runs) >= learnedRuns {
			return Known(values, Mask)
		}
		if l.runs == nil {
			l.runs = map[string]*learnedRun{}
		}
		r = &learnedRun{}
		l.runs[run] = r
	}
	changed := false
	for _, v := range values {
		if len(r.values) < learnedMost && !slices.Contains(r.values, v) {
			r.values, changed = append(r.values, v), true
		}
	}
	if changed {
		r.replacer = Known(r.values, Mask)
	}
	return r.replacer
}

// Forget ends a run.
func (l *Learned) Forget(run string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.runs, run)
}
