package store

import (
	"context"
	"time"
)

// Clean removes approvals, grants, parked runs, overlays and outcomes that expired more than keep ago, and expired keys,
// results, sessions and windows of budgets. It returns the number of removed rows by table. It never touches the record; the caller records the
// removal.
func (d *DB) Clean(ctx context.Context, keep time.Duration) (removed map[string]int64, err error) {
	removed = map[string]int64{}
	for _, table := range []string{Approvals, grantsTable, Parked, overlaysTable, Outcomes, keysTable,
		resultsTable, chunksTable, budgetsTable} {
		end := d.now() - keep.Microseconds()
		if table == keysTable || table == resultsTable || table == chunksTable ||
			table == budgetsTable {
			end = d.now()
		}
		n, err := d.exec(ctx, `DELETE FROM `+table+` WHERE expires < $1`, end)
		if err != nil {
			return removed, err
		}
		if removed[table] = n; n > 0 {
			d.changed(table)
		}
	}
	if removed[sessionsTable], err = d.cleanSessions(ctx); err != nil {
		return removed, err
	}
	return removed, d.cleanSeats(ctx)
}
