package store

import (
	"context"
	"database/sql"
)

// A Key is the idempotency key of a request, with the run that the request began. It is stored while the run is open,
// and expires with the run's [Outcome].
type Key struct {
	ID      string // digest of its owner and the key
	Request string // digest of the request
	Run     string
}

// Enroll stores, in one transaction, the key of a run that is about to begin in this process, and the run as one that
// is running here: when the process dies, [RunTable.List] has it among the orphans. [ErrTaken] says that the key names
// another run, or the run has another key. Enroll sets Claim, Phase and Round of the run to the stored values. Without
// p the run has already begun, and only the key is stored. Without k the run has no key.
//
// If the run has a session, ErrTaken also says that another run goes on in it, and [ErrNotFound] that the session was
// removed.
func (d KeyTable) Enroll(ctx context.Context, k *Key, p *ParkedRun) error {
	if p == nil {
		return d.db.transact(ctx, answerWait, func(ctx context.Context, tx *sql.Tx) error { return d.bind(ctx, tx, k) })
	}
	defer d.db.changed(Parked)
	claim, lost, err := d.db.claims.hold(p.Holder)
	if err != nil {
		return err
	}
	state := d.db.seal.closeText(p.State, Parked, p.Run, "state")
	err = d.db.transact(ctx, answerWait, func(ctx context.Context, tx *sql.Tx) error {
		if k != nil {
			if err := d.bind(ctx, tx, k); err != nil {
				return err
			}
		}
		if err := d.db.Sessions.enrollIn(ctx, tx, p); err != nil {
			return err
		}
		return onceIn(ctx, tx, `INSERT INTO parked
			(run, principal, profile, guest, state, image, created, expires, claim, phase, session)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING`,
			p.Run, p.Principal, p.Profile, p.Guest, state, []byte{}, d.db.now(), p.Expires.UnixMicro(), claim, Going, p.Session)
	})
	if err != nil {
		d.db.claims.drop(claim)
		return err
	}
	d.db.claims.settle(claim, true)
	p.Claim, p.Phase, p.Round, p.Lost = claim, Going, 1, lost
	return nil
}

func (d KeyTable) bind(ctx context.Context, tx *sql.Tx, k *Key) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM keys WHERE key = $1 AND expires <= $2`, k.ID, d.db.now()); err != nil {
		return err
	}
	return onceIn(ctx, tx, `INSERT INTO keys (key, request, run) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
		k.ID, k.Request, k.Run)
}

// Keyed returns the request and the run of a key. [ErrNotFound] says that no request had the key, or that it has
// expired.
func (d KeyTable) Keyed(ctx context.Context, id string) (*Key, error) {
	k := &Key{}
	err := d.db.each(ctx, func(scan func(...any) error) error { return scan(&k.ID, &k.Request, &k.Run) },
		`SELECT key, request, run FROM keys WHERE key = $1 AND (expires IS NULL OR expires > $2)`, id, d.db.now())
	if err == nil && k.ID == "" {
		err = ErrNotFound
	}
	return k, err
}
