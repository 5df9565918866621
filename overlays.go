package codemode

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/codemode-project/codemode/internal/replace"
	"github.com/codemode-project/codemode/profiles"
)

// SetOverlays replaces the overlays that come from people's tools, such as an
// admin page, by those of data: a configuration file of nothing but overlays,
// {"evaluation": {"overlays": [...]}}. They hold beside those of the
// configuration, from the next call of every run on. The error of data that
// must not be used is [profiles.Problems], and then nothing has changed. They
// are written to Options.Files.Overlays, or, if that names no file, forgotten with the process.
func (e *Evaluator) SetOverlays(data []byte) error {
	e.configuring.Lock()
	defer e.configuring.Unlock()
	err := e.setOverlays(data)
	if err == nil {
		e.publish()
	}
	return err
}

func (e *Evaluator) setOverlays(data []byte) error {
	files := e.files()
	if files.Overlays == "" {
		before := e.overlays
		e.overlays = data
		err := e.apply(e.base)
		if err != nil {
			e.overlays = before
		}
		return err
	}
	others := files
	others.Overlays = ""
	cfg := e.options.Config
	if !others.None() {
		var err error
		if cfg, err = others.Load(); err != nil {
			return fmt.Errorf("the overlays cannot be checked against a configuration that is broken: %w", err)
		}
	}
	if cfg != nil {
		if _, err := cfg.With(profiles.Source{File: files.Overlays, Data: data, Standing: profiles.Narrowing}); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(files.Overlays), 0o700); err != nil {
		return fmt.Errorf("keeping the overlays: %w", err)
	}
	if err := replace.File(files.Overlays, data, 0o600); err != nil {
		return fmt.Errorf("keeping the overlays: %w", err)
	}
	cfg, err := files.Load() // the watcher would come to it too, a little later
	if err != nil {
		return err
	}
	return e.apply(cfg)
}

// narrowed is the configuration with overlays that are in no file.
func (e *Evaluator) narrowed(cfg *profiles.Config) (*profiles.Config, error) {
	if cfg == nil || len(e.overlays) == 0 {
		return cfg, nil
	}
	return cfg.With(profiles.Source{File: "overlays", Data: e.overlays, Standing: profiles.Narrowing})
}

// Overlays lists the overlays of the configuration and of people's tools, most
// specific first, also those whose time is over.
func (e *Evaluator) Overlays() []profiles.Overlay {
	if cfg := e.config.Load(); cfg != nil {
		return cfg.Overlays()
	}
	return nil
}

// Fingerprint is how a caller's token stands in overlays and in the record.
func Fingerprint(token string) string { return profiles.Fingerprint(token) }

// sessions are those that people made for roles.
type sessions struct {
	mu   sync.Mutex
	made map[string]Session
}

// A Session is one that a person made, so that what runs in it is known by its
// role. Its id is handed to whoever starts the server or connects to it.
type Session struct {
	ID      string    `json:"id"`
	Role    string    `json:"role"`
	Expires time.Time `json:"expires"`
}

// sessionPrefix begins the ids of sessions that people make, and no others.
const sessionPrefix = "cms_"

// SessionLives are how long a session may be made for.
var sessionLives = []time.Duration{10 * time.Minute, time.Hour, 24 * time.Hour}

// NewSession makes a session for a role, for 10 minutes, an hour or a day.
// Its id is a secret of those it is made for.
func (e *Evaluator) NewSession(role string, life time.Duration) (Session, error) {
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
	now := e.clock.At(time.Now())
	s := Session{ID: sessionPrefix + rand.Text(), Role: role, Expires: now.Add(life)}
	e.sessions.mu.Lock()
	defer e.sessions.mu.Unlock()
	if e.sessions.made == nil {
		e.sessions.made = map[string]Session{}
	}
	for id, old := range e.sessions.made {
		if !now.Before(old.Expires) {
			delete(e.sessions.made, id)
		}
	}
	e.sessions.made[s.ID] = s
	return s, nil
}

// EndSession ends a session before its time; nothing more is run in it.
func (e *Evaluator) EndSession(id string) {
	e.sessions.mu.Lock()
	defer e.sessions.mu.Unlock()
	delete(e.sessions.made, id)
}

// maxRole is more than a role needs.
const maxRole = 64

// ErrSessionOver is the error of a run in a session that a person made and
// that has ended, or that nobody made.
var ErrSessionOver = errors.New("this session is over or was never made: ask the person who made it for a new one")

// subject is whose run a request is, as overlays see it. What the caller says
// about its role is not part of it.
func (e *Evaluator) subject(r Request) (profiles.Subject, error) {
	s := profiles.Subject{Session: r.Session, Principal: r.Principal, Program: programHash(r.Code), Script: r.Script}
	if !strings.HasPrefix(r.Session, sessionPrefix) {
		return s, nil
	}
	e.sessions.mu.Lock()
	made, ok := e.sessions.made[r.Session]
	e.sessions.mu.Unlock()
	if !ok || !e.clock.At(time.Now()).Before(made.Expires) {
		return s, ErrSessionOver
	}
	s.Role = made.Role
	return s, nil
}
