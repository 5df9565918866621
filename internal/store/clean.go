package store

import (
	"context"
	"time"
)

// windowsKept is how long after its end a window of a budget is removed: to a process whose clock is ahead, one is over
// in which others still count.
const windowsKept = 24 * time.Hour

// Clean removes approvals, grants, parked runs, overlays and outcomes that expired more than keep ago, windows of
// budgets that ended a day ago, and expired keys, results and sessions. It returns the number of removed rows by table.
// It never touches the record (see [EntryTable.Prune]); the caller records the removal.
func (d *DB) Clean(ctx context.Context, keep time.Duration) (removed map[string]int64, err error) {
	removed = map[string]int64{}
	for _, table := range []string{Approvals, grantsTable, Parked, overlaysTable, Outcomes, keysTable,
		resultsTable, chunksTable, budgetsTable} {
		end := d.now()
		switch table {
		case keysTable, resultsTable, chunksTable:
		case budgetsTable:
			end -= windowsKept.Microseconds()
		default:
			end -= keep.Microseconds()
		}
		n, err := d.exec(ctx, `DELETE FROM `+table+` WHERE expires < $1`, end)
		if err != nil {
			return removed, err
		}
		if removed[table] = n; n > 0 {
			d.changed(table)
		}
	}
	if removed[sessionsTable], err = d.Sessions.cleanSessions(ctx); err != nil {
		return removed, err
	}
	return removed, d.Seats.cleanSeats(ctx)
}
