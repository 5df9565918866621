package asking

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/store"
)

// Grants keeps what people have allowed for more than one call: in the database where there is one, so that any process
// can list and revoke it, else in memory. A grant for a time counts in every process that shares the database, a grant
// for a run in every process that continues the run, and a grant for a session in the process where it was given.
type Grants struct {
	approvals.GrantStore

	mu       sync.Mutex
	runs     map[string]bool // runs that have a grant from this process
	sessions map[string]bool // session grants from this process, by ID
}

// NewGrants returns Grants in memory.
func NewGrants() *Grants {
	return &Grants{GrantStore: approvals.NewGrantStore(time.Now), runs: map[string]bool{}, sessions: map[string]bool{}}
}

// StoreIn makes the Grants use a database. Call it before the first grant is given.
func (g *Grants) StoreIn(db func(context.Context) (*store.DB, error)) {
	g.GrantStore = storedGrants{db}
}

func (g *Grants) Give(ctx context.Context, grant *prompt.Grant) error {
	if err := g.GrantStore.Give(ctx, grant); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case grant.Run != "":
		g.runs[grant.Run] = true
	case grant.Scope == call.ForSession:
		g.sessions[grant.ID] = true
	}
	return nil
}

// EndRun revokes the grants of a run. elsewhere says that another process may have given some of them.
func (g *Grants) EndRun(ctx context.Context, run string, elsewhere bool) error {
	g.mu.Lock()
	given := g.runs[run]
	delete(g.runs, run)
	g.mu.Unlock()
	if !given && !elsewhere {
		return nil
	}
	return approvals.EndRun(ctx, g.GrantStore, run)
}

// EndSessions revokes the grants for sessions of this process.
func (g *Grants) EndSessions(ctx context.Context) (err error) {
	g.mu.Lock()
	ids := slices.Sorted(maps.Keys(g.sessions))
	clear(g.sessions)
	g.mu.Unlock()
	for _, id := range ids {
		if gone := g.Revoke(ctx, id); gone != nil && !errors.Is(gone, approvals.ErrTaken) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

func (g *Grants) For(ctx context.Context, key string) ([]*prompt.Grant, error) {
	all, err := g.GrantStore.For(ctx, key)
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.DeleteFunc(all, func(x *prompt.Grant) bool {
		return x.Scope == call.ForSession && !g.sessions[x.ID]
	}), err
}

// GrantsIn returns a store of grants in a database.
func GrantsIn(db *store.DB) approvals.GrantStore {
	return storedGrants{func(context.Context) (*store.DB, error) { return db, nil }}
}

// storedGrants keeps grants in its database.
type storedGrants struct{ database }

func (s storedGrants) Give(ctx context.Context, g *prompt.Grant) error {
	body, err := json.Marshal(g)
	if err != nil {
		return err
	}
	row := &store.Grant{ID: g.ID, Principal: g.Principal, Profile: g.Profile, Run: g.Run, Key: g.Key(), Body: body,
		Expires: g.Expires}
	if g.Uses > 0 {
		row.UsesLeft = new(int64(g.Uses))
	}
	return s.with(ctx, func(db *store.DB) error { return db.Grants.Give(ctx, row) })
}

func (s storedGrants) Spend(ctx context.Context, id string) error {
	return s.with(ctx, func(db *store.DB) error { return db.Grants.Spend(ctx, id) })
}

func (s storedGrants) Revoke(ctx context.Context, id string) error {
	return s.with(ctx, func(db *store.DB) error { return db.Grants.Revoke(ctx, id) })
}

func (s storedGrants) For(ctx context.Context, key string) (all []*prompt.Grant, err error) {
	err = s.with(ctx, func(db *store.DB) (err error) {
		all, err = readGrants(db.Grants.Of(ctx, "", key))
		return err
	})
	return all, err
}

func (s storedGrants) All(ctx context.Context, principal string) (all []*prompt.Grant, err error) {
	err = s.with(ctx, func(db *store.DB) (err error) {
		all, err = readGrants(db.Grants.Of(ctx, principal, ""))
		return err
	})
	return all, err
}

// readGrants leaves out revoked and used-up grants. A grant that contradicts its row does not count.
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
		if row.Revoked || row.UsesLeft != nil && *row.UsesLeft <= 0 || g.ID != row.ID || g.Key() != row.Key ||
			g.Run != row.Run {
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
