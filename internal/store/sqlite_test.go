package store_test

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/pgtest"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/store/storetest"
)

func open(t testing.TB, o store.Options) *store.DB {
	t.Helper()
	d, err := store.Open(t.Context(), o)
	checktest.OK(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

func TestSQLite(t *testing.T) {
	storetest.Test(t, (*store.DB).Silence, store.FewOutcomes, func(t *testing.T) func(func() time.Time) *store.DB {
		path := filepath.Join(t.TempDir(), "codemode.db")
		return func(now func() time.Time) *store.DB { return open(t, store.Options{Path: path, Now: now}) }
	})
}

func TestManyOpenANewFileAtTheSameMoment(t *testing.T) {
	for round := range 60 {
		path := filepath.Join(t.TempDir(), "codemode.db")
		start := make(chan struct{})
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				<-start
				// a busy disk takes longer than the default
				d, err := store.Open(t.Context(), store.Options{Path: path, Wait: time.Minute})
				if err == nil {
					err = d.Close()
				}
				if err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		close(start)
		all.Wait()
	}
}

// What was known of a batch that was not written is forgotten with it.
func TestARunIsFoundAfterAFault(t *testing.T) {
	d := open(t, store.Options{Path: filepath.Join(t.TempDir(), "codemode.db")})
	c, err := d.Entries.Claim(t.Context(), nil)
	checktest.OK(t, err)
	exec := func(statement string) {
		t.Helper()
		if _, err := store.Exec(d, statement); err != nil {
			t.Fatal(err)
		}
	}
	rows := func() []store.Row { return []store.Row{storetest.Row(c.Head(), 1, nil)} }
	exec(`CREATE TRIGGER fault BEFORE INSERT ON entries BEGIN SELECT RAISE(FAIL, 'a fault'); END`)
	if err := c.Append(t.Context(), rows(), 1); err == nil || !strings.Contains(err.Error(), "a fault") {
		t.Errorf("got %v, want the fault", err)
	}
	exec(`DROP TRIGGER fault`)
	checktest.OK(t, c.Append(t.Context(), rows(), 1))
	found := 0
	if err := d.Entries.Rows(t.Context(), store.Query{Run: rows()[0].Run},
		func(*store.Row) error { found++; return nil }); err != nil || found != 1 {
		t.Errorf("%d entries of the run are found (%v), want 1", found, err)
	}
	if problems, err := d.Entries.Inspect(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("problems: %v, %v", problems, err)
	}
}

func TestPostgres(t *testing.T) {
	server := pgtest.Start(t)
	n := 0
	storetest.Test(t, (*store.DB).Silence, store.FewOutcomes, func(t *testing.T) func(func() time.Time) *store.DB {
		n++
		url := server.URL("db" + string(rune('a'+n)))
		return func(now func() time.Time) *store.DB { return open(t, store.Options{URL: url, Now: now}) }
	})
}
