package store

import (
	"context"
	"database/sql"
)

// A Key is the idempotency key of a request, with the run that the request began. It is kept while the run goes on,
// and expires with the run's [Outcome].
type Key struct {
	ID      string // digest of whose key it is, and of the key
	Request string // digest of the request
	Run     string
}

// Enroll keeps the key of a run that is about to begin in this process, and the run, as one that goes on here: when
// the process dies, the run is one of [DB.Orphans]. All of it happens or nothing. [ErrTaken] says that the key names
// another run, or the run has one. Claim, Phase and Round of the run are set as they are now. Without p the run is
// under way already, and the key alone is kept.
func (d *DB) Enroll(ctx context.Context, k *Key, p *ParkedRun) error {
	if p == nil {
		return d.transact(ctx, answerWait, func(ctx context.Context, tx *sql.Tx) error { return d.bind(ctx, tx, k) })
	}
	defer d.changed(Parked)
	claim, lost, err := d.claims.hold(p.Holder)
	if err != nil {
		return err
	}
	state := d.seal.closeText(p.State, Parked, p.Run, "state")
	err = d.transact(ctx, answerWait, func(ctx context.Context, tx *sql.Tx) error {
		if err := d.bind(ctx, tx, k); err != nil {
			return err
		}
		return onceIn(ctx, tx, `INSERT INTO parked
			(run, principal, profile, guest, state, image, created, expires, claim, phase)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`,
			p.Run, p.Principal, p.Profile, p.Guest, state, []byte{}, d.now(), p.Expires.UnixMicro(), claim, Going)
	})
	if err != nil {
		d.claims.drop(claim)
		return err
	}
	d.claims.settle(claim, true)
	p.Claim, p.Phase, p.Round, p.Lost = claim, Going, 1, lost
	return nil
}

func (d *DB) bind(ctx context.Context, tx *sql.Tx, k *Key) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM keys WHERE key = $1 AND expires <= $2`, k.ID, d.now()); err != nil {
		return err
	}
	return onceIn(ctx, tx, `INSERT INTO keys (key, request, run) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
		k.ID, k.Request, k.Run)
}

// Keyed gives the request and the run of a key. [ErrNotFound] says that there was no request with it, or that it has
// expired.
func (d *DB) Keyed(ctx context.Context, id string) (*Key, error) {
	k := &Key{}
	err := d.each(ctx, func(scan func(...any) error) error { return scan(&k.ID, &k.Request, &k.Run) },
		`SELECT key, request, run FROM keys WHERE key = $1 AND (expires IS NULL OR expires > $2)`, id, d.now())
	if err == nil && k.ID == "" {
		err = ErrNotFound
	}
	return k, err
}
