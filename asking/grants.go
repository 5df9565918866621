package asking

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
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/store"
)

// Grants keeps what people have allowed for more than one call: in the database where there is one, so that all of it is listed
// and revoked from anywhere, else in memory. A grant for a time counts in every process that shares the database, one for a run
// wherever the run goes on, and one for a session in the process that it was given in.
type Grants struct {
	Memory approvals.GrantStore
	Stored func(ctx context.Context) (*store.DB, error) // nil without a database

	mu       sync.Mutex
	Runs     map[string]bool // that something was granted for here
	Sessions map[string]bool // grants for a session that were given here, by their IDs
}

func (g *Grants) Give(ctx context.Context, grant *prompt.Grant) error {
	if g.Stored == nil {
		return g.Memory.Give(ctx, grant)
	}
	db, err := g.Stored(ctx)
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
		g.Runs[grant.Run] = true
	case grant.Scope == call.ForSession:
		g.Sessions[grant.ID] = true
	}
	return nil
}

// EndRun takes back what was granted for a run. elsewhere says that some of it may have been given in another process.
func (g *Grants) EndRun(ctx context.Context, run string, elsewhere bool) error {
	if g.Stored == nil {
		return approvals.EndRun(ctx, g.Memory, run)
	}
	g.mu.Lock()
	given := g.Runs[run]
	delete(g.Runs, run)
	g.mu.Unlock()
	if !given && !elsewhere {
		return nil
	}
	db, err := g.Stored(ctx)
	if err != nil {
		return err
	}
	return approvals.EndRun(ctx, GrantsIn(db), run)
}

// EndSessions takes back what was granted for sessions of this process.
func (g *Grants) EndSessions(ctx context.Context) error {
	g.mu.Lock()
	ids := slices.Sorted(maps.Keys(g.Sessions))
	clear(g.Sessions)
	g.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	db, err := g.Stored(ctx)
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

func (g *Grants) Spend(ctx context.Context, id string) error {
	return g.either(ctx, func(k approvals.GrantStore) error { return k.Spend(ctx, id) })
}

func (g *Grants) Revoke(ctx context.Context, id string) error {
	return g.either(ctx, func(k approvals.GrantStore) error { return k.Revoke(ctx, id) })
}

// either does something with a grant where it is.
func (g *Grants) either(ctx context.Context, do func(approvals.GrantStore) error) error {
	err := do(g.Memory)
	if g.Stored == nil || !errors.Is(err, approvals.ErrTaken) {
		return err
	}
	db, err := g.Stored(ctx)
	if err != nil {
		return err
	}
	return do(GrantsIn(db))
}

func (g *Grants) For(ctx context.Context, key string) ([]*prompt.Grant, error) {
	all, err := g.both(ctx, func(k approvals.GrantStore) ([]*prompt.Grant, error) { return k.For(ctx, key) })
	if g.Stored == nil {
		return all, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.DeleteFunc(all, func(x *prompt.Grant) bool {
		return x.Scope == call.ForSession && !g.Sessions[x.ID]
	}), err
}

func (g *Grants) All(ctx context.Context, principal string) ([]*prompt.Grant, error) {
	return g.both(ctx, func(k approvals.GrantStore) ([]*prompt.Grant, error) { return k.All(ctx, principal) })
}

func (g *Grants) both(ctx context.Context, list func(approvals.GrantStore) ([]*prompt.Grant, error)) ([]*prompt.Grant, error) {
	all, err := list(g.Memory)
	if g.Stored == nil || err != nil {
		return all, err
	}
	db, err := g.Stored(ctx)
	if err != nil {
		return all, err
	}
	more, err := list(GrantsIn(db))
	return append(more, all...), err
}

// StoredGrants keeps grants in a database.
func GrantsIn(db *store.DB) approvals.GrantStore { return storedGrants{db} }

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
