package inforce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/store"
)

// A Session is a session that a person made for a role. The person or program that starts the server or connects to it
// receives its id, which counts in every process that shares the store.
type Session struct {
	ID      string    `json:"id,omitempty"`
	Role    string    `json:"role"`
	Expires time.Time `json:"expires"`
}

// Fingerprint is the form of a caller's token in overlays and in the record.
func Fingerprint(token string) string { return config.Fingerprint(token) }

// A sessionStore keeps the sessions that people made for roles: in the store, which other processes share, or, without
// one, in memory. It stores fingerprints of the ids, which are secrets.
type sessionStore struct {
	Store func(context.Context) (*store.DB, error) // nil without a store

	mu   sync.Mutex
	made map[string]Session // by fingerprint
}

// SessionsMade lists the sessions for roles in a store, which nobody can enter by what it returns: the ID of each is a
// fingerprint.
func SessionsMade(ctx context.Context, db *store.DB) ([]Session, error) {
	rows, err := db.Overlays.Of(ctx, "")
	var all []Session
	for _, row := range rows {
		var made Session
		if json.Unmarshal(row.Body, &made) == nil && row.ID == row.Holder && made.Role != "" {
			made.ID, made.Expires = row.ID, row.Expires
			all = append(all, made)
		}
	}
	return all, err
}

// EndSessionMade ends a session of [SessionsMade], by the beginning of its ID.
func EndSessionMade(ctx context.Context, db *store.DB, id string) (Session, error) {
	all, err := SessionsMade(ctx, db)
	if err != nil {
		return Session{}, err
	}
	var found []Session
	for _, s := range all {
		if id != "" && strings.HasPrefix(strings.TrimPrefix(s.ID, "sha256:"), strings.TrimPrefix(id, "sha256:")) {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		return Session{}, fmt.Errorf("%d sessions for roles have an id that begins with %.80q", len(found), id)
	}
	return found[0], db.Overlays.Put(ctx, &store.Overlay{ID: found[0].ID})
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
	if err := db.Overlays.Put(ctx, &store.Overlay{ID: key, Holder: key, Body: body, Expires: made.Expires}); err != nil {
		return fmt.Errorf("keeping the session: %w", err)
	}
	return nil
}

// drop ends the session with that fingerprint.
func (s *sessionStore) drop(ctx context.Context, key string) error {
	if s.Store == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.made, key)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sessionWait)
	defer cancel()
	db, err := s.Store(ctx)
	if err == nil {
		err = db.Overlays.Put(ctx, &store.Overlay{ID: key})
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
		rows, err = db.Overlays.Of(ctx, key)
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

// sessionPrefix begins the ids of sessions that people make, and no others.
const sessionPrefix = "cms_"

// IsMadeSession reports whether an id has the form of ids from [Rules.NewSession].
func IsMadeSession(id string) bool { return strings.HasPrefix(id, sessionPrefix) }

// ErrSessionOver is the error of a run in a session that has ended, or that nobody made.
var ErrSessionOver = errors.New("this session is over, or was never made for a codemode with this store: ask the person who made it for a new one")
