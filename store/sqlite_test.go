package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/pgtest"
	"github.com/codemode-project/codemode/store"
	"github.com/codemode-project/codemode/store/storetest"
)

func open(t testing.TB, o store.Options) *store.DB {
	t.Helper()
	d, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestSQLite(t *testing.T) {
	storetest.Test(t, (*store.DB).Silence, func(t *testing.T) func(func() time.Time) *store.DB {
		path := filepath.Join(t.TempDir(), "codemode.db")
		return func(now func() time.Time) *store.DB { return open(t, store.Options{Path: path, Now: now}) }
	})
}

func TestPostgres(t *testing.T) {
	server := pgtest.Start(t)
	n := 0
	storetest.Test(t, (*store.DB).Silence, func(t *testing.T) func(func() time.Time) *store.DB {
		n++
		url := server.URL("db" + string(rune('a'+n)))
		return func(now func() time.Time) *store.DB { return open(t, store.Options{URL: url, Now: now}) }
	})
}
