package inforce

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/visible"
)

// SessionLives are the allowed lifetimes of a session.
var sessionLives = []time.Duration{10 * time.Minute, time.Hour, 24 * time.Hour}

// NewSession makes a session for a role, for 10 minutes, an hour or a day. Its id is a secret of the people it is made
// for.
func (r *Rules) NewSession(ctx context.Context, role string, life time.Duration) (Session, error) {
	if role == "" || len(role) > maxRole {
		return Session{}, fmt.Errorf("a role has 1 to %d bytes", maxRole)
	}
	if err := r.checkRole(role); err != nil {
		return Session{}, err
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

// checkRole returns an error if no overlay names a role: a session for it would restrict nothing. Where nothing is
// configured, nothing is allowed anyway.
func (r *Rules) checkRole(role string) error {
	cfg := r.Config()
	if cfg == nil {
		return nil
	}
	roles := cfg.Roles()
	near := visible.Nearest(role, roles)
	switch {
	case slices.Contains(roles, role):
		return nil
	case len(roles) == 0:
		return fmt.Errorf("no overlay names a role, so a session for the role %.80q would restrict nothing; write an overlay "+
			`with "role" first`, role)
	case near != "":
		return fmt.Errorf("no overlay names the role %.80q, so a session for it would restrict nothing; did you mean %q? "+
			"There are %s", role, near, strings.Join(roles, ", "))
	}
	return fmt.Errorf("no overlay names the role %.80q, so a session for it would restrict nothing; there are %s", role,
		strings.Join(roles, ", "))
}

// Restricts says in a sentence what a session for a role can do.
func (r *Rules) Restricts(role string) string {
	var names []string
	if cfg := r.Config(); cfg != nil {
		for _, o := range cfg.Overlays() {
			if o.Role == role {
				names = append(names, o.ID)
			}
		}
	}
	if len(names) == 0 {
		return "It restricts nothing."
	}
	return "Programs in it may do what their profile allows, as far as these overlays allow it too: " +
		strings.Join(names, ", ") + "."
}

// Made lists the sessions for roles that have not ended. The ID of each is a fingerprint, with which nobody enters it.
func (r *Rules) Made(ctx context.Context) (all []Session, err error) {
	s := &r.Sessions
	if s.Store != nil {
		db, err := s.Store(ctx)
		if err != nil {
			return nil, err
		}
		all, err = SessionsMade(ctx, db)
		if err != nil {
			return nil, err
		}
	} else {
		s.mu.Lock()
		for key, made := range s.made {
			made.ID = key
			all = append(all, made)
		}
		s.mu.Unlock()
	}
	now := r.time()
	all = slices.DeleteFunc(all, func(one Session) bool { return !now.Before(one.Expires) })
	slices.SortFunc(all, func(a, b Session) int { return cmp.Or(a.Expires.Compare(b.Expires), cmp.Compare(a.ID, b.ID)) })
	return all, nil
}

// EndMade ends a session that [Rules.Made] lists, by its whole ID. No program runs in it any more.
func (r *Rules) EndMade(ctx context.Context, id string) (Session, error) {
	all, err := r.Made(ctx)
	if err != nil {
		return Session{}, err
	}
	at := slices.IndexFunc(all, func(s Session) bool { return s.ID == id })
	if at < 0 {
		return Session{}, errors.New("there is no such session for a role: it has ended")
	}
	return all[at], r.Sessions.drop(ctx, id)
}

// EndSession ends a session early; no program runs in it any more.
func (r *Rules) EndSession(ctx context.Context, id string) error {
	return r.Sessions.drop(ctx, Fingerprint(id))
}

// Session finds a session for a role, made by this process or by another one that shares the store. The error is
// [ErrSessionOver] if there is none, or if it has ended.
func (r *Rules) Session(ctx context.Context, id string) (Session, error) {
	s, err := r.Sessions.get(ctx, id)
	if err == nil && !r.time().Before(s.Expires) {
		err = ErrSessionOver
	}
	if err == nil {
		err = r.checkRole(s.Role) // its overlay may have gone since
	}
	if err != nil {
		return Session{}, err
	}
	return s, nil
}

// maxRole is longer than any role needs.
const maxRole = 64

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
