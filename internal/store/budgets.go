package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"
)

const budgetsTable = "budgets"

// A Window is a part of a budget: what one caller, for example, uses of it between two moments.
type Window struct {
	Name string // of the budget, and of who uses it
	// Began and Ends bound it. The windows of one Name do not overlap.
	Began, Ends time.Time
	Most        int64
}

// Charge adds an amount, which is positive, to what is used of each window, or, if one has no room for its amount, to
// none. The index is that of a window without room, else -1. The windows have different names.
func (d BudgetTable) Charge(ctx context.Context, amounts []int64, windows []Window) (full int, err error) {
	order := make([]int, len(windows)) // the same in every process, so that none waits for another one that waits for it
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(windows[a].Name, windows[b].Name) })
	full = -1
	err = d.db.transact(ctx, parkWait, func(ctx context.Context, tx *sql.Tx) error {
		for _, i := range order {
			w, n := &windows[i], amounts[i]
			full = i
			if n > w.Most {
				return ErrTaken
			}
			// A clock that is behind counts in the latest window.
			err := onceIn(ctx, tx, `INSERT INTO budgets AS b (name, began, used, expires) VALUES ($1, $2, $3, $4)
				ON CONFLICT (name) DO UPDATE SET
					used = CASE WHEN b.began >= excluded.began THEN b.used ELSE 0 END + excluded.used,
					began = CASE WHEN b.began >= excluded.began THEN b.began ELSE excluded.began END,
					expires = CASE WHEN b.began >= excluded.began THEN b.expires ELSE excluded.expires END
				WHERE CASE WHEN b.began >= excluded.began THEN b.used ELSE 0 END <= $5 - excluded.used`,
				w.Name, w.Began.UnixMicro(), n, w.Ends.UnixMicro(), w.Most)
			if err != nil {
				return err
			}
		}
		full = -1
		return nil
	})
	switch {
	case err == nil:
		return -1, nil
	case errors.Is(err, ErrTaken) && full >= 0:
		return full, nil
	}
	return -1, err
}
