package codemode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/store"
)

// grants keeps what people have allowed for more than one call: in the database where there is one, so that all of it is listed
// and revoked from anywhere, else in memory. A grant for a time counts in every process that shares the database, one for a run
// wherever the run goes on, and one for a session in the process that it was given in.
type grants struct {
	memory approvals.GrantStore
	stored func(ctx context.Context) (*store.DB, error) // nil without a database

	mu       sync.Mutex
	runs     map[string]bool // that something was granted for here
	sessions map[string]bool // grants for a session that were given here, by their IDs
}

func (g *grants) Give(ctx context.Context, grant *prompt.Grant) error {
	if g.stored == nil {
		return g.memory.Give(ctx, grant)
	}
	db, err := g.stored(ctx)
	if err != nil {
		return err
	}
	if err := giveStored(ctx, db, grant); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case grant.Run != "":
		g.runs[grant.Run] = true
	case grant.Scope == prompt.ForSession:
		g.sessions[grant.ID] = true
	}
	return nil
}

// endRun takes back what was granted for a run. elsewhere says that some of it may have been given in another process.
func (g *grants) endRun(ctx context.Context, run string, elsewhere bool) error {
	if g.stored == nil {
		return approvals.EndRun(ctx, g.memory, run)
	}
	g.mu.Lock()
	given := g.runs[run]
	delete(g.runs, run)
	g.mu.Unlock()
	if !given && !elsewhere {
		return nil
	}
	db, err := g.stored(ctx)
	if err != nil {
		return err
	}
	return approvals.EndRun(ctx, StoredGrants(db), run)
}

// endSessions takes back what was granted for sessions of this process.
func (g *grants) endSessions(ctx context.Context) error {
	g.mu.Lock()
	ids := slices.Sorted(maps.Keys(g.sessions))
	clear(g.sessions)
	g.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	db, err := g.stored(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if gone := taken(db.Revoke(ctx, id)); gone != nil && !errors.Is(gone, approvals.ErrTaken) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

func (g *grants) Spend(ctx context.Context, id string) error {
	return g.either(ctx, func(k approvals.GrantStore) error { return k.Spend(ctx, id) })
}

func (g *grants) Revoke(ctx context.Context, id string) error {
	return g.either(ctx, func(k approvals.GrantStore) error { return k.Revoke(ctx, id) })
}

// either does something with a grant where it is.
func (g *grants) either(ctx context.Context, do func(approvals.GrantStore) error) error {
	err := do(g.memory)
	if g.stored == nil || !errors.Is(err, approvals.ErrTaken) {
		return err
	}
	db, err := g.stored(ctx)
	if err != nil {
		return err
	}
	return do(StoredGrants(db))
}

func (g *grants) For(ctx context.Context, key string) ([]*prompt.Grant, error) {
	all, err := g.both(ctx, func(k approvals.GrantStore) ([]*prompt.Grant, error) { return k.For(ctx, key) })
	if g.stored == nil {
		return all, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.DeleteFunc(all, func(x *prompt.Grant) bool {
		return x.Scope == prompt.ForSession && !g.sessions[x.ID]
	}), err
}

func (g *grants) All(ctx context.Context, principal string) ([]*prompt.Grant, error) {
	return g.both(ctx, func(k approvals.GrantStore) ([]*prompt.Grant, error) { return k.All(ctx, principal) })
}

func (g *grants) both(ctx context.Context, list func(approvals.GrantStore) ([]*prompt.Grant, error)) ([]*prompt.Grant, error) {
	all, err := list(g.memory)
	if g.stored == nil || err != nil {
		return all, err
	}
	db, err := g.stored(ctx)
	if err != nil {
		return all, err
	}
	more, err := list(StoredGrants(db))
	return append(more, all...), err
}

// StoredGrants keeps grants in a database.
func StoredGrants(db *store.DB) approvals.GrantStore { return storedGrants{db} }

type storedGrants struct{ db *store.DB }

func (s storedGrants) Give(ctx context.Context, g *prompt.Grant) error {
	return giveStored(ctx, s.db, g)
}

func giveStored(ctx context.Context, db *store.DB, g *prompt.Grant) error {
	body, err := json.Marshal(g)
	if err != nil {
		return err
	}
	row := &store.Grant{ID: g.ID, Principal: g.Principal, Profile: g.Profile, Run: g.Run, Key: g.Key(), Body: body, Expires: g.Expires}
	if g.Uses > 0 {
		row.UsesLeft = new(int64(g.Uses))
	}
	return db.Give(ctx, row)
}

func (s storedGrants) Spend(ctx context.Context, id string) error { return taken(s.db.Spend(ctx, id)) }
func (s storedGrants) Revoke(ctx context.Context, id string) error {
	return taken(s.db.Revoke(ctx, id))
}

func taken(err error) error {
	if errors.Is(err, store.ErrTaken) {
		return approvals.ErrTaken
	}
	return err
}

func (s storedGrants) For(ctx context.Context, key string) ([]*prompt.Grant, error) {
	return readGrants(s.db.GrantsFor(ctx, key))
}

func (s storedGrants) All(ctx context.Context, principal string) ([]*prompt.Grant, error) {
	return readGrants(s.db.AllGrants(ctx, principal))
}

// readGrants leaves out what was revoked or used up. A grant that does not say what its row says counts for nothing.
func readGrants(rows []*store.Grant, err error) ([]*prompt.Grant, error) {
	if err != nil {
		return nil, err
	}
	var all []*prompt.Grant
	for _, row := range rows {
		var g prompt.Grant
		if err := json.Unmarshal(row.Body, &g); err != nil {
			return nil, fmt.Errorf("grant %s cannot be read: %w", row.ID, err)
		}
		if row.Revoked || row.UsesLeft != nil && *row.UsesLeft <= 0 || g.ID != row.ID || g.Key() != row.Key || g.Run != row.Run {
			continue
		}
		if row.UsesLeft != nil {
			g.Uses = int(*row.UsesLeft)
		}
		if row.Expires.Before(g.Expires) {
			g.Expires = row.Expires
		}
		all = append(all, &g)
	}
	return all, nil
}
