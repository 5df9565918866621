package secrets

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
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
	program  string
	values   []string
	replacer *Values
}

// Begin remembers the text of a run's program.
func (l *Learned) Begin(run, program string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of(run).program = program
}

// Program returns the text of a run's program; "" if it is unknown.
func (l *Learned) Program(run string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.runs[run]; r != nil {
		return r.program
	}
	return ""
}

// of returns a run, which may be a new one: there is always room for the latest. The caller holds the lock.
func (l *Learned) of(run string) *learnedRun {
	r := l.runs[run]
	if r != nil {
		return r
	}
	if l.runs == nil {
		l.runs = map[string]*learnedRun{}
	}
	for other := range maps.Keys(l.runs) {
		if len(l.runs) < learnedRuns {
			break
		}
		delete(l.runs, other)
	}
	r = &learnedRun{}
	l.runs[run] = r
	return r
}

// Add adds values to a run and returns all values of the run. It leaves out a value that has a form which is a word:
// to mask that would hide something else.
func (l *Learned) Add(run string, values []string, word func(string) bool) *Values {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(values) == 0 {
		if r := l.runs[run]; r != nil {
			return r.replacer
		}
		return nil
	}
	r := &learnedRun{}
	if run != "" {
		r = l.of(run)
	}
	changed := false
	for _, v := range values {
		if len(r.values) < learnedMost && !slices.Contains(r.values, v) && !slices.ContainsFunc(forms(v), word) {
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

const (
	// shortestRandom is the length of the shortest value that counts as random, and mostTurns how often letters and
	// digits follow each other within the words of a text that people write, such as 2026-12-24T10:00:00.5Z.
	shortestRandom = 12
	mostTurns      = 3
)

// random reports whether a machine made a value, by how often letters and digits follow each other in it. Spaces,
// quotes and brackets are in no token, and in every program.
func random(s string) bool {
	if len(s) < shortestRandom || strings.ContainsAny(s, "\"'`()[]{}<>;,\\") || strings.ContainsFunc(s, unicode.IsSpace) {
		return false
	}
	turns, before := 0, ' '
	for _, r := range s {
		class := ' '
		switch {
		case unicode.IsDigit(r):
			class = '0'
		case unicode.IsLetter(r):
			class = 'a'
		}
		if class != before && class != ' ' && before != ' ' {
			turns++
		}
		before = class
	}
	return turns > mostTurns
}
