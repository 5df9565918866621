package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/codemode-project/codemode/internal/fair"
)

// A Session is a heap that lives on from one program to the next: what a program declares at its top level (const, let,
// var, function, class) the next one uses by reference. So closures, private fields, cycles and the state of iterators
// stay what they are.
//
// A name has one variable for the life of the session, as in the console of Chrome. A program may declare it again, in
// any way: it keeps its value until that declaration is reached, and functions of earlier programs see the new value.
// codemode, console and input are the exception: a declaration of them ends with its program, and so does what eval
// declares with var.
//
// A program that returns or throws is the new state of the session. One that ends in any other way (see [Kind]) leaves
// the session as it was. Timers that repeat, and promises that are pending at the end, are dropped, see [Dropped]: no
// part of one program runs while the next one does, unless that one calls it.
//
// Between programs a session holds the pages of memory that differ from the snapshot's, and its guest while it is one
// of the last that were used. Both count for its owner: see [Session.Size]. Image makes the pages some ten times as
// small, for [Engine.Open].
type Session struct {
	engine *Engine
	owner  string

	mu       sync.Mutex
	busy     bool
	closed   bool
	programs int
	memory   int // size of the guest's memory
	grown    int // what of it the snapshot does not have
	pages    []sessionPage
	names    []Name // nil until Names makes the list
	charged  int64
	spare    []sessionPage // for reuse by compare
	guest    *guest        // with the memory of the last program; nil if another one has to get it
	held     int64         // what the guest has of the owner's memory while no program runs
}

// A sessionPage is a page that differs from the snapshot's.
type sessionPage struct {
	at      int
	bytes   *[hostPage]byte
	settled bool // in the session's guest, which has not written to it since
	written bool // it has, after it was settled once
}

// Errors of a [Session].
var (
	ErrSessionBusy   = errors.New("sandbox: a program of this session is running: wait until it has ended")
	ErrSessionClosed = errors.New("sandbox: the session is closed")
)

// sessionCost is the charge for a session besides its pages, in bytes.
const sessionCost = 4 << 10

// NewSession makes a session in which nothing is declared. Its memory, and that of its programs, is the owner's: see
// [Options.Memory].
func (e *Engine) NewSession(owner string) (*Session, error) {
	if err := e.begin(); err != nil {
		return nil, err
	}
	defer e.runs.Done()
	s := &Session{engine: e, owner: fair.In(e.tenant, owner), memory: e.snapshot.Size}
	if err := s.charge(sessionCost); err != nil {
		return nil, err
	}
	return s, nil
}

// take makes the session busy.
func (s *Session) take() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrSessionClosed
	case s.busy:
		return ErrSessionBusy
	}
	s.busy = true
	return nil
}

// ended is called when a program has ended, in any way, and its guest is gone. A parked one goes on in
// [Session.Resume].
func (s *Session) ended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
	if s.closed {
		s.engine.warm.remove(s)
		s.putGuest()
		s.uncharge()
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

// load puts the session's memory into a fresh guest, between its enter and leave.
func (s *Session) load(g *guest) error {
	if g == s.guest {
		return nil
	}
	if more := (s.memory - g.mem.Size) / wasmPage; more > 0 {
		if _, ok := g.module.Memory().Grow(uint32(more)); !ok {
			return errNoRoom
		}
	}
	for i, p := range s.pages {
		copy(g.mem.Bytes[p.at:], p.bytes[:])
		s.pages[i].settled, s.pages[i].written = false, false
	}
	return nil
}

// Keeps reports whether a program of a session that ended with err is part of it.
func Keeps(err error) bool {
	var e *Error
	return err == nil || errors.As(err, &e) && e.Kind == Threw && !e.Stopped
}

// end makes the state after rest the session's.
func (s *Session) end(r *Run, g *guest) (*Result, error) {
	if !Keeps(r.err) {
		return r.result, r.err
	}
	if err := s.keep(g); err != nil {
		return r.result, err
	}
	return r.result, r.err
}

// keep takes over the memory of a guest. Without room for it, the session stays as it is.
func (s *Session) keep(g *guest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	pages := s.compare(g)
	if err := s.charge(int64(sessionCost + len(pages)*hostPage)); err != nil {
		return err
	}
	var still []int // the pages that the guest has as its own, and has not changed
	own := 0
	for i, p := range pages {
		if p.settled {
			continue
		}
		own++
		now := g.mem.Bytes[p.at : p.at+hostPage]
		switch {
		case p.bytes == nil:
			pages[i].bytes = (*[hostPage]byte)(slices.Clone(now))
		case bytes.Equal(p.bytes[:], now):
			if !p.written {
				still = append(still, i)
			}
		default:
			copy(p.bytes[:], now)
		}
	}
	warm := g == s.guest // it had an earlier program: a session put away after each one would settle in vain
	if warm && len(still) >= leastSettled && len(still) >= own/4 {
		settle(s.engine.snapshot, g, pages, still)
	}
	s.spare, s.pages, s.memory, s.names = s.pages[:0], pages, g.mem.Size, nil
	s.grown = s.memory - s.engine.snapshot.Size
	s.programs++
	return nil
}

// leastSettled is how many pages a session settles at once, which costs some system calls.
const leastSettled = 8

// settle settles the pages of the indices.
func settle(base *snapshot, g *guest, pages []sessionPage, still []int) {
	at := make([]int, len(still))
	for k, i := range still {
		at[k] = pages[i].at
	}
	done, err := base.Settle(g.mem, at)
	g.waste = err != nil
	for _, i := range still {
		pages[i].settled = done
	}
}

// compare returns the pages that the session has after a program in g. The bytes of new ones are nil, and those of the
// others may be old.
func (s *Session) compare(g *guest) []sessionPage {
	base, old := s.engine.snapshot, s.pages
	pages := s.spare[:0]
	base.Changed(g.mem, func(at, end int) {
		for at = max(at, base.From); at < end; at += hostPage { // before it is the stack, which is empty
			for len(old) > 0 && old[0].at < at {
				if old[0].settled {
					pages = append(pages, old[0])
				}
				old = old[1:] // else the guest has given it up, because it is as in the snapshot
			}
			switch {
			case len(old) > 0 && old[0].at == at:
				pages = append(pages, sessionPage{at: at, bytes: old[0].bytes, written: old[0].settled || old[0].written})
				old = old[1:]
			case base.Differs(g.mem.Bytes, at):
				pages = append(pages, sessionPage{at: at})
			}
		}
	})
	for _, p := range old {
		if p.settled {
			pages = append(pages, p)
		}
	}
	return pages
}

// charge makes n the memory that the session has of its owner's. The caller holds s.mu, or alone has s.
func (s *Session) charge(n int64) error {
	e, more := s.engine, n-s.charged
	if more > 0 {
		err := e.reserve(s.owner, more)
		for err != nil && e.makeRoom != nil && e.makeRoom(fair.Out(e.tenant, s.owner)) {
			err = e.reserve(s.owner, more)
		}
		if err != nil {
			return &Error{Kind: OutOfMemory, Err: err, Message: fmt.Sprintf(
				"there is no room to keep the session, which needs %d KiB: %v", n>>10, err)}
		}
	} else if more < 0 {
		e.sessions.Release(s.owner, -more)
		e.memory.Release(s.owner, -more)
	}
	s.charged = n
	return nil
}

// reserve gets n bytes for a session between its programs.
func (e *Engine) reserve(owner string, n int64) error {
	err := e.sessions.Try(owner, n)
	if err == nil {
		if err = e.memory.Try(owner, n); err != nil {
			e.sessions.Release(owner, n)
		}
	}
	return err
}

func (s *Session) uncharge() {
	s.engine.sessions.Release(s.owner, s.charged)
	s.engine.memory.Release(s.owner, s.charged)
	s.charged, s.pages, s.spare, s.names = 0, nil, nil, nil
}

// Close frees the session's memory, once its program has ended. Callers may call it more than once.
func (s *Session) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	if !s.busy {
		s.engine.warm.remove(s)
		s.putGuest()
		s.uncharge()
	}
}

// Size is the memory in bytes that the session has of its owner's share while no program runs.
func (s *Session) Size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.charged + s.held
}

// SessionMemory is how many bytes the sessions of the engine have between their programs, without guests, and how many
// they may have. If a session grows beyond that, its program ends as [OutOfMemory]: put others away first, those that
// were not used for long.
func (e *Engine) SessionMemory() (used, total int64) { return e.sessions.Used(), e.sessions.Total() }

// Programs is how many programs have made the session what it is. Those that it forgot do not count.
func (s *Session) Programs() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.programs
}

// A Name is something that the next program of a session can use besides what every program can.
type Name struct {
	Name string `json:"name"`
	// Kind is const, let (which class declares too), var (which function declares too) or global: a property that a
	// program gave globalThis.
	Kind string `json:"kind"`
	// Type is what typeof gives, or class for a class, or null.
	Type string `json:"type"`
	// Class is the name of an object's class, if reading it runs no code of the program.
	Class string `json:"class,omitempty"`
}
