package store_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/pgtest"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/store/storetest"
)

// filled makes a database with two entries and an approval that is answered and used.
func filled(t *testing.T, o store.Options) *store.DB {
	t.Helper()
	d := open(t, o)
	c, err := d.Entries.Claim(t.Context(), nil)
	checktest.OK(t, err)
	rows := []store.Row{storetest.Row(c.Head(), 1, nil), storetest.Row(c.Head(), 2,
		func(r *store.Row) { r.Principal = "anna" })}
	checktest.OK(t, c.Append(t.Context(), rows, 3))
	storetest.Approved(t, d, "a_1")
	return d
}

// forbidden are statements that the database itself refuses, whoever sends them.
var forbidden = []struct{ statement, says string }{
	{`UPDATE entries SET tool = 'x'`, "append-only"},
	{`DELETE FROM entries`, "append-only"},
	{`DELETE FROM entries WHERE seq = 1`, "append-only"},
	{`UPDATE approvals SET validated = NULL, answered_at = NULL`, "answered"},
	{`UPDATE approvals SET answered_by = 'somebody else'`, "answered"},
	{`UPDATE approvals SET used_at = NULL`, "used"},
	{`UPDATE approvals SET used_at = used_at + 1`, "used"},
	{`UPDATE approvals SET digest = 'x'`, "what was asked"},
	{`UPDATE approvals SET expires = expires + 1000`, "what was asked"},
	{`UPDATE grants SET expires = expires + 1`, "never grows"},
	{`UPDATE grants SET uses_left = 100`, "never grows"},
	{`UPDATE grants SET revoked_at = NULL`, "never grows"},
	{`UPDATE parked SET claim = 'me'`, "taken"},
}

func TestSQLiteRefusesChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "codemode.db")
	d := filled(t, store.Options{Path: path})
	db, err := sql.Open("sqlite", path)
	checktest.OK(t, err)
	defer db.Close()
	for _, f := range append(forbidden, []struct{ statement, says string }{
		{`UPDATE OR REPLACE entries SET seq = 1 WHERE seq = 2`, "append-only"},
		{`UPDATE run_blocks SET run = 'x'`, "append-only"},
		{`DELETE FROM run_blocks`, "append-only"},
	}...) {
		if _, err := db.Exec(f.statement); err == nil || !strings.Contains(err.Error(), f.says) {
			t.Errorf("%s: got %v, want %q", f.statement, err, f.says)
		}
	}
	// On connections of ours.
	for _, f := range []struct{ statement, says string }{
		{`INSERT OR REPLACE INTO entries SELECT chain, seq, time, kind, state, run, call, principal, profile, 'x', hash, body, sealed FROM entries`, "append-only"},
		{`REPLACE INTO entries SELECT * FROM entries`, "append-only"},
		{`REPLACE INTO run_blocks SELECT * FROM run_blocks`, "append-only"},
	} {
		if _, err := store.Exec(d, f.statement); err == nil || !strings.Contains(err.Error(), f.says) {
			t.Errorf("%s: got %v, want %q", f.statement, err, f.says)
		}
	}
}

func TestPostgresRefusesChanges(t *testing.T) {
	server := pgtest.Start(t)
	filled(t, store.Options{URL: server.URL("guarded")})
	for _, f := range append(forbidden, struct{ statement, says string }{`TRUNCATE entries`, "append-only"}) {
		if out, err := server.SQL("guarded", f.statement); err == nil || !strings.Contains(err.Error(), f.says) {
			t.Errorf("%s: got %v %s, want %q", f.statement, err, out, f.says)
		}
	}
	// A reader sees what concerns itself.
	if _, err := server.SQL("guarded", `CREATE ROLE anna LOGIN; GRANT SELECT ON entries TO anna`); err != nil {
		t.Fatal(err)
	}
	for who, want := range map[string]string{"anna": "1", "codemode": "2"} {
		if n, err := server.SQLAs(who, "guarded", `SELECT count(*) FROM entries`); err != nil || n != want {
			t.Errorf("%s sees %s entries, want %s (%v)", who, n, want, err)
		}
	}
}

// TestMissingGuardsAreFound: whoever removes a trigger that refuses changes is found out, for each trigger of the
// schema.
func TestMissingGuardsAreFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "codemode.db")
	lite := open(t, store.Options{Path: path})
	db, err := sql.Open("sqlite", path)
	checktest.OK(t, err)
	defer db.Close()
	server := pgtest.Start(t)
	for _, of := range []struct {
		schema, drop string
		d            *store.DB
		exec         func(statement string) error
	}{
		{"sqlite", "DROP TRIGGER %[1]s", lite, func(s string) error { _, err := db.Exec(s); return err }},
		{"postgres", "ALTER TABLE %[2]s DISABLE TRIGGER %[1]s", open(t, store.Options{URL: server.URL("unguarded")}),
			func(s string) error { _, err := server.SQL("unguarded", s); return err }},
	} {
		text, err := os.ReadFile("schema/" + of.schema + ".sql")
		checktest.OK(t, err)
		triggers := regexp.MustCompile(`CREATE TRIGGER (\w+)\s[^;]*?\sON (\w+)`).FindAllStringSubmatch(string(text), -1)
		if len(triggers) < 8 {
			t.Fatalf("%s has %d triggers", of.schema, len(triggers))
		}
		for _, trigger := range triggers {
			if strings.HasSuffix(trigger[1], "_tell") { // it refuses nothing
				continue
			}
			checktest.OK(t, of.exec(fmt.Sprintf(of.drop, trigger[1], trigger[2])))
			problems, err := of.d.Entries.Inspect(t.Context())
			if err != nil || !strings.Contains(strings.Join(problems, "\n"), "the trigger "+trigger[1]+",") {
				t.Errorf("%s without %s: %q (%v)", of.schema, trigger[1], problems, err)
			}
		}
	}
}

func TestNewerVersionIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "codemode.db")
	checktest.OK(t, open(t, store.Options{Path: path}).Close())
	db, err := sql.Open("sqlite", path)
	checktest.OK(t, err)
	if _, err := db.Exec("PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	if _, err := store.Open(t.Context(), store.Options{Path: path}); err == nil || !strings.Contains(err.Error(),
		"version 99") {
		t.Errorf("a database of a newer version: %v", err)
	}
}

func TestFileIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "codemode.db")
	filled(t, store.Options{Path: path})
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		checktest.OK(t, err)
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("%s has mode %v", path+suffix, mode)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	checktest.OK(t, os.WriteFile(text, []byte(strings.Repeat("no database ", 1000)), 0o600))
	for name, row := range map[string]struct {
		o    store.Options
		says string
	}{
		"no place":           {store.Options{}, "Path and URL"},
		"two places":         {store.Options{Path: "x", URL: "y"}, "Path and URL"},
		"no folder":          {store.Options{Path: filepath.Join(dir, "no", "x.db")}, "no such file"},
		"it has to be there": {store.Options{Path: filepath.Join(dir, "x.db"), ReadOnly: true}, "no such file"},
		"a folder":           {store.Options{Path: dir}, "no regular file"},
		"something else":     {store.Options{Path: text}, "damaged"},
		"no server":          {store.Options{URL: "postgres://u:the-password@127.0.0.1:1/x"}, "cannot be reached"},
		"no URL":             {store.Options{URL: "postgres://u:the-password@[::1:x/y"}, "URL"},
	} {
		_, err := store.Open(t.Context(), row.o)
		if err == nil || !strings.Contains(err.Error(), row.says) || strings.Contains(err.Error(), "the-password") {
			t.Errorf("%s: %v, want %q", name, err, row.says)
		}
	}
}
