package audit

import (
	"slices"
	"strings"
	"sync"
)

const (
	// learnedMost bounds how many secrets of one run are remembered, and learnedRuns of how many runs.
	learnedMost = 200
	learnedRuns = 2000
	// learnedLongest is the longest value that is looked for elsewhere.
	learnedLongest = 4096
)

// learned remembers what was masked for its key in a run, because programs carry values on: what
// was "token" in a result is the program's own value in the next moment, without a key.
type learned struct {
	mu   sync.Mutex
	runs map[string]*learnedRun
}

type learnedRun struct {
	values   []string
	replacer *strings.Replacer
}

// add notes values and gives what masks all of the run.
func (l *learned) add(run string, values []string) *strings.Replacer {
	if run == "" {
		return knownSecrets(values)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.runs[run]
	if r == nil {
		if len(values) == 0 {
			return nil
		}
		if len(l.runs) >= learnedRuns {
			return knownSecrets(values)
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
		r.replacer = knownSecrets(slices.Clone(r.values))
	}
	return r.replacer
}

// forget ends a run.
func (l *learned) forget(run string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.runs, run)
}
