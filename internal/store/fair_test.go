package store_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/store"
)

// Of processes that write to one file all the time, each gets on: SQLite's own way to wait let one of four write once
// while the others wrote thousands of times, until its callers had waited for too long.
func TestNoProcessStarvesAtAFile(t *testing.T) {
	const processes, writes = 4, 2000
	path := filepath.Join(t.TempDir(), "codemode.db")
	var begun atomic.Int64
	var all sync.WaitGroup
	got := make([]int, processes)
	for i := range got {
		d := open(t, store.Options{Path: path, Wait: time.Minute})
		began := time.Now().UTC().Truncate(24 * time.Hour)
		w := store.Window{Name: fmt.Sprint(i), Began: began, Ends: began.Add(24 * time.Hour), Most: writes}
		all.Go(func() {
			for begun.Add(1) <= writes {
				if full, err := d.Budgets.Charge(t.Context(), []int64{1}, []store.Window{w}); err != nil || full >= 0 {
					t.Errorf("process %d: %d, %v", i, full, err)
					return
				}
				got[i]++
			}
		})
	}
	all.Wait()
	if least := slices.Min(got); least < writes/processes/10 {
		t.Errorf("the processes wrote %v times", got)
	}
}
