package secrets

import (
	"slices"
	"sync"
)

const (
	// learnedMost limits the secrets of one run, and learnedRuns the runs.
	learnedMost = 200
	learnedRuns = 2000
	// learnedLongest is the length of the longest value that is masked elsewhere.
	learnedLongest = 4096
)

// Learned remembers, for each run, the values that were masked for their key, because programs pass values on: the
// "token" of a result is an argument without that key in the next call. Its methods may be called concurrently.
type Learned struct {
	mu   sync.Mutex
	runs map[string]*learnedRun
}

type learnedRun struct {
	values   []string
	replacer *Values
}

// Add adds values to a run and returns all values of the run.
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

// Forget removes a run.
func (l *Learned) Forget(run string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.runs, run)
}
