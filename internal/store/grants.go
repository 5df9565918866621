package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"
)

// A Grant is a remembered approval. It always has an end.
type Grant struct {
	ID        string
	Principal string
	Profile   string
	Run       string // "" when it outlives the run
	Key       string // digest of what it covers
	Body      json.RawMessage
	Created   time.Time
	Expires   time.Time
	UsesLeft  *int64 // nil: unlimited
	Revoked   bool
}

// Give stores a grant.
func (d GrantTable) Give(ctx context.Context, g *Grant) error {
	defer d.db.changed(grantsTable)
	var uses any
	if g.UsesLeft != nil {
		uses = *g.UsesLeft
	}
	_, err := d.db.exec(ctx, `INSERT INTO grants (id, principal, profile, run, key, body, created, expires, uses_left)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		g.ID, g.Principal, g.Profile, g.Run, g.Key, string(g.Body), d.db.now(), g.Expires.UnixMicro(), uses)
	return err
}

// Spend uses a grant once. [ErrTaken] says that it is used up, expired, revoked or unknown.
func (d GrantTable) Spend(ctx context.Context, id string) error {
	defer d.db.changed(grantsTable)
	return d.db.once(ctx, `UPDATE grants SET uses_left = uses_left - 1 WHERE id = $1 AND revoked_at IS NULL AND expires > $2
		AND (uses_left IS NULL OR uses_left > 0)`, id, d.db.now())
}

// Revoke ends a grant for the next call. [ErrTaken] says that it is already revoked or unknown.
func (d GrantTable) Revoke(ctx context.Context, id string) error {
	defer d.db.changed(grantsTable)
	return d.db.once(ctx, `UPDATE grants SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL`, d.db.now(), id)
}

// Of lists the usable grants that cover key, those that end last first. With the key "" it lists all grants that
// have not expired, oldest first; of one principal, or of all with "".
func (d GrantTable) Of(ctx context.Context, principal, key string) ([]*Grant, error) {
	if key == "" {
		return d.grants(ctx, `expires > $1 AND ($2 = '' OR principal = $2) ORDER BY created, id`, d.db.now(), principal)
	}
	return d.grants(ctx, `($3 = '' OR principal = $3) AND key = $1 AND revoked_at IS NULL AND expires > $2 AND (uses_left IS NULL OR uses_left > 0) ORDER BY expires DESC, id`, key, d.db.now(), principal)
}

func (d GrantTable) grants(ctx context.Context, where string, args ...any) ([]*Grant, error) {
	var all []*Grant
	err := d.db.each(ctx, func(scan func(...any) error) error {
		var g Grant
		var body string
		var created, expires int64
		var uses, revoked sql.NullInt64
		if err := scan(&g.ID, &g.Principal, &g.Profile, &g.Run, &g.Key, &body, &created, &expires, &uses,
			&revoked); err != nil {
			return err
		}
		g.Body, g.Created, g.Expires, g.Revoked = json.RawMessage(body), fromMicro(created), fromMicro(expires), revoked.Valid
		if uses.Valid {
			g.UsesLeft = &uses.Int64
		}
		all = append(all, &g)
		return nil
	}, `SELECT id, principal, profile, run, key, body, created, expires, uses_left, revoked_at FROM grants WHERE `+where,
		args...)
	return all, err
}
