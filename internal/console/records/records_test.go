package records

import (
	"context"
	"errors"
	"fmt"
	"github.com/codemode-project/codemode/call"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/pgtest"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/testwait"
)

// stored is the record in a database.
type stored struct{ db *store.DB }

func (s stored) Entries(ctx context.Context, q store.Query, f func(*audit.Entry) error) error {
	return audit.Entries(ctx, s.db, q, f)
}

func (s stored) Ends(ctx context.Context) ([]store.End, error) { return s.db.Entries.Ends(ctx) }

// onBoth runs a test on both databases.
func onBoth(t *testing.T, f func(t *testing.T, open func() *store.DB)) {
	opener := func(t *testing.T, o store.Options) func() *store.DB {
		return func() *store.DB {
			db, err := store.Open(t.Context(), o)
			checktest.OK(t, err)
			t.Cleanup(func() { db.Close() })
			return db
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		f(t, opener(t, store.Options{Path: filepath.Join(t.TempDir(), "record.db")}))
	})
	t.Run("postgres", func(t *testing.T) {
		f(t, opener(t, store.Options{URL: pgtest.Start(t).URL("records")}))
	})
}

// writer opens a record, which writes a chain of its own.
func writer(t *testing.T, open func() *store.DB) *audit.Record {
	t.Helper()
	key, err := audit.NewKey(make([]byte, 32))
	checktest.OK(t, err)
	r := audit.New(audit.Options{Open: func(context.Context) (*store.DB, error) { return open(), nil }, Key: key})
	t.Cleanup(func() { r.Close(context.WithoutCancel(t.Context())) })
	return r
}

// While four processes write, a person pages through the record from a place, and a front end follows it whose
// connection breaks again and again. The pages have each entry from before that place once; the front end gets each
// entry once.
func TestNothingIsLostOrDoubled(t *testing.T) {
	onBoth(t, func(t *testing.T, open func() *store.DB) {
		of := stored{open()}
		const writers, each, before = 4, 60, 25
		var records []*audit.Record
		for range writers {
			records = append(records, writer(t, open))
		}
		write := func(from, to int) {
			var all sync.WaitGroup
			for n, r := range records {
				all.Go(func() {
					for i := from; i < to; i++ {
						kind := audit.Access
						if i%3 == 0 {
							kind = audit.Policy
						}
						if err := r.Write(t.Context(), call.Entry{Kind: kind, State: "admitted",
							Detail: fmt.Sprintf("%d of %d", i, n)}); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
		}
		write(0, before)
		q, err := ReadFilter(http.Header{"Record": {"access"}}.Get, time.Now())
		checktest.OK(t, err)
		first, err := Read(t.Context(), of, q, nil, 7)
		checktest.OK(t, err)

		got := map[string]int{}
		var followed atomic.Int64
		following, stop := context.WithCancel(t.Context())
		var over sync.WaitGroup
		over.Go(func() {
			place := Position{}
			rnd := rand.New(rand.NewPCG(1, 2))
			for following.Err() == nil {
				left := 1 + rnd.IntN(20) // until the connection breaks
				err := Follow(following, of, q, place, time.Hour, func(e *audit.Entry, behind Position) bool {
					if left--; left < 0 {
						return false // it was not read
					}
					got[e.Detail]++
					followed.Add(1)
					if place, err = ParsePosition(behind.String()); err != nil {
						t.Error(err)
					}
					return true
				})
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
		})
		over.Go(func() { write(before, each) })

		seen := map[string]int{}
		for page := first; ; {
			for _, e := range page.Entries {
				seen[e.Detail]++
			}
			if page.Next == nil {
				break
			}
			next, err := ParsePosition(page.Next.String())
			if err == nil {
				page, err = Read(t.Context(), of, q, next, 7)
			}
			checktest.OK(t, err)
			if n := len(page.Entries); n == 0 || n > 7 {
				t.Errorf("a page has %d entries", n)
			}
		}
		want := int64(writers * (each - each/3))
		if !testwait.Holds(func() bool { return followed.Load() >= want }) {
			t.Errorf("%d of %d entries came", followed.Load(), want)
		}
		stop()
		over.Wait()
		for n := range writers {
			for i := range each {
				what, times := fmt.Sprintf("%d of %d", i, n), 1
				if i%3 == 0 {
					times = 0
				}
				if got[what] != times {
					t.Errorf("followed: %s came %d times", what, got[what])
				}
				if i >= before {
					times = 0
				}
				if seen[what] != times {
					t.Errorf("paged: %s came %d times", what, seen[what])
				}
			}
		}
	})
}

func TestReadFilter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, x := range []struct {
		name, value, wrong string
	}{
		{"record", "runs", ""}, {"record", "all", "record is"}, {"since", "24h", ""}, {"since", "-1h", "since is"},
		{"until", "2026-01-01T00:00:00+01:00", ""}, {"until", "yesterday", "until is"}, {"tool", "fs__*", ""},
		{"tool", strings.Repeat("x", 501), "tool is too long"}, {"state", "ok\x00", "state is too long, or has"},
	} {
		_, err := ReadFilter(func(name string) string {
			if name == x.name {
				return x.value
			}
			return ""
		}, now)
		if (err == nil) != (x.wrong == "") || err != nil && !strings.Contains(err.Error(), x.wrong) {
			t.Errorf("%s=%.20s: %v, want %q", x.name, x.value, err, x.wrong)
		}
	}
	q, _ := ReadFilter(http.Header{"Since": {"1h"}, "State": {"ok"}}.Get, now)
	if !q.Since.Equal(now.Add(-time.Hour)) || len(q.States) != 1 {
		t.Errorf("got %+v", q)
	}
}

func TestParsePosition(t *testing.T) {
	for _, good := range []string{"1-0", "1-5.2-17", "3-9223372036854775807"} {
		p, err := ParsePosition(good)
		if err != nil || p.String() != good {
			t.Errorf("%s: %v, %v", good, p, err)
		}
	}
	for _, bad := range []string{"", "1", "0-1", "1--1", "1-1.", "x-1", "1-1 ", "1-99999999999999999999",
		"-1-1", strings.Repeat("1-1.", 3)} {
		if p, err := ParsePosition(bad); err == nil {
			t.Errorf("%q is taken as %v", bad, p)
		}
	}
}
