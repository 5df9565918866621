package sandbox

import (
	"context"
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
	sessions []*Session
}

// add makes s the last one.
func (w *warm) add(s *Session) {
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
	var first *Session
	if len(w.sessions) > maxWarm {
		first = w.sessions[0]
		w.sessions = slices.Delete(w.sessions, 0, 1)
	}
	w.mu.Unlock()
	if first != nil {
		first.cool()
	}
}

func (w *warm) remove(s *Session) {
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

// lend gives the next program what the guest has of the owner's memory.
func (s *Session) lend() (have int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	have, s.held = s.held, 0
	return have
}

// takeBack is for a program that did not start: what lend gave it is free again, and so is the guest.
func (s *Session) takeBack(have int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = have
	s.putGuest()
}

// getGuest returns the guest for the next program: that of the last one, or a fresh one.
func (s *Session) getGuest(ctx context.Context, memory int64) (*guest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.guest; g != nil && memory <= int64(g.mem.Most) && g.copy.enterAgain() {
		return g, nil
	}
	s.putGuest()
	return s.engine.get(ctx, memory)
}

// keepsGuest reports whether the session keeps the guest of the program that has ended, with what the program has of
// the owner's memory for it.
func (s *Session) keepsGuest(r *Run, g *guest) bool {
	s.mu.Lock()
	s.guest = nil
	kept := Keeps(r.err) && !g.waste && !s.closed
	if kept {
		s.guest = g
		g.run, g.mem.MayGrow = nil, nil
		s.held = r.memory.leave()
		s.engine.lastHere.Put(g.copy)
		g.copy.leave(nil, false)
	}
	s.mu.Unlock()
	if kept {
		s.engine.warm.add(s)
	}
	return kept
}

// cool gives back the guest of a session without a program.
func (s *Session) cool() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.busy {
		s.putGuest()
	}
}

// putGuest gives the guest back, if there is one, and what it has of the owner's memory. The caller holds s.mu.
func (s *Session) putGuest() {
	s.engine.memory.Release(s.owner, s.held)
	g := s.guest
	s.guest, s.held = nil, 0
	if g != nil && g.copy.enterAgain() { // otherwise the engine has closed it
		s.engine.put(g)
	}
}
