package inforce

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/store"
)

// Fingerprint is the form of a caller's token in overlays and in the record.
func Fingerprint(token string) string { return config.Fingerprint(token) }

// A Session is a session that a person made for a role. The person or program that starts the server or connects to it
// receives its id, which counts in every process that shares the store.
type Session struct {
	ID      string    `json:"id,omitempty"`
	Role    string    `json:"role"`
	Expires time.Time `json:"expires"`
}

// sessionPrefix begins the ids of sessions that people make, and no others.
const sessionPrefix = "cms_"

// SessionLives are the allowed lifetimes of a session.
var sessionLives = []time.Duration{10 * time.Minute, time.Hour, 24 * time.Hour}

// IsMadeSession reports whether an id has the form of ids from [Rules.NewSession].
func IsMadeSession(id string) bool { return strings.HasPrefix(id, sessionPrefix) }

// NewSession makes a session for a role, for 10 minutes, an hour or a day. Its id is a secret of the people it is made
// for.
func (r *Rules) NewSession(ctx context.Context, role string, life time.Duration) (Session, error) {
	if role == "" || len(role) > maxRole {
		return Session{}, fmt.Errorf("a role has 1 to %d bytes", maxRole)
	}
	ok := false
	for _, l := range sessionLives {
		ok = ok || life == l
	}
	if !ok {
		return Session{}, errors.New("a session is made for 10m, 1h or 24h")
	}
	s := Session{ID: sessionPrefix + rand.Text(), Role: role, Expires: r.time().Add(life)}
	return s, r.Sessions.put(ctx, s)
}

// EndSession ends a session early; no program runs in it any more.
func (r *Rules) EndSession(ctx context.Context, id string) error { return r.Sessions.drop(ctx, id) }

// Session finds a session for a role, made by this process or by another one that shares the store. The error is
// [ErrSessionOver] if there is none, or if it has ended.
func (r *Rules) Session(ctx context.Context, id string) (Session, error) {
	s, err := r.Sessions.get(ctx, id)
	if err == nil && !r.time().Before(s.Expires) {
		err = ErrSessionOver
	}
	if err != nil {
		return Session{}, err
	}
	return s, nil
}

// maxRole is longer than any role needs.
const maxRole = 64

// ErrSessionOver is the error of a run in a session that has ended, or that nobody made.
var ErrSessionOver = errors.New("this session is over, or was never made for a codemode with this store: ask the person who made it for a new one")

// Subject identifies the principal of a request for overlays. The role that the caller claims is not part of it.
func (r *Rules) Subject(ctx context.Context, q *Wish) (config.Subject, error) {
	s := config.Subject{Session: q.Session, Principal: q.Principal, Token: q.Fingerprint, Program: ProgramHash(q.Code),
		Script: q.Script}
	if !IsMadeSession(q.Session) {
		return s, nil
	}
	made, err := r.Session(ctx, q.Session)
	s.Role = made.Role
	return s, err
}

// A sessionStore keeps the sessions that people made for roles: in the store, which other processes share, or, without
// one, in memory. It stores fingerprints of the ids, which are secrets.
type sessionStore struct {
	Store func(context.Context) (*store.DB, error) // nil without a store

	mu   sync.Mutex
	made map[string]Session // by fingerprint
}

// sessionWait bounds how long the store may take: a session that cannot be looked up runs nothing.
const sessionWait = 4 * time.Second

func (s *sessionStore) put(ctx context.Context, made Session) error {
	key := Fingerprint(made.ID)
	made.ID = ""
	if s.Store == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.made == nil {
			s.made = map[string]Session{}
		}
		maps.DeleteFunc(s.made, func(_ string, old Session) bool { return old.Expires.Before(time.Now()) })
		s.made[key] = made
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sessionWait)
	defer cancel()
	db, err := s.Store(ctx)
	if err != nil {
		return fmt.Errorf("keeping the session: %w", err)
	}
	body, err := json.Marshal(made)
	if err != nil {
		return err
	}
	if err := db.PutOverlay(ctx, &store.Overlay{ID: key, Holder: key, Body: body, Expires: made.Expires}); err != nil {
		return fmt.Errorf("keeping the session: %w", err)
	}
	return nil
}

func (s *sessionStore) drop(ctx context.Context, id string) error {
	if s.Store == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.made, Fingerprint(id))
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sessionWait)
	defer cancel()
	db, err := s.Store(ctx)
	if err == nil {
		err = db.PutOverlay(ctx, &store.Overlay{ID: Fingerprint(id)})
	}
	if err != nil {
		return fmt.Errorf("ending the session: %w", err)
	}
	return nil
}

func (s *sessionStore) get(ctx context.Context, id string) (Session, error) {
	key := Fingerprint(id)
	if s.Store == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		made, ok := s.made[key]
		if !ok {
			return Session{}, ErrSessionOver
		}
		made.ID = id
		return made, nil
	}
	ctx, cancel := context.WithTimeout(ctx, sessionWait)
	defer cancel()
	var rows []*store.Overlay
	db, err := s.Store(ctx)
	if err == nil {
		rows, err = db.OverlaysOf(ctx, key)
	}
	if err != nil {
		return Session{}, fmt.Errorf("nothing runs in a session that cannot be looked up: %w", err)
	}
	for _, row := range rows {
		var made Session
		if err := json.Unmarshal(row.Body, &made); err != nil || row.ID != key || made.Role == "" {
			continue // something else
		}
		made.ID, made.Expires = id, row.Expires
		return made, nil
	}
	return Session{}, ErrSessionOver
}
