package store

import (
	"context"
	"time"
)

// Cleaned counts what [DB.Clean] removed.
type Cleaned struct {
	Approvals, Grants, Parked, Overlays, Outcomes, Keys int64
}

// Any reports whether anything was removed.
func (c Cleaned) Any() bool { return c != Cleaned{} }

// Clean removes approvals, grants, parked runs, overlays and outcomes whose end came more than keep ago, and keys that
// have expired. The record is never cleaned; what was removed belongs into it, which is the caller's part.
func (d *DB) Clean(ctx context.Context, keep time.Duration) (c Cleaned, err error) {
	before := d.now() - keep.Microseconds()
	for _, t := range []struct {
		table Table
		query string
		n     *int64
	}{
		{Approvals, `DELETE FROM approvals WHERE expires < $1`, &c.Approvals},
		{Grants, `DELETE FROM grants WHERE expires < $1`, &c.Grants},
		{Parked, `DELETE FROM parked WHERE expires < $1`, &c.Parked},
		{Overlays, `DELETE FROM overlays WHERE expires < $1`, &c.Overlays},
		{Outcomes, `DELETE FROM outcomes WHERE expires < $1`, &c.Outcomes},
		{Keys, `DELETE FROM keys WHERE expires < $1`, &c.Keys},
	} {
		end := before
		if t.table == Keys {
			end = d.now()
		}
		if *t.n, err = d.exec(ctx, t.query, end); err != nil {
			return c, err
		}
		if *t.n > 0 {
			d.changed(t.table)
		}
	}
	return c, d.cleanSeats(ctx)
}
