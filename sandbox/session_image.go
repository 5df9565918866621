package sandbox

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/codemode-project/codemode/internal/fair"
)

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
