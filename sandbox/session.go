package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/codemode-project/codemode/internal/fair"
	"github.com/codemode-project/codemode/internal/memory"
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

// Dropped is what was pending at the end of a program.
type Dropped struct {
	Timers   int // that repeat
	Promises int // for how many unsettled promises something waited; in a session only
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

// awaits checks that a parked run is the next program of the session, or of none if s is nil.
func (s *Session) awaits(h *imageHeader) error {
	switch {
	case s == nil && h.Number == 0, s != nil && h.Owner == s.owner && h.Number == s.programs+1:
		return nil
	case s == nil:
		return fmt.Errorf("%w: it is of a program of a session: Session.Resume continues it", ErrImage)
	case h.Number == 0 || h.Owner != s.owner:
		return fmt.Errorf("%w: it is not of a program of this session", ErrImage)
	}
	return fmt.Errorf("%w: it is of program %d of the session, and program %d is next", ErrImage, h.Number, s.programs+1)
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

// rest ends what is left in its guest of a program of a session that has ended by itself, before the guest's leave. It
// reads the result first.
func (r *Run) rest(g *guest) error {
	if r.session == nil || g.shared.uint32(sharedStatus) == statusWaiting {
		return nil
	}
	r.result, r.err = r.finished(g)
	if !Keeps(r.err) {
		return nil
	}
	if r.mustStop(now(), r.cpu) {
		return errStop
	}
	if err := g.call(doRest); err != nil {
		return err
	}
	r.result.Dropped = Dropped{Timers: int(g.shared.uint32(sharedTimers)), Promises: int(g.shared.uint32(sharedPromises))}
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
func settle(base *memory.Snapshot, g *guest, pages []sessionPage, still []int) {
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
			case base.Differs(g.mem, at):
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

// The form of a session's image is that of a run, with another magic.
var sessionMagic = []byte("codemode sess 1\n")

type sessionHeader struct {
	Guest    string `json:"guest"`
	Owner    string `json:"owner,omitempty"`
	Memory   int    `json:"memory"`
	Programs int    `json:"programs"`
}

// Image returns the session as bytes, for [Engine.Open] in this process or another: as it is after the last program
// that changed it. A program that runs now is not in it. [Options.ParkKey] authenticates it; it is not encrypted.
func (s *Session) Image() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrSessionClosed
	}
	if err := s.engine.begin(); err != nil {
		return nil, err
	}
	defer s.engine.runs.Done()
	h := sessionHeader{Guest: s.engine.hash, Owner: fair.Out(s.engine.tenant, s.owner), Memory: s.memory,
		Programs: s.programs}
	return s.engine.seal(sessionMagic, h, func(yield func(at int, page []byte)) {
		for _, p := range s.pages {
			yield(p.at, p.bytes[:])
		}
	})
}

// Open makes a session of an image: of this engine, or of one with the same guest and the same [Options.ParkKey]. Each
// session that Open makes of an image goes its own way. The error for an image that is damaged, forged, or of another
// guest or owner wraps [ErrImage].
func (e *Engine) Open(owner string, image []byte) (*Session, error) {
	if err := e.begin(); err != nil {
		return nil, err
	}
	defer e.runs.Done()
	h := &sessionHeader{}
	pages, err := e.unseal(sessionMagic, image, h)
	switch {
	case err != nil:
		return nil, err
	case h.Guest != e.hash:
		return nil, fmt.Errorf("%w: it is of guest %s, and this engine has guest %s", ErrImage, h.Guest, e.hash)
	case h.Owner != owner:
		return nil, fmt.Errorf("%w: it is a session of another owner", ErrImage)
	case !e.possible(h.Memory):
		return nil, fmt.Errorf("%w: no guest can have a memory of its size", ErrImage)
	}
	s := &Session{engine: e, owner: fair.In(e.tenant, owner), memory: h.Memory, grown: h.Memory - e.snapshot.Size,
		programs: h.Programs}
	err = e.eachPage(h.Memory, pages, func(at int, page []byte) error {
		if err := s.charge(cmp.Or(s.charged, sessionCost) + hostPage); err != nil {
			return err
		}
		s.pages = append(s.pages, sessionPage{at: at, bytes: (*[hostPage]byte)(slices.Clone(page))})
		return nil
	})
	if err == nil && !slices.IsSortedFunc(s.pages, func(a, b sessionPage) int { return a.at - b.at }) {
		err = fmt.Errorf("%w: its pages are not in order", ErrImage)
	}
	if err != nil {
		s.uncharge()
		return nil, err
	}
	return s, nil
}
