package report

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
)

// followEvery is how often to read new entries.
const followEvery = 250 * time.Millisecond

// Follow calls f for each entry that matches q and is written from now on, until ctx ends or f fails. Entries of
// several writers come in the order of their times, as far as they arrive together.
func Follow(ctx context.Context, db *store.DB, q store.Query, f func(*audit.Entry) error) error {
	ends, err := db.Entries.Ends(ctx)
	if err != nil {
		return err
	}
	seen := map[int64]int64{}
	for _, h := range ends {
		seen[h.Chain] = h.Seq
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
		ends, err := db.Entries.Ends(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			continue // the database may come back; the missed entries are read then
		}
		var fresh []*audit.Entry
		for _, h := range ends {
			if h.Seq == seen[h.Chain] {
				continue
			}
			of := q
			of.Chain, of.After, of.Newest, of.Limit = h.Chain, seen[h.Chain], false, 0
			err := audit.Entries(ctx, db, of, func(e *audit.Entry) error {
				if e.Seq <= h.Seq {
					fresh = append(fresh, e)
				}
				return nil
			})
			if err != nil {
				continue
			}
			seen[h.Chain] = h.Seq
		}
		slices.SortStableFunc(fresh, func(a, b *audit.Entry) int {
			return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Chain, b.Chain), cmp.Compare(a.Seq, b.Seq))
		})
		for _, e := range fresh {
			if err := f(e); err != nil {
				return err
			}
		}
	}
}
