package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"
)

// An Outcome is the result of a run, stored for a client that was not connected when it ended.
type Outcome struct {
	Run       string
	Principal string
	State     string
	Body      json.RawMessage
	Created   time.Time
	Expires   time.Time // when nobody needs it any more, see [DB.Clean]

	// Shared says that the limits apply to the outcomes of all principals together, not to this principal: nobody
	// verifies principals.
	Shared bool
}

// Limits on the stored outcomes of one principal: their number, and their total size in bytes. The oldest are removed
// first.
const (
	maxOutcomes     = 1000
	maxOutcomeBytes = 64 << 20
)

// Finish stores the outcome of a run and removes the parked run, both or neither. p is the run as claimed; nil if it
// was never parked, or if it waits and this ends it. [ErrTaken] says that another process has the run, or that it
// already has an outcome.
func (d OutcomeTable) Finish(ctx context.Context, p *ParkedRun, o *Outcome) error {
	defer d.db.changed(Outcomes)
	defer d.db.changed(Parked)
	if p != nil {
		d.db.claims.settle(p.Claim, false)
	}
	err := d.db.transact(ctx, parkWait, func(ctx context.Context, tx *sql.Tx) error {
		if p == nil {
			if err := dropWaiting(ctx, tx, o.Run); err != nil {
				return err
			}
		} else if err := onceIn(ctx, tx, `DELETE FROM parked WHERE run = $1 AND claim = $2 AND phase > 0`, p.Run,
			p.Claim); err != nil {
			return err
		}
		if err := onceIn(ctx, tx, `INSERT INTO outcomes (run, principal, state, body, created, expires) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
			o.Run, o.Principal, o.State, d.db.seal.close(append([]byte{}, o.Body...), Outcomes, o.Run, "body"), d.db.now(),
			o.Expires.UnixMicro()); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `UPDATE keys SET expires = $1 WHERE run = $2`, o.Expires.UnixMicro(), o.Run)
		if err != nil {
			return err
		}
		return makeRoom(ctx, tx, o, d.db.mostOutcomes)
	})
	switch {
	case p == nil:
	case err == nil:
		d.db.claims.drop(p.Claim)
	default:
		d.db.claims.settle(p.Claim, true)
	}
	return err
}

// makeRoom removes the oldest outcomes of a principal that exceeds the limits with a new one. The new one stays.
func makeRoom(ctx context.Context, tx *sql.Tx, o *Outcome, most int) error {
	where, args := `principal = $4`, []any{most, maxOutcomeBytes, o.Run, o.Principal}
	if o.Shared {
		where, args = `TRUE`, args[:3]
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM outcomes WHERE run <> $3 AND run IN (SELECT run FROM (
		SELECT run, row_number() OVER latest AS n, sum(octet_length(body)) OVER latest AS bytes FROM outcomes WHERE `+where+`
		WINDOW latest AS (ORDER BY created DESC, run DESC ROWS UNBOUNDED PRECEDING)) AS kept WHERE n > $1 OR bytes > $2)`, args...)
	return err
}

// dropWaiting removes a run that no process has claimed.
func dropWaiting(ctx context.Context, tx *sql.Tx, run string) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM parked WHERE run = $1 AND phase = 0`, run); err != nil {
		return err
	}
	var n int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM parked WHERE run = $1`, run).Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		return ErrTaken
	}
	return nil
}

// Get returns the outcome of a run of a principal; "" is any. It stays until [DB.Clean] removes it.
func (d OutcomeTable) Get(ctx context.Context, run, principal string) (*Outcome, error) {
	return first(d.outcomes(ctx, `run = $1 AND ($2 = '' OR principal = $2)`, run, principal))
}

func (d OutcomeTable) outcomes(ctx context.Context, where string, args ...any) ([]*Outcome, error) {
	var all []*Outcome
	err := d.db.each(ctx, func(scan func(...any) error) error {
		var o Outcome
		var body []byte
		var created, expires int64
		if err := scan(&o.Run, &o.Principal, &o.State, &body, &created, &expires); err != nil {
			return err
		}
		o.Created, o.Expires = fromMicro(created), fromMicro(expires)
		var err error
		if o.Body, err = d.db.seal.open(body, Outcomes, o.Run, "body"); err != nil {
			d.db.log.Error("cannot read the outcome of a run", "run", o.Run, "error", err)
			return nil
		}
		all = append(all, &o)
		return nil
	}, `SELECT run, principal, state, body, created, expires FROM outcomes WHERE `+where, args...)
	return all, err
}
