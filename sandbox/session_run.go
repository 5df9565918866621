package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// Start starts the next program of the session, of the session's owner. One program runs at a time: Start fails with
// [ErrSessionBusy] while another one does. The file name in its stacks is program-N with the extension of p.Name, where
// N is its number in the session from 1.
func (s *Session) Start(ctx context.Context, p Program, h Host) (*Run, error) {
	return behind(s.next(ctx, p, h))
}

// Run is Start for a caller that waits: see [Engine.Run].
func (s *Session) Run(ctx context.Context, p Program, h Host) (*Result, error) {
	return here(s.next(ctx, p, h))
}

// next makes the run of the next program.
func (s *Session) next(ctx context.Context, p Program, h Host) (*Run, error) {
	if err := s.take(); err != nil {
		return nil, err
	}
	r, err := s.prepare(ctx, p, h)
	if err != nil {
		s.ended()
	}
	return r, err
}

// prepare makes the run; the session is taken.
func (s *Session) prepare(ctx context.Context, p Program, h Host) (*Run, error) {
	p.Owner, p.number = s.owner, s.programs+1
	limits := p.Limits.withDefaults()
	if limits.Memory < int64(s.memory) {
		return nil, &Error{Kind: Refused, Message: fmt.Sprintf("not started: the session has a memory of %d MiB, and the "+
			"program may have %d MiB: allow more, or begin a new session",
			(s.memory+1<<20-1)>>20, limits.Memory>>20)}
	}
	have := s.lend()
	r, err := s.engine.prepare(ctx, p, int64(guestCost+s.grown), have, h, s.getGuest)
	if err != nil {
		s.takeBack(have)
		return nil, err
	}
	r.session = s
	return r, nil
}

// Resume continues a parked program of the session: see [Engine.Resume]. It has to be the session's next one, as it was
// when it was parked: the image holds the whole heap. p gives Lookup and Earlier; the image has the rest.
func (s *Session) Resume(ctx context.Context, image []byte, p Program, h Host) (*Run, error) {
	if err := s.take(); err != nil {
		return nil, err
	}
	s.takeBack(s.lend()) // the image has the memory
	r, err := s.engine.resume(ctx, image, p, s, h)
	if err != nil {
		s.ended()
	}
	return r, err
}

// namesBytes bounds the JSON of a session's names; guest/shim.c has the same number.
const namesBytes = 4 << 20

// Names lists what the next program can use, in the order of declaration. Making the list runs no code of a program: no
// getter, no trap of a proxy. But it comes from the guest: a program that has taken over the interpreter may make it
// say anything, so texts in it are as untrusted as a result. Names fails with [ErrSessionBusy] while a program runs.
func (s *Session) Names(ctx context.Context) ([]Name, error) {
	if err := s.take(); err != nil {
		return nil, err
	}
	defer s.ended()
	if s.names != nil {
		return slices.Clone(s.names), nil
	}
	r, err := s.prepare(ctx, Program{Limits: Limits{Memory: int64(max(s.memory+hostRoom, commonMemory))}}, nil)
	if err != nil {
		return nil, err
	}
	names, err := s.listed(r.guest)
	if r.err = err; !s.keepsGuest(r, r.guest) {
		s.engine.put(r.guest)
	}
	r.memory.release()
	if err != nil {
		return nil, fmt.Errorf("listing the names of the session: %w", err)
	}
	s.names = names
	return slices.Clone(names), nil
}

// listed asks the guest. One that a program has taken over may answer anything.
func (s *Session) listed(g *guest) ([]Name, error) {
	g.enter()
	defer g.leave()
	if err := s.load(g); err != nil {
		return nil, err
	}
	if err := g.call(doNames); err != nil {
		return nil, err
	}
	b, err := g.shared.bytes(sharedOut, sharedOutLen, namesBytes)
	if err != nil {
		return nil, err
	}
	names := []Name{}
	return names, json.Unmarshal(b, &names)
}
