package backup_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/codemode-project/codemode/call"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/pgtest"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/store/backup"
)

// A state is a state folder with a store, of either kind.
type state struct {
	t       *testing.T
	dir     string
	options store.Options
	key     *audit.Key
}

func newState(t *testing.T, url string, key *audit.Key) *state {
	s := &state{t: t, dir: t.TempDir(), key: key}
	s.options = store.Options{URL: url}
	if url == "" {
		s.options.Path = filepath.Join(s.dir, "codemode.db")
	}
	return s
}

func newKey(t *testing.T) *audit.Key {
	secret := make([]byte, 32)
	rand.Read(secret)
	key, err := audit.NewKey(secret)
	fails(t, err)
	return key
}

func (s *state) sealed() store.Options {
	o := s.options
	o.SealKey = s.key.Derive("seal the store")
	return o
}

func (s *state) open() *store.DB {
	s.t.Helper()
	db, err := store.Open(s.t.Context(), s.sealed())
	fails(s.t, err)
	s.t.Cleanup(func() { db.Close() })
	return db
}

func (s *state) checkpoints() string { return filepath.Join(s.dir, "checkpoints.jsonl") }

// record writes entries, as a process would.
func (s *state) record(n int) {
	s.t.Helper()
	r := audit.New(audit.Options{Key: s.key, Publish: []audit.Publisher{audit.FilePublisher(s.checkpoints())},
		Open: func(ctx context.Context) (*store.DB, error) { return store.Open(ctx, s.sealed()) }})
	for i := range n {
		e := call.Entry{Kind: audit.Call, State: audit.OK, Run: "r_1", Call: i + 1}
		fails(s.t, r.Write(s.t.Context(), e))
	}
	fails(s.t, r.Close(s.t.Context()))
}

func (s *state) published() []audit.Checkpoint {
	s.t.Helper()
	f, err := os.Open(s.checkpoints())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	fails(s.t, err)
	defer f.Close()
	all, _, err := audit.ReadCheckpoints(f)
	fails(s.t, err)
	return all
}

// verify verifies the record with the checkpoints beside it.
func (s *state) verify() audit.Verdict {
	s.t.Helper()
	public, err := audit.ParsePublic(s.key.Public())
	fails(s.t, err)
	v := audit.Verifier{Own: s.key}
	v.Keys = append(v.Keys, public)
	o := s.options
	o.ReadOnly = true
	db, err := store.Open(s.t.Context(), o)
	fails(s.t, err)
	defer db.Close()
	v.Beside("checkpoints.jsonl", s.published())
	fails(s.t, v.Database(s.t.Context(), "the store", db))
	return v.Finish()
}

func (s *state) restore(path string, change func(*backup.Restore)) (*backup.Report, error) {
	r := backup.Restore{To: s.options, Key: s.key, Checkpoints: s.published(),
		Publish: []audit.Publisher{audit.FilePublisher(s.checkpoints())},
		By:      &call.DecidedBy{How: "person", Channel: "cli", Principal: "local:alice"}}
	if change != nil {
		change(&r)
	}
	return r.From(s.t.Context(), path)
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		fails(t, err)
		return v
	}
}

var fails = checktest.OK

// fill puts one row, or some, into every table of a store.
func (s *state) fill() {
	t, ctx, db := s.t, s.t.Context(), s.open()
	t.Helper()
	later := time.Now().Add(time.Hour)
	fails(t, db.Approvals.Propose(ctx, &store.Approval{ID: "a_1", Run: "r_waits", Call: 1, Principal: "alice", Digest: "d",
		Question: json.RawMessage(`{"q":1}`), Expires: later}))
	fails(t, db.Runs.Park(ctx, &store.ParkedRun{Run: "r_waits", Principal: "alice", Profile: "safe", Guest: "g",
		State: json.RawMessage(`{}`), Image: []byte("image"), Expires: later}))
	fails(t, db.Grants.Give(ctx, &store.Grant{ID: "g_1", Principal: "alice", Profile: "safe", Key: "k",
		Body: json.RawMessage(`{}`), Expires: later}))
	fails(t, db.Grants.Give(ctx, &store.Grant{ID: "g_revoked", Principal: "alice", Profile: "safe", Key: "k",
		Body: json.RawMessage(`{}`), Expires: later}))
	fails(t, db.Grants.Revoke(ctx, "g_revoked"))
	fails(t, db.Keys.Enroll(ctx, &store.Key{ID: "key_1", Request: "q", Run: "r_going"}, &store.ParkedRun{Run: "r_going",
		Principal: "alice", Profile: "safe", Guest: "g", State: json.RawMessage(`{}`), Expires: later, Holder: "here"}))
	fails(t, db.Outcomes.Finish(ctx, nil, &store.Outcome{Run: "r_over", Principal: "alice", State: "finished",
		Body: json.RawMessage(`{"value":1}`), Expires: later}))
	must[[]string](t)(db.Results.Keep(ctx, &store.Result{Handle: "res_1", Principal: "alice", Run: "r_1", Profile: "safe",
		Untrusted: true, Bytes: 6, About: json.RawMessage(`{}`), Expires: later.Truncate(time.Microsecond)},
		[][]byte{[]byte("abc"), []byte("def")}, 10, 1<<20))
	text := func(s string) func(context.Context) ([]byte, error) {
		return func(context.Context) ([]byte, error) { return []byte(s), nil }
	}
	fails(t, db.Sessions.Put(ctx, &store.Session{ID: "s_1", Principal: "alice", Name: "notes", Profile: "safe",
		Expires: later}, &store.Version{Run: "r_1", Guest: "g", About: text(`{}`), Image: text("session image")}, nil,
		store.Quota{Sessions: 5, Bytes: 1 << 20, Versions: 3}))
	must[int](t)(db.Budgets.Charge(ctx, []int64{3}, []store.Window{{Name: "calls alice", Began: time.Now().Truncate(time.Hour),
		Ends: later, Most: 10}}))
	fails(t, db.Close())
}

// A kind of database.
type kind struct {
	name string
	url  func(name string) string
}

func kinds(t *testing.T) (all []kind) {
	all = append(all, kind{"SQLite", func(string) string { return "" }})
	server := pgtest.Start(t)
	return append(all, kind{"PostgreSQL", server.URL})
}

// TestBackup writes a backup of each kind of database and restores it into each kind: what may come back is there, and
// what may happen twice is not.
func TestBackup(t *testing.T) {
	all := kinds(t)
	for i, from := range all {
		for j, to := range all {
			t.Run(from.name+" to "+to.name, func(t *testing.T) {
				key := newKey(t)
				was := newState(t, from.url(fmt.Sprintf("from%d%d", i, j)), key)
				was.record(5)
				was.fill()
				path := filepath.Join(t.TempDir(), "backup")
				contents := must[*backup.Contents](t)(backup.Write(t.Context(), was.options, key, path, false))
				if info := must[fs.FileInfo](t)(os.Stat(path)); info.Mode().Perm() != 0o600 {
					t.Errorf("the backup has mode %v", info.Mode())
				}
				if n := contents.Rows["entries"]; n != 5 || contents.Rows["grants"] != 2 || contents.Rows["parked"] != 2 {
					t.Errorf("it has %v", contents.Rows)
				}
				is := newState(t, to.url(fmt.Sprintf("to%d%d", i, j)), key)
				report := must[*backup.Report](t)(is.restore(path, nil))
				if n := report.LeftOut; n["parked"] != 2 || n["approvals"] != 1 || n["grants"] != 2 || len(n) != 3 {
					t.Errorf("left out: %v", n)
				}
				is.cameBack(false)
				if v := is.verify(); len(v.Problems) > 0 || v.Restored == nil || v.Entries != 6 {
					t.Errorf("%+v", v)
				}
				is.record(3) // a process continues, in a chain of its own
				if v := is.verify(); len(v.Problems) > 0 || len(v.Chains) != 2 || v.Chains[0].Last != 5 || v.Chains[1].Last != 4 {
					t.Errorf("%+v", v)
				}

				whole := newState(t, to.url(fmt.Sprintf("whole%d%d", i, j)), key)
				must[*backup.Report](t)(whole.restore(path, func(r *backup.Restore) { r.Runs, r.Grants = true, true }))
				whole.cameBack(true)
				if v := whole.verify(); len(v.Problems) > 0 {
					t.Errorf("%+v", v)
				}
			})
		}
	}
}

// cameBack checks what a restored store has, with the runs and grants or without them.
func (s *state) cameBack(all bool) {
	t, ctx, db := s.t, s.t.Context(), s.open()
	t.Helper()
	results := must[[]*store.Result](t)(db.Results.Of(ctx, &store.Result{Handle: "res_1", Principal: "alice"}))
	if len(results) != 1 || !results[0].Untrusted {
		t.Fatalf("results: %v", results)
	}
	if part := must[[]byte](t)(results[0].Chunk(ctx, 1)); string(part) != "def" {
		t.Errorf("the second part of the result is %q", part)
	}
	found := must[[]*store.Session](t)(db.Sessions.Of(ctx, nil))
	if len(found) != 1 || found[0].Name != "notes" || len(found[0].Versions) != 1 {
		t.Fatalf("sessions: %v", found)
	}
	if image := must[[]byte](t)(found[0].Versions[0].Image(ctx)); string(image) != "session image" {
		t.Errorf("the session has %q", image)
	}
	if o := must[*store.Outcome](t)(db.Outcomes.Get(ctx, "r_over", "alice")); string(o.Body) != `{"value":1}` {
		t.Errorf("the outcome is %s", o.Body)
	}
	if k := must[*store.Key](t)(db.Keys.Keyed(ctx, "key_1")); k.Run != "r_going" {
		t.Errorf("the key names %q", k.Run)
	}
	if full := must[int](t)(db.Budgets.Charge(ctx, []int64{8}, []store.Window{{Name: "calls alice",
		Began: time.Now().Truncate(time.Hour), Ends: time.Now().Add(time.Hour), Most: 10}})); full != 0 {
		t.Error("the budget is as if nothing had been used")
	}
	grants := must[[]*store.Grant](t)(db.Grants.Of(ctx, "alice", "k"))
	waiting, _, err := db.Runs.List(ctx)
	fails(t, err)
	_, question := db.Approvals.Get(ctx, "a_1")
	_, going := db.Runs.Get(ctx, "r_going")
	if !errors.Is(going, store.ErrNotFound) {
		t.Errorf("a run that a process had begun is back: %v", going)
	}
	if !all {
		if len(grants) > 0 || len(waiting) > 0 || !errors.Is(question, store.ErrNotFound) {
			t.Errorf("grants %v, waiting runs %v, question %v", grants, waiting, question)
		}
		fails(t, db.Close())
		return
	}
	if len(grants) != 1 || grants[0].ID != "g_1" || len(waiting) != 1 || question != nil {
		t.Fatalf("grants %v, waiting runs %v, question %v", grants, waiting, question)
	}
	p := must[*store.ParkedRun](t)(db.Runs.Unpark(ctx, "r_waits", "a test"))
	fails(t, db.Runs.Begin(ctx, p))
	if string(p.Image) != "image" {
		t.Errorf("the run resumes with %q", p.Image)
	}
	fails(t, db.Close())
}

// TestRestoredRecordIsHonest restores a backup that is older than the checkpoints beside the record.
func TestRestoredRecordIsHonest(t *testing.T) {
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			key := newKey(t)
			was := newState(t, k.url("was"), key)
			was.record(5)
			path := filepath.Join(t.TempDir(), "backup")
			must[*backup.Contents](t)(backup.Write(t.Context(), was.options, key, path, false))
			was.record(4) // after the backup

			is := newState(t, k.url("is"), key)
			fails(t, os.WriteFile(is.checkpoints(), must[[]byte](t)(os.ReadFile(was.checkpoints())), 0o600))
			report := must[*backup.Report](t)(is.restore(path, nil))
			if report.Missing() != 4 {
				t.Errorf("it misses %d entries: %+v", report.Missing(), report.Chains)
			}
			misses := func(v audit.Verdict) {
				t.Helper()
				if len(v.Problems) != 1 {
					t.Fatalf("%+v", v.Problems)
				}
				p := v.Problems[0]
				if !p.Restored || p.Chain != 1 || p.Seq != 6 || p.Through != 9 ||
					!strings.Contains(p.What, "restored from a backup of "+report.Backup.Made.Format(time.RFC3339)) {
					t.Errorf("%v", p)
				}
			}
			misses(is.verify())
			is.record(3) // a process starts although entries are gone, and takes none of their numbers
			v := is.verify()
			misses(v)
			if last := v.Chains[len(v.Chains)-1]; last.Chain != 2 || last.Last != 4 {
				t.Errorf("%+v", v.Chains)
			}

			// A second restoration, of a backup of what was restored.
			second := filepath.Join(t.TempDir(), "backup")
			must[*backup.Contents](t)(backup.Write(t.Context(), is.options, key, second, false))
			is.record(2)
			again := newState(t, k.url("again"), key)
			fails(t, os.WriteFile(again.checkpoints(), must[[]byte](t)(os.ReadFile(is.checkpoints())), 0o600))
			must[*backup.Report](t)(again.restore(second, nil))
			again.record(1)
			v = again.verify()
			if len(v.Problems) != 2 || !v.Problems[0].Restored || !v.Problems[1].Restored || v.Problems[1].Chain != 2 ||
				v.Problems[1].Seq != 5 || v.Problems[1].Through != 6 || v.Chains[len(v.Chains)-1].Chain != 3 {
				t.Errorf("%+v", v)
			}
		})
	}
}

// TestForgedRestorations lists what somebody does to a restored record, and that it is found.
func TestForgedRestorations(t *testing.T) {
	key := newKey(t)
	was := newState(t, "", key)
	was.record(5)
	path := filepath.Join(t.TempDir(), "backup")
	must[*backup.Contents](t)(backup.Write(t.Context(), was.options, key, path, false))
	was.record(4)
	is := newState(t, "", key)
	fails(t, os.WriteFile(is.checkpoints(), must[[]byte](t)(os.ReadFile(was.checkpoints())), 0o600))
	must[*backup.Report](t)(is.restore(path, nil))
	is.record(1)
	for _, c := range []struct{ what, do string }{
		{"the restoration is gone", `DELETE FROM entries WHERE chain = 2; DELETE FROM chains WHERE number = 2`},
		{"entries are cut from the chain that came back", `DELETE FROM entries WHERE chain = 1 AND seq > 3;
			UPDATE chains SET seq = 3, hash = (SELECT hash FROM entries WHERE chain = 1 AND seq = 3) WHERE number = 1`},
		{"the restoration speaks of fewer entries", `UPDATE entries
			SET body = replace(body, '"last":5', '"last":3') WHERE chain = 2;
			DELETE FROM entries WHERE chain = 1 AND seq > 3`},
		{"the whole chain that came back is gone", `DELETE FROM entries WHERE chain = 1;
			DELETE FROM chains WHERE number = 1`},
	} {
		t.Run(c.what, func(t *testing.T) {
			forged := newState(t, "", key)
			fails(t, os.CopyFS(forged.dir, os.DirFS(is.dir)))
			db := must[*sql.DB](t)(sql.Open("sqlite", forged.options.Path))
			for _, statement := range []string{`DROP TRIGGER entries_no_update`, `DROP TRIGGER entries_no_delete`, c.do} {
				_, err := db.Exec(statement)
				fails(t, err)
			}
			fails(t, db.Close())
			v := forged.verify()
			if !slices.ContainsFunc(v.Problems, func(p audit.Problem) bool {
				return !p.Restored && !strings.Contains(p.What, "trigger")
			}) {
				t.Errorf("%+v", v.Problems)
			}
			for _, p := range v.Problems {
				t.Log(p)
			}
		})
	}
}

// TestRefused lists what is refused. The place stays as it was.
func TestRefused(t *testing.T) {
	key := newKey(t)
	was := newState(t, "", key)
	was.record(300)
	was.fill()
	good := filepath.Join(t.TempDir(), "backup")
	must[*backup.Contents](t)(backup.Write(t.Context(), was.options, key, good, false))
	raw := must[[]byte](t)(os.ReadFile(good))
	changed := func(at int, b byte) []byte {
		c := slices.Clone(raw)
		c[at] ^= b
		return c
	}
	statements := func(t *testing.T, path string, all ...string) {
		db := must[*sql.DB](t)(sql.Open("sqlite", path))
		defer db.Close()
		for _, s := range all {
			_, err := db.Exec(s)
			fails(t, err)
		}
	}
	cases := []struct {
		what  string
		bytes []byte
		do    func(t *testing.T, path string, s *state)
		says  string
	}{
		{"a file that was cut off", raw[:len(raw)-len(raw)/3], nil, "cannot be restored"},
		{"a file of which a page was cut off", raw[:len(raw)-8192], nil, "cannot be restored"},
		{"an empty file", nil, nil, "cannot be restored"},
		{"a file with another beginning", changed(3, 1), nil, "cannot be restored"},
		{"another grant", raw, func(t *testing.T, path string, _ *state) {
			statements(t, path, `UPDATE grants SET expires = expires - 1`)
		}, "not those that were written"},
		{"a row more", raw, func(t *testing.T, path string, _ *state) {
			statements(t, path, `INSERT INTO overlays VALUES ('o', 'alice', '{}', 1, 2)`)
		}, "not those that were written"},
		{"a row fewer", raw, func(t *testing.T, path string, _ *state) { statements(t, path, `DELETE FROM keys`) },
			"not those that were written"},
		{"other contents", raw, func(t *testing.T, path string, _ *state) {
			statements(t, path, `UPDATE backup
				SET contents = CAST(replace(CAST(contents AS text), '"keys":1', '"keys":2') AS blob)`)
		}, "another key of the record"},
		{"another key of the record", raw, func(t *testing.T, _ string, s *state) { s.key = newKey(t) },
			"another key of the record"},
		{"a database that is no backup", must[[]byte](t)(os.ReadFile(was.options.Path)), nil, "no backup"},
		{"a place with a database", raw, func(_ *testing.T, _ string, s *state) { s.record(1) }, "move it away"},
		{"a place with the log of a database", raw, func(t *testing.T, _ string, s *state) {
			fails(t, os.WriteFile(s.options.Path+"-wal", nil, 0o600))
		}, "write-ahead log"},
		{"checkpoints of another database", raw, func(t *testing.T, _ string, s *state) {
			other := newState(t, "", key)
			other.record(1)
			fails(t, os.Rename(other.checkpoints(), s.checkpoints()))
		}, "are of the database"},
	}
	for _, c := range cases {
		t.Run(c.what, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "backup")
			fails(t, os.WriteFile(path, c.bytes, 0o600))
			s := newState(t, "", key)
			if c.do != nil {
				c.do(t, path, s)
			}
			before := must[[]fs.DirEntry](t)(os.ReadDir(s.dir))
			report, err := s.restore(path, nil)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %+v, %v; want an error with %q", report, err, c.says)
			}
			t.Log(err)
			if after := must[[]fs.DirEntry](t)(os.ReadDir(s.dir)); len(after) != len(before) {
				t.Errorf("the place has %v, and had %v", after, before)
			}
		})
	}
	// Every tenth of the file, a bit is turned.
	for i := range 10 {
		path := filepath.Join(t.TempDir(), "backup")
		fails(t, os.WriteFile(path, changed(len(raw)/10*i+200, 1), 0o600))
		s := newState(t, "", key)
		if _, err := s.restore(path, nil); err == nil { // the bit was in a part of the file that nothing uses
			if v := s.verify(); len(v.Problems) > 0 {
				t.Errorf("a bit at %d: %+v", len(raw)/10*i+200, v.Problems)
			}
			s.cameBack(false)
		}
	}
}

// TestABackupIsNoStore opens a backup as a store, which would run waiting runs again.
func TestABackupIsNoStore(t *testing.T) {
	key := newKey(t)
	was := newState(t, "", key)
	was.record(1)
	path := filepath.Join(t.TempDir(), "backup")
	must[*backup.Contents](t)(backup.Write(t.Context(), was.options, key, path, false))
	for _, readOnly := range []bool{true, false} {
		db, err := store.Open(t.Context(), store.Options{Path: path, ReadOnly: readOnly})
		if err == nil {
			db.Close()
			t.Fatal("it was opened")
		}
		if !strings.Contains(err.Error(), "codemode store restore") {
			t.Error(err)
		}
	}
	if _, err := backup.Write(t.Context(), was.options, key, path, false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second backup over it: %v", err)
	}
	must[*backup.Contents](t)(backup.Write(t.Context(), was.options, key, path, true))
}

// TestEveryColumnIsCopied compares the tables that are copied with those of both databases.
func TestEveryColumnIsCopied(t *testing.T) {
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			s := newState(t, k.url("columns"), newKey(t))
			s.record(1)
			s.fill()
			survey := must[*backup.Survey](t)(backup.Look(t.Context(), s.options))
			if len(survey.Problems) > 0 || survey.Kind != k.name || survey.Bytes == 0 {
				t.Errorf("%+v", survey)
			}
			for _, missing := range backup.NotCopied(t, s.options) {
				t.Errorf("%s is not in a backup", missing)
			}
		})
	}
}
