package approvals

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
)

// A GrantStore keeps grants. [ErrTaken] says that a grant is used up, expired, revoked or unknown.
type GrantStore interface {
	Give(ctx context.Context, g *prompt.Grant) error
	// Spend uses a grant once.
	Spend(ctx context.Context, id string) error
	// Revoke ends a grant for the next call.
	Revoke(ctx context.Context, id string) error
	// For lists the grants with that Key that can be used now.
	For(ctx context.Context, key string) ([]*prompt.Grant, error)
	// All lists the grants that can be used now, oldest first; for one principal, or for all with "".
	All(ctx context.Context, principal string) ([]*prompt.Grant, error)
}

// NewGrantStore returns a GrantStore in memory.
func NewGrantStore(now func() time.Time) GrantStore {
	return &memoryGrants{now: now, grants: map[string]*held{}}
}

type memoryGrants struct {
	now func() time.Time

	mu     sync.Mutex
	grants map[string]*held
}

type held struct {
	grant prompt.Grant
	used  int
}

func (k *memoryGrants) Give(_ context.Context, g *prompt.Grant) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.grants[g.ID] != nil {
		return ErrTaken
	}
	k.grants[g.ID] = &held{grant: *g}
	return nil
}

// live returns a usable grant. The caller holds k.mu.
func (k *memoryGrants) live(id string) *held {
	x := k.grants[id]
	if x != nil && (!k.now().Before(x.grant.Expires) || x.grant.Uses > 0 && x.used >= x.grant.Uses) {
		delete(k.grants, id)
		x = nil
	}
	return x
}

func (k *memoryGrants) Spend(_ context.Context, id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	x := k.live(id)
	if x == nil {
		return ErrTaken
	}
	x.used++
	return nil
}

func (k *memoryGrants) Revoke(_ context.Context, id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.live(id) == nil {
		return ErrTaken
	}
	delete(k.grants, id)
	return nil
}

func (k *memoryGrants) list(which func(*prompt.Grant) bool) []*prompt.Grant {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []*prompt.Grant
	for id := range k.grants {
		if x := k.live(id); x != nil && which(&x.grant) {
			g := x.grant
			if g.Uses > 0 {
				g.Uses -= x.used
			}
			all = append(all, &g)
		}
	}
	slices.SortFunc(all, func(a, b *prompt.Grant) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	return all
}

func (k *memoryGrants) For(_ context.Context, key string) ([]*prompt.Grant, error) {
	return k.list(func(g *prompt.Grant) bool { return g.Key() == key }), nil
}

func (k *memoryGrants) All(_ context.Context, principal string) ([]*prompt.Grant, error) {
	return k.list(func(g *prompt.Grant) bool { return principal == "" || g.Principal == principal }), nil
}

// Granted answers the question about r from a grant that people gave before, and uses the grant once. It returns no
// error when there is no grant.
func Granted(ctx context.Context, k GrantStore, r *prompt.Request, now time.Time) (*prompt.Grant, error) {
	if r.Firm || !r.Risk.FormSuffices() {
		return nil, nil
	}
	grants, err := k.For(ctx, r.Key())
	if err != nil {
		return nil, err
	}
	for _, g := range grants {
		if !g.Covers(r, now) {
			continue
		}
		switch err := k.Spend(ctx, g.ID); {
		case err == nil:
			return g, nil
		case !errors.Is(err, ErrTaken): // somebody else used it first; there may be another one
			return nil, err
		}
	}
	return nil, nil
}

// EndRun revokes the grants of a run.
func EndRun(ctx context.Context, k GrantStore, run string) error {
	grants, err := k.All(ctx, "")
	if err != nil {
		return err
	}
	for _, g := range grants {
		if g.Run != run || run == "" {
			continue
		}
		if gone := k.Revoke(ctx, g.ID); gone != nil && !errors.Is(gone, ErrTaken) {
			err = errors.Join(err, gone)
		}
	}
	return err
}
