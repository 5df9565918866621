package store

import (
	"context"
	"fmt"
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

// pruneAtOnce is how many entries one statement removes, so that writers wait for it only for a moment.
const pruneAtOnce = 500

// Prune removes the entries 2 to through of a chain, and returns how many there were. The first one stays: it may say
// that the record came back from a backup. pruning says why they may go, for whoever verifies the rest; this package
// does not interpret it. The last entry of a chain, and those from the first with an open call on, cannot be removed.
// After an error, Prune with the same arguments goes on.
func (d EntryTable) Prune(ctx context.Context, chain, through int64, pruning string) (removed int64, err error) {
	n, err := d.db.exec(ctx, `UPDATE chains SET pruning = $1, pruned = $2
		WHERE number = $3 AND pruned <= $2 AND seq > $2 AND open_from > $2`, pruning, through, chain)
	if err == nil && n != 1 {
		err = fmt.Errorf("the entries of chain %d to entry %d cannot be removed: calls in them are open, or others are "+
			"removed already", chain, through)
	}
	for n = pruneAtOnce; err == nil && n == pruneAtOnce; removed += n {
		n, err = d.db.exec(ctx, `DELETE FROM entries WHERE chain = $1 AND seq IN (SELECT seq FROM entries
			WHERE chain = $1 AND seq > 1 AND seq <= $2 ORDER BY seq LIMIT $3)`, chain, through, pruneAtOnce)
	}
	if err == nil && !d.db.Fleet() {
		_, err = d.db.exec(ctx, `DELETE FROM run_blocks WHERE chain = $1 AND first > 0 AND first + $2 <= $3`, chain,
			runBlock-1, through)
	}
	return removed, err
}
