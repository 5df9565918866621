package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/codemode-project/codemode/audit"

	"github.com/codemode-project/codemode/config/changes"

	"github.com/codemode-project/codemode/store"
)

// A proposal is compared with the calls of recentDays, the latest of them if there are more than recentEntries
// entries about calls.
const (
	recentDays    = 30
	recentEntries = 20_000
)

var recentWords = fmt.Sprintf("%d days", recentDays)

// recentCalls reads the calls of the last days, the oldest first, from a record.
func recentCalls(
	now time.Time, entries func(q store.Query, f func(*audit.Entry) error) error,
) ([]changes.PastCall, error) {
	var lines [][]byte
	q := store.Query{
		Kinds: []string{audit.Call}, Since: now.AddDate(0, 0, -recentDays), Newest: true, Limit: recentEntries,
	}
	if err := entries(q, func(e *audit.Entry) error {
		lines = append(lines, e.Line())
		return nil
	}); err != nil {
		return nil, err
	}
	slices.Reverse(lines)
	return changes.ReadRecord(bytes.NewReader(bytes.Join(lines, []byte("\n"))))
}

// recent are the recent calls of the record that the flags name.
func (r *reading) recent(ctx context.Context) ([]changes.PastCall, error) {
	place, err := r.place()
	if err != nil {
		return nil, err
	}
	o := place.Store
	o.ReadOnly = true
	db, err := store.Open(ctx, o)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("there is no record")
	}
	if err != nil {
		return nil, fmt.Errorf("opening the record: %w", err)
	}
	defer db.Close()
	return recentCalls(time.Now(), func(q store.Query, f func(*audit.Entry) error) error {
		return audit.Entries(ctx, db, q, f)
	})
}
