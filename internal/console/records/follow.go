package records

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
)

const (
	// lookEvery is how often a stream looks for entries that have come.
	lookEvery = 500 * time.Millisecond
	// batch is how many entries of a chain a stream reads at once. It holds no more in memory.
	batch = 100
)

// Follow gives each entry behind a place once, in the order of its chain, and then those that come, until ctx ends or
// give returns false. give also gets the place behind the entry: who goes on from there misses none and gets none
// twice. It gets nil for the entry from time to time when there is none, at least each idle.
//
// Nothing waits for give: the entries stay in the record until Follow reads them.
func Follow(ctx context.Context, of Record, q store.Query, from Position, idle time.Duration,
	give func(e *audit.Entry, behind Position) bool) error {
	at := maps.Clone(from)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	said := time.Now()
	for {
		more, given, err := step(ctx, of, q, at, give)
		switch {
		case err != nil || !given:
			return err
		case more:
			said = time.Now()
			continue
		case time.Since(said) >= idle:
			if said = time.Now(); !give(nil, at) {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
	}
}

// step gives the next entries of all chains and moves at behind them. more reports whether it gave any; going is false
// after give has returned false.
func step(ctx context.Context, of Record, q store.Query, at Position,
	give func(*audit.Entry, Position) bool) (more, going bool, err error) {
	ends, err := of.Ends(ctx)
	if err != nil {
		return false, false, fmt.Errorf("reading the ends of the record: %w", err)
	}
	var lists [][]*audit.Entry
	behind := Position{}
	q.Newest, q.Limit = false, batch
	for _, end := range ends {
		if at[end.Chain] >= end.Seq {
			continue
		}
		list, err := chainOf(ctx, of, q, end.Chain, at[end.Chain], end.Seq+1)
		if err != nil {
			return false, false, err
		}
		if len(list) < batch {
			behind[end.Chain] = end.Seq // the filter leaves out the rest
		}
		lists = append(lists, list)
	}
	for _, e := range merge(slices.Clone(lists), inTime) {
		more, at[e.Chain] = true, e.Seq
		if !give(e, at) {
			return true, false, nil
		}
	}
	maps.Copy(at, behind)
	return more, true, nil
}
