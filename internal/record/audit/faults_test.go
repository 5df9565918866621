package audit_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/pgtest"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/testwait"
)

// eventually tries until it works, for what a loaded machine may take its time with.
func eventually(t *testing.T, what string, f func() error) {
	t.Helper()
	var err error
	for range testwait.Polls(30 * time.Second) {
		if err = f(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

// reason is what programs are told of an error.
func reason(err error) string {
	known, ok := errors.AsType[interface {
		error
		Reason() string
	}](err)
	if !ok {
		return ""
	}
	return known.Reason()
}

// A fault keeps the record from being written until it is mended.
type fault struct {
	name   string
	cause  func(t *testing.T, p *place) (mend func())
	reason string // what is said
}

var faults = []fault{
	{"the file is deleted", func(t *testing.T, p *place) func() {
		away := filepath.Join(p.dir, "away")
		must(t, os.Rename(p.path(), away))
		return func() { must(t, os.Rename(away, p.path())) }
	}, "deleted"},
	{"the file is replaced by that of another record", func(t *testing.T, p *place) func() {
		other, err := store.Open(t.Context(), store.Options{Path: filepath.Join(p.dir, "other.db")})
		must(t, err)
		must(t, other.Close())
		away := filepath.Join(p.dir, "away")
		must(t, os.Rename(p.path(), away))
		must(t, os.Rename(filepath.Join(p.dir, "other.db"), p.path()))
		return func() { must(t, os.Rename(away, p.path())) }
	}, "replaced"},
	{"the file is read-only", func(t *testing.T, p *place) func() {
		must(t, os.Chmod(p.path(), 0o400))
		return func() { must(t, os.Chmod(p.path(), 0o600)) }
	}, "read-only"},
	{"another program locks the file", func(t *testing.T, p *place) func() {
		db, err := sql.Open("sqlite", p.path())
		must(t, err)
		conn, err := db.Conn(t.Context())
		must(t, err)
		eventually(t, "locking", func() error {
			_, err := conn.ExecContext(t.Context(), "BEGIN EXCLUSIVE")
			return err
		})
		return func() {
			_, err := conn.ExecContext(context.Background(), "ROLLBACK")
			must(t, errors.Join(err, conn.Close(), db.Close()))
		}
	}, "locked"},
	{"the head of the file is overwritten", func(t *testing.T, p *place) func() {
		f, err := os.OpenFile(p.path(), os.O_RDWR, 0)
		must(t, err)
		head := make([]byte, 100)
		_, err = f.ReadAt(head, 0)
		must(t, err)
		_, err = f.WriteAt([]byte(strings.Repeat("?", 100)), 0)
		must(t, err)
		// Closing it here would take away the locks that SQLite has on it in this process.
		t.Cleanup(func() { f.Close() })
		return func() {
			_, err := f.WriteAt(head, 0)
			must(t, err)
		}
	}, "damaged"},
}

var must = checktest.OK

// TestFaults breaks the database under a record that is in use. Entries are refused with the reason, and
// taken again when the cause is gone; what was acknowledged before and after is there.
func TestFaults(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			p := newPlace(t)
			r := audit.New(p.options())
			must(t, r.Write(t.Context(), running("r_1", 1)))
			if f.reason == "damaged" {
				checkpointed(t, p)
			}
			mend := f.cause(t, p)
			var refused error
			eventually(t, "refusing", func() error {
				if refused = r.Write(t.Context(), running("r_1", 2)); refused == nil {
					return errors.New("it is still written")
				}
				return nil
			})
			if !strings.Contains(reason(refused), f.reason) {
				t.Errorf("the reason is %q, want one with %q (%v)", reason(refused), f.reason, refused)
			}
			must(t, r.Add(t.Context(), ended("r_1", 1))) // it happened before, and is kept until it can be written
			mend()
			eventually(t, "writing again", func() error { return r.Write(t.Context(), running("r_1", 3)) })
			must(t, r.Flush(t.Context()))
			closeRecord(t, r)
			states := map[int]string{}
			for _, e := range entries(t, p) {
				if e.Kind == audit.Call {
					states[e.Call] += e.State + " "
				}
			}
			// The calls that were refused are not there, or the record says that they were not made.
			for _, n := range []int{2} {
				if s := strings.Fields(states[n]); len(s) > 0 && s[len(s)-1] != audit.NotSent && f.reason != "damaged" {
					t.Errorf("a call that was refused is recorded as %v", s)
				}
			}
			if states[1] != "running ok " || !strings.HasPrefix(states[3], "running") {
				t.Errorf("calls are recorded as %v", states)
			}
			verified(t, p)
		})
	}
}

// checkpointed moves the write-ahead log into the file, so that the file alone has what was written.
func checkpointed(t *testing.T, p *place) {
	t.Helper()
	db, err := sql.Open("sqlite", p.path())
	must(t, err)
	defer db.Close()
	_, err = db.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	must(t, err)
}

// entries reads all of a record.
func entries(t testing.TB, p *place) []*audit.Entry {
	t.Helper()
	db, err := store.Open(context.Background(), store.Options{Path: p.path(), ReadOnly: true})
	must(t, err)
	defer db.Close()
	var all []*audit.Entry
	must(t, audit.Entries(context.Background(), db, store.Query{}, func(e *audit.Entry) error {
		all = append(all, e)
		return nil
	}))
	return all
}

// verified checks a record as "codemode audit verify" does.
func verified(t testing.TB, p *place) audit.Verdict {
	t.Helper()
	db, err := store.Open(context.Background(), store.Options{Path: p.path(), ReadOnly: true})
	must(t, err)
	defer db.Close()
	key, err := audit.ParsePublic(p.key.Public())
	must(t, err)
	v := &audit.Verifier{Keys: []note.Verifier{key}}
	must(t, v.Database(context.Background(), "the database", db))
	f, err := os.Open(p.checkpoints())
	must(t, err)
	defer f.Close()
	all, _, err := audit.ReadCheckpoints(f)
	must(t, err)
	v.Beside("checkpoints", all)
	verdict := v.Finish()
	for _, problem := range verdict.Problems {
		t.Errorf("verifying: %s", problem)
	}
	return verdict
}

func TestWriteAheadLogDeleted(t *testing.T) {
	p := newPlace(t)
	r := audit.New(p.options())
	for n := range 20 {
		must(t, r.Write(t.Context(), running("r_1", n+1)))
	}
	must(t, os.Remove(p.path()+"-wal"))
	eventually(t, "writing on", func() error { return r.Write(t.Context(), running("r_1", 99)) })
	closeRecord(t, r)
	if n := verified(t, p).Entries; n < 21 {
		t.Errorf("%d entries are left of 21", n)
	}
}

func TestDatabaseGoneAtStart(t *testing.T) {
	p := newPlace(t)
	r := audit.New(p.options())
	for n := range 5 {
		must(t, r.Write(t.Context(), running("r_1", n+1)))
	}
	closeRecord(t, r)
	kept := filepath.Join(p.dir, "kept")
	must(t, os.Rename(p.path(), kept))
	if err := audit.Present(p.path(), p.checkpoints()); !strings.Contains(reason(err), "deleted") {
		t.Errorf("a record that is gone: %v", err)
	}
	// Another one in its place, and an old copy, are refused too.
	r = audit.New(p.options())
	err := r.Write(t.Context(), running("r_2", 1))
	if !strings.Contains(reason(err), "replaced") {
		t.Errorf("a new record in the place of one that is gone: %v", err)
	}
	_ = r.Close(t.Context())
	must(t, os.Rename(kept, p.path()))
	old, err := os.ReadFile(p.path())
	must(t, err)
	r = audit.New(p.options())
	must(t, r.Write(t.Context(), running("r_3", 1)))
	closeRecord(t, r)
	must(t, os.WriteFile(p.path(), old, 0o600))
	r = audit.New(p.options())
	if err := r.Write(t.Context(), running("r_4", 1)); !strings.Contains(reason(err), "gone") {
		t.Errorf("an old copy in the place of a record: %v", err)
	}
	_ = r.Close(t.Context())
}

func TestPostgresStopsAndStarts(t *testing.T) {
	server := pgtest.Start(t)
	p := newPlace(t)
	o := p.options()
	url := server.URL("record")
	o.Open = func(ctx context.Context) (*store.DB, error) { return store.Open(ctx, store.Options{URL: url}) }
	r := record(t, o)
	must(t, r.Write(t.Context(), running("r_1", 1)))
	server.Stop()
	err := r.Write(t.Context(), running("r_1", 2))
	if !strings.Contains(reason(err), "reached") {
		t.Errorf("while it is down: %v", err)
	}
	must(t, r.Add(t.Context(), ended("r_1", 1)))
	server.Start()
	eventually(t, "writing again", func() error { return r.Write(t.Context(), running("r_1", 3)) })
	must(t, r.Flush(t.Context()))
	out, err := server.SQL("record",
		`SELECT call || ' ' || state FROM entries WHERE kind = 'call' AND call IN (1, 3) ORDER BY chain, seq`)
	must(t, err)
	if got := strings.Join(strings.Fields(out), " "); !strings.Contains(got, "1 running") ||
		!strings.Contains(got, "1 ok") || !strings.Contains(got, "3 running") {
		t.Errorf("recorded: %s", got)
	}
	if _, err := server.SQL("record", `UPDATE entries SET tool = 'x'`); err == nil || !strings.Contains(err.Error(),
		"append-only") {
		t.Errorf("an entry was changed: %v", err)
	}
	if _, err := server.SQL("record", `TRUNCATE entries`); err == nil || !strings.Contains(err.Error(), "append-only") {
		t.Errorf("the entries were emptied: %v", err)
	}
}
