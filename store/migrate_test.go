package store_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/pgtest"
	"github.com/codemode-project/codemode/store"
	"github.com/codemode-project/codemode/store/storetest"
)

// ofFirstVersion are the rows of a database as the first version left it: entries, a run that was taken and one that waits.
var ofFirstVersion = []string{
	`INSERT INTO meta (name, value) VALUES ('id', 'db_old')`,
	`INSERT INTO parked (run, principal, profile, guest, state, image, created, expires, claim) VALUES
		('r_taken', '', '', 'g', '{}', 'x', 1, 9000000000000000, 'somebody'), ('r_waits', '', '', 'g', '{}', 'x', 2, 9000000000000000, '')`,
	`INSERT INTO approvals (id, run, call, principal, digest, question, created, expires) VALUES ('a_1', 'r_waits', 1, '', 'sha256:ab', '{}', 1, 9000000000000000)`,
}

// upgraded holds that nothing of the first version was lost.
func upgraded(t *testing.T, d *store.DB, want []store.Row) {
	t.Helper()
	if d.ID() != "db_old" {
		t.Errorf("the database is %s now", d.ID())
	}
	var got []store.Row
	if err := d.Rows(t.Context(), store.Query{Chain: 1}, func(r *store.Row) error { got = append(got, *r); return nil }); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the entries are %v, want %v", got, want)
	}
	if runs, err := d.ParkedRuns(t.Context()); err != nil || len(runs) != 1 || runs[0].Run != "r_waits" || runs[0].Round != 1 {
		t.Errorf("runs that can be claimed: %+v, %v", runs, err)
	}
	if p, err := d.ParkedRun(t.Context(), "r_taken"); err != nil || p.Phase != store.Going {
		t.Errorf("the run that was taken: %+v, %v", p, err)
	}
	if pending, err := d.Pending(t.Context(), ""); err != nil || len(pending) != 1 {
		t.Errorf("pending: %v, %v", pending, err)
	}
	if problems, err := d.Inspect(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("problems: %v, %v", problems, err)
	}
	c, err := d.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Append(t.Context(), []store.Row{storetest.Row(c.Head(), 1, nil)}, 4); err != nil || c.Head().Chain != 1 || c.Head().Seq != 4 {
		t.Errorf("the chain goes on at %+v (%v)", c.Head(), err)
	}
	if err := c.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// oldRows are the entries of the first version.
func oldRows() (rows []store.Row) {
	for n := range 3 {
		rows = append(rows, storetest.Row(store.Head{Chain: 1}, n+1, nil))
	}
	return rows
}

func firstMigration(t *testing.T, database string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("migrations", database, "0001_first.sql"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSQLiteFromTheFirstVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "codemode.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("PRAGMA journal_mode = WAL")
	exec(firstMigration(t, "sqlite"))
	for _, q := range ofFirstVersion {
		exec(strings.ReplaceAll(q, "'x'", "x'78'")) // which the other database reads as bits
	}
	rows := oldRows()
	for _, r := range rows {
		exec(`INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, r.Chain, r.Seq, r.Time, r.Kind, r.State, r.Run, r.Call, r.Principal, r.Profile, r.Tool, r.Hash[:], r.Body)
	}
	exec(`INSERT INTO chains VALUES (1, 3, ?, 4)`, rows[2].Hash[:])
	exec("PRAGMA user_version = 1")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	upgraded(t, open(t, store.Options{Path: path}), rows)
	if _, err := os.Stat(path + ".v1"); err != nil {
		t.Errorf("there is no copy of the first version: %v", err)
	}
}

func TestPostgresFromTheFirstVersion(t *testing.T) {
	server := pgtest.Start(t)
	url := server.URL("old")
	exec := func(query string) {
		t.Helper()
		if _, err := server.SQL("old", query); err != nil {
			t.Fatal(err)
		}
	}
	exec(firstMigration(t, "postgres"))
	for _, q := range ofFirstVersion {
		exec(q)
	}
	rows := oldRows()
	for _, r := range rows {
		exec(fmt.Sprintf(`INSERT INTO entries VALUES (%d, %d, %d, '%s', '%s', '%s', %d, '%s', '%s', '%s', '\x%x', '%s')`,
			r.Chain, r.Seq, r.Time, r.Kind, r.State, r.Run, r.Call, r.Principal, r.Profile, r.Tool, r.Hash, r.Body))
	}
	exec(fmt.Sprintf(`INSERT INTO chains (number, seq, hash, open_from) VALUES (1, 3, '\x%x', 4)`, rows[2].Hash))
	exec(`CREATE TABLE schema_version (version int NOT NULL); INSERT INTO schema_version VALUES (1)`)
	upgraded(t, open(t, store.Options{URL: url}), rows)
}
