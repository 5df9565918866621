// Package records reads the record for the page: in pages that stay the same while entries come, and as it grows.
package records

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
)

// A Record has entries. Many goroutines may call its methods.
type Record interface {
	Entries(ctx context.Context, q store.Query, f func(*audit.Entry) error) error
	// Ends are the last entries of all chains.
	Ends(ctx context.Context) ([]store.End, error)
}

// End is the place behind all entries that are there now.
func End(ctx context.Context, of Record) (Position, error) {
	ends, err := of.Ends(ctx)
	p := Position{}
	for _, e := range ends {
		p[e.Chain] = e.Seq
	}
	return p, err
}

// A Page is a part of the record, the newest entry first.
type Page struct {
	Entries []*audit.Entry
	// Next is where earlier entries are, for the next page; nil if there are none.
	Next Position
	// End is the place behind the first entry, for [Follow], if the page begins at the end of the record.
	End Position
}

// Read reads the page of at most limit entries before a place; nil is the end of the record. The pages of one place and
// its successors have each entry once, whatever is added meanwhile. In each chain the order is that of the chain, and
// between chains that of time.
func Read(ctx context.Context, of Record, q store.Query, before Position, limit int) (*Page, error) {
	page := &Page{}
	end, err := End(ctx, of)
	if err != nil {
		return nil, err
	}
	if before == nil {
		page.End, before = end, Position{}
		for chain, seq := range end {
			before[chain] = seq + 1
		}
	}
	q.Newest, q.Limit = true, limit+1 // one more shows whether there is a next page
	var lists [][]*audit.Entry
	for chain, seq := range before {
		if _, there := end[chain]; !there {
			continue // a client may name any
		}
		of, err := chainOf(ctx, of, q, chain, -1, seq)
		if err != nil {
			return nil, err
		}
		lists = append(lists, of)
	}
	left := Position{}
	for _, list := range lists {
		if len(list) > 0 {
			left[list[0].Chain] = list[0].Seq + 1
		}
	}
	all := merge(lists, func(a, b *audit.Entry) int { return -inTime(a, b) })
	more := len(all) > limit
	page.Entries = all[:min(limit, len(all))]
	if more {
		for _, e := range page.Entries {
			left[e.Chain] = e.Seq
		}
		page.Next = left
	}
	return page, nil
}

// chainOf reads the entries of one chain between two numbers, both exclusive.
func chainOf(ctx context.Context, of Record, q store.Query, chain, after, before int64) (all []*audit.Entry, err error) {
	if before == 0 && q.Newest {
		return nil, nil
	}
	q.Chain, q.After, q.Before = chain, after, before
	err = of.Entries(ctx, q, func(e *audit.Entry) error {
		all = append(all, e)
		return nil
	})
	return all, err
}

func inTime(a, b *audit.Entry) int {
	return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Chain, b.Chain))
}

// merge puts the entries of chains into one list: that which comes first of those that are at the front of a chain.
func merge(lists [][]*audit.Entry, order func(a, b *audit.Entry) int) (all []*audit.Entry) {
	for {
		lists = slices.DeleteFunc(lists, func(l []*audit.Entry) bool { return len(l) == 0 })
		if len(lists) == 0 {
			return all
		}
		first := 0
		for i := range lists {
			if order(lists[i][0], lists[first][0]) < 0 {
				first = i
			}
		}
		all, lists[first] = append(all, lists[first][0]), lists[first][1:]
	}
}

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
