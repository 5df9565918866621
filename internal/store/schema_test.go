package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/pgtest"
	"github.com/codemode-project/codemode/internal/store"
)

// otherLayouts are versions of the tables that are refused, with the way out. 11 had no sessions, 12 no images, 13 no
// changes of rules, 14 no logins of principals; 17 had passkeys.
var otherLayouts = map[int]string{8: "codemode audit export", 11: "codemode audit export", 12: "codemode audit export",
	13: "codemode audit export", 14: "codemode audit export", 17: "codemode audit export", 99: "newer codemode"}

// TestOtherLayoutsAreRefused opens databases of an older and of a newer version: the error says which database it is,
// both versions, and what to do. The database stays as it is.
func TestOtherLayoutsAreRefused(t *testing.T) {
	for version, way := range otherLayouts {
		t.Run(fmt.Sprintf("SQLite, version %d", version), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "codemode.db")
			open(t, store.Options{Path: path}).Close()
			db, err := sql.Open("sqlite", path)
			checktest.OK(t, err)
			defer db.Close()
			if _, err := db.Exec(fmt.Sprintf("PRAGMA user_version = %d", version)); err != nil {
				t.Fatal(err)
			}
			for _, readOnly := range []bool{false, true} {
				refused(t, store.Options{Path: path, ReadOnly: readOnly}, version, way, path)
			}
			var now int
			if err := db.QueryRow("PRAGMA user_version").Scan(&now); err != nil || now != version {
				t.Errorf("it is of version %d now (%v)", now, err)
			}
		})
	}
	server := pgtest.Start(t)
	for version, way := range otherLayouts {
		t.Run(fmt.Sprintf("PostgreSQL, version %d", version), func(t *testing.T) {
			name := fmt.Sprintf("of%d", version)
			url := server.URL(name)
			open(t, store.Options{URL: url}).Close()
			if _, err := server.SQL(name, fmt.Sprintf(`UPDATE schema_version SET version = %d`, version)); err != nil {
				t.Fatal(err)
			}
			for _, readOnly := range []bool{false, true} {
				refused(t, store.Options{URL: url, ReadOnly: readOnly}, version, way, "the database "+name)
			}
		})
	}
}

func refused(t *testing.T, o store.Options, version int, way, name string) {
	t.Helper()
	d, err := store.Open(t.Context(), o)
	if err == nil {
		d.Close()
		t.Fatal("it was opened")
	}
	for _, want := range []string{name, fmt.Sprintf("version %d, and this codemode needs version ", version), way} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	reason, ok := errors.AsType[reasoned](err)
	if !ok || strings.Contains(reason.Reason(), name) || !strings.Contains(reason.Reason(), "another version") {
		t.Errorf("the reason is %v", reason)
	}
	t.Log(err)
}

// TestNothingIsMadeForReaders opens an empty file to read it.
func TestNothingIsMadeForReaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "empty.db")
	db, err := sql.Open("sqlite", path)
	checktest.OK(t, err)
	defer db.Close()
	if _, err := db.Exec("PRAGMA journal_mode = WAL"); err != nil {
		t.Fatal(err)
	}
	if d, err := store.Open(t.Context(), store.Options{Path: path, ReadOnly: true}); err == nil ||
		!strings.Contains(err.Error(), "no tables") {
		t.Errorf("it was opened: %v, %v", d, err)
	}
}

// reasoned is an error with a reason without names of files and hosts.
type reasoned interface {
	error
	Reason() string
}
