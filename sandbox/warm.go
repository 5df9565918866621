package sandbox

import (
	"slices"
	"sync"
)

// A session keeps its guest after a program, so that the next one need not get its pages. Some sessions do, those that
// were used last, as long as nobody else needs the memory.

// maxWarm is how many sessions have a guest while no program of theirs runs.
const maxWarm = 32

// warm are those sessions, the one that was used last at the end. Some may run a program: then cool leaves them alone.
type warm struct {
	mu       sync.Mutex
	sessions []cooler
}

// A cooler is a session, which gives its guest back, unless a program of it runs.
type cooler interface{ cool() }

// add makes s the last one.
func (w *warm) add(s cooler) {
	w.mu.Lock()
	at := slices.Index(w.sessions, s)
	if at >= 0 && at == len(w.sessions)-1 {
		w.mu.Unlock()
		return
	}
	if at >= 0 {
		w.sessions = slices.Delete(w.sessions, at, at+1)
	}
	w.sessions = append(w.sessions, s)
	var first cooler
	if len(w.sessions) > maxWarm {
		first = w.sessions[0]
		w.sessions = slices.Delete(w.sessions, 0, 1)
	}
	w.mu.Unlock()
	if first != nil {
		first.cool()
	}
}

func (w *warm) remove(s cooler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.sessions, s); i >= 0 {
		w.sessions = slices.Delete(w.sessions, i, i+1)
	}
}

// coolAll takes the guests of all. It reports whether there were any.
func (w *warm) coolAll() bool {
	w.mu.Lock()
	all := w.sessions
	w.sessions = nil
	w.mu.Unlock()
	for _, s := range all {
		s.cool()
	}
	return len(all) > 0
}

func (w *warm) any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.sessions) > 0
}
