package sandbox

import "context"

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
