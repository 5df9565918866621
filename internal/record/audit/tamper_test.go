package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"golang.org/x/mod/sumdb/note"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/hostile"
	"github.com/codemode-project/codemode/internal/store"

	"github.com/codemode-project/codemode/call"
)

// long reports whether the tests are to take all the time they want; see "make test-long".
func long() bool { return os.Getenv("CODEMODE_LONG") != "" }

// A recorded is a record of two writers, complete and at rest.
type recorded struct {
	dir         string
	key         *Key
	checkpoints []Checkpoint
	rows        []store.Row // by chain and seq
	id          string
}

func (r *recorded) path() string { return filepath.Join(r.dir, "codemode.db") }

func newRecorded(t testing.TB, entries int) *recorded {
	t.Helper()
	rec := &recorded{dir: t.TempDir()}
	key, err := NewKey(make([]byte, 32))
	check(t, err)
	rec.key = key
	heads := filepath.Join(rec.dir, "checkpoints.jsonl")
	open := func() *Record {
		return New(Options{
			Open: func(ctx context.Context) (*store.DB, error) { return store.Open(ctx, store.Options{Path: rec.path()}) },
			Key:  key, Publish: []Publisher{FilePublisher(heads)},
		})
	}
	both := []*Record{open(), open()}
	for n := range entries {
		e := call.Entry{Kind: Call, State: OK, Run: fmt.Sprint("r_", n%7), Call: n + 1, Tool: "fs__read", Profile: "safe",
			Reason: "=cmd()\n\"x\"",
			Args:   &call.EntryArgs{RawExecuted: call.Unread([]byte(fmt.Sprintf(`{"path":"notes/%d.md","n":%d}`, n, n)))}}
		check(t, both[n%3%2].Add(t.Context(), e))
		if n%40 == 39 { // a checkpoint now and then, as time would bring it
			for i, r := range both {
				check(t, r.Close(t.Context()))
				both[i] = open()
				check(t, both[i].Write(t.Context(), call.Entry{Kind: Notice, State: "opened"}))
			}
		}
	}
	for _, r := range both {
		check(t, r.Close(t.Context()))
	}
	rec.checkpoints = checkpointsOf(t, heads)
	db := rec.open(t, rec.path())
	rec.id = db.ID()
	chains, err := db.Entries.Chains(t.Context())
	check(t, err)
	if len(chains) != 2 {
		t.Fatalf("the record has the chains %v, want two", chains)
	}
	for _, n := range chains {
		check(t, db.Entries.Rows(t.Context(), store.Query{Chain: n}, func(r *store.Row) error {
			rec.rows = append(rec.rows, *r)
			return nil
		}))
	}
	check(t, db.Close())
	return rec
}

var check = checktest.OK

func checkpointsOf(t testing.TB, path string) []Checkpoint {
	t.Helper()
	f, err := os.Open(path)
	check(t, err)
	defer f.Close()
	all, bad, err := ReadCheckpoints(f)
	check(t, err)
	if len(bad) > 0 || len(all) == 0 {
		t.Fatalf("%d checkpoints, bad lines %v", len(all), bad)
	}
	return all
}

func (rec *recorded) open(t testing.TB, path string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: path, ReadOnly: true})
	check(t, err)
	return db
}

// verify gives the verdict on a copy of the database, or the error that kept it from being opened.
func (rec *recorded) verify(t testing.TB, path string) (Verdict, error) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: path, ReadOnly: true})
	if err != nil {
		return Verdict{}, err
	}
	defer db.Close()
	v := rec.verifier()
	check(t, v.Database(t.Context(), "the database", db))
	v.Beside("published", rec.checkpoints)
	return v.Finish(), nil
}

func (rec *recorded) verifier() *Verifier {
	key, err := ParsePublic(rec.key.Public())
	if err != nil {
		panic(err)
	}
	return &Verifier{Keys: []note.Verifier{key}}
}

// chain gives the rows of a chain.
func (rec *recorded) chain(n int64) []store.Row {
	var rows []store.Row
	for _, r := range rec.rows {
		if r.Chain == n {
			rows = append(rows, r)
		}
	}
	return rows
}

// names reports whether the verdict names an entry as the first of its chain that is wrong, or, where nobody can know
// which was the first, gives a range that begins at or before it and ends at or behind it.
func names(v Verdict, chain, seq int64) bool {
	for _, p := range v.Problems {
		if p.Chain == chain {
			return p.Seq == seq || p.Seq <= seq && seq <= p.Through
		}
	}
	return false
}

func TestUntouched(t *testing.T) {
	rec := newRecorded(t, 100)
	v, err := rec.verify(t, rec.path())
	check(t, err)
	// and one of each chain in the database
	if len(v.Problems) > 0 || v.Entries != len(rec.rows) || v.Checkpoints != len(rec.checkpoints)+2 {
		t.Fatalf("%d of %d entries, problems %v", v.Entries, len(rec.rows), v.Problems)
	}
	for _, s := range v.Chains {
		if s.Covered != s.Last {
			t.Errorf("chain %d ends at %d and is covered up to %d", s.Chain, s.Last, s.Covered)
		}
	}
}

// TestTampering makes one random change after the other to copies of a record, as somebody would who may do
// everything with the file. Each has to be found, and the first entry it touched named.
func TestTampering(t *testing.T) {
	hostile.NotRaced(t, "one goroutine computes")
	rec := newRecorded(t, 260)
	times := 64
	if long() {
		times = 1000
	}
	rec.findsEach(t, tamperings, times)
}

// findsEach makes changes to copies of the record, one each time. Each has to be found, and the first entry it touched
// named.
func (rec *recorded) findsEach(t *testing.T, changes []tampering, times int) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(7, 9))
	intact, err := os.ReadFile(rec.path())
	check(t, err)
	copied := filepath.Join(t.TempDir(), "copy.db")
	for i := range times {
		check(t, os.WriteFile(copied, intact, 0o600))
		change := changes[i%len(changes)]
		chain, seq := tamper(t, rec, copied, rnd, change.do)
		v, err := rec.verify(t, copied)
		check(t, err)
		if !names(v, chain, seq) {
			t.Fatalf("%s (change %d): entry %d of chain %d is not named: %v", change.name, i, seq, chain, v.Problems)
		}
		for _, suffix := range []string{"-wal", "-shm"} {
			os.Remove(copied + suffix)
		}
	}
}

func tamper(t *testing.T, rec *recorded, path string, rnd *rand.Rand, do func(*tamperer) (chain, seq int64)) (chain,
	seq int64) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	check(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	x := &tamperer{t: t, db: db, rnd: rnd, rows: rec.chain(int64(1 + rnd.IntN(2)))}
	// The trigger comes back as it was, so that it is the entry that is found.
	var triggers []string
	rows, err := db.Query(`SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'entries%'`)
	check(t, err)
	for rows.Next() {
		var s string
		check(t, rows.Scan(&s))
		triggers = append(triggers, s)
	}
	check(t, rows.Close())
	for _, name := range []string{"entries_no_update", "entries_no_delete"} {
		x.exec(`DROP TRIGGER ` + name)
	}
	chain, seq = do(x)
	for _, s := range triggers {
		x.exec(s)
	}
	return chain, seq
}

type tamperer struct {
	t    *testing.T
	db   *sql.DB
	rnd  *rand.Rand
	rows []store.Row // of one chain
}

func (x *tamperer) exec(query string, args ...any) {
	x.t.Helper()
	if _, err := x.db.Exec(query, args...); err != nil {
		x.t.Fatalf("%s: %v", query, err)
	}
}

// any picks an entry, not the last.
func (x *tamperer) any() store.Row { return x.rows[x.rnd.IntN(len(x.rows)-1)] }

// edited is a body with another value somewhere that stays an entry.
func (x *tamperer) edited(body string) string {
	for _, with := range [][2]string{{`"fs__read"`, `"fs__list"`}, {`"safe"`, `"save"`}, {`"ok"`, `"unknown"`},
		{`"opened"`, `"closed"`}} {
		if x.rnd.IntN(2) == 0 && strings.Contains(body, with[0]) {
			return strings.Replace(body, with[0], with[1], 1)
		}
	}
	return regexp.MustCompile(`"time":"\d`).ReplaceAllString(body, `"time":"3`)
}

// rewrite makes the chain true again from entry i on, with the body of i as given.
func (x *tamperer) rewrite(i int, body string, columns func(seq int64, body string)) {
	hash := x.rows[i].Hash
	for n := i; n < len(x.rows); n++ {
		r := x.rows[n]
		if n > i {
			body = strings.Replace(r.Body, hex.EncodeToString(x.rows[n-1].Hash[:]), hex.EncodeToString(hash[:]), 1)
		}
		hash = sha256.Sum256([]byte(body))
		x.exec(`UPDATE entries SET body = ?, hash = ? WHERE chain = ? AND seq = ?`, body, hash[:], r.Chain, r.Seq)
		if columns != nil {
			columns(r.Seq, body)
		}
	}
	x.exec(`UPDATE chains SET hash = ? WHERE number = ?`, hash[:], x.rows[0].Chain)
}

// A tampering changes a record, and gives the first entry that it touched.
type tampering struct {
	name string
	do   func(x *tamperer) (chain, seq int64)
}

var tamperings = []tampering{
	{"a body is edited", func(x *tamperer) (int64, int64) {
		r := x.any()
		x.exec(`UPDATE entries SET body = ? WHERE chain = ? AND seq = ?`, x.edited(r.Body), r.Chain, r.Seq)
		return r.Chain, r.Seq
	}},
	{"a byte of a body is changed", func(x *tamperer) (int64, int64) {
		r := x.any()
		b := []byte(r.Body)
		b[x.rnd.IntN(len(b))] ^= byte(1 + x.rnd.IntN(7))
		x.exec(`UPDATE entries SET body = ? WHERE chain = ? AND seq = ?`, string(bytes.ToValidUTF8(b, []byte("?"))), r.Chain,
			r.Seq)
		return r.Chain, r.Seq
	}},
	{"a column is changed", func(x *tamperer) (int64, int64) {
		r := x.any()
		column := []string{"kind", "state", "run", "principal", "profile", "tool"}[x.rnd.IntN(6)]
		x.exec(`UPDATE entries SET `+column+` = `+column+` || 'x' WHERE chain = ? AND seq = ?`, r.Chain, r.Seq)
		return r.Chain, r.Seq
	}},
	{"a number is changed", func(x *tamperer) (int64, int64) {
		r := x.any()
		column := []string{"time", "call"}[x.rnd.IntN(2)]
		x.exec(`UPDATE entries SET `+column+` = `+column+` + 1 WHERE chain = ? AND seq = ?`, r.Chain, r.Seq)
		return r.Chain, r.Seq
	}},
	{"a hash is changed", func(x *tamperer) (int64, int64) {
		r := x.any()
		r.Hash[x.rnd.IntN(32)]++
		x.exec(`UPDATE entries SET hash = ? WHERE chain = ? AND seq = ?`, r.Hash[:], r.Chain, r.Seq)
		return r.Chain, r.Seq
	}},
	{"a body is edited and its hash made to fit", func(x *tamperer) (int64, int64) {
		r := x.any()
		body := regexp.MustCompile(`"time":"\d`).ReplaceAllString(r.Body, `"time":"2`)
		body = strings.Replace(body, "notes/", "other/", 1)
		if body == r.Body {
			body = strings.Replace(body, `"kind":"notice"`, `"detail":"x","kind":"notice"`, 1)
		}
		hash := sha256.Sum256([]byte(body))
		x.exec(`UPDATE entries SET body = ?, hash = ? WHERE chain = ? AND seq = ?`, body, hash[:], r.Chain, r.Seq)
		return r.Chain, r.Seq
	}},
	{"an entry is deleted", func(x *tamperer) (int64, int64) {
		r := x.any()
		x.exec(`DELETE FROM entries WHERE chain = ? AND seq = ?`, r.Chain, r.Seq)
		return r.Chain, r.Seq
	}},
	{"several are deleted", func(x *tamperer) (int64, int64) {
		r := x.any()
		x.exec(`DELETE FROM entries WHERE chain = ? AND seq BETWEEN ? AND ?`, r.Chain, r.Seq, r.Seq+int64(x.rnd.IntN(20)))
		return r.Chain, r.Seq
	}},
	{"the end is cut off", func(x *tamperer) (int64, int64) {
		r := x.any()
		x.exec(`DELETE FROM entries WHERE chain = ? AND seq >= ?`, r.Chain, r.Seq)
		return r.Chain, r.Seq
	}},
	{"the end is cut off, and the head set back", func(x *tamperer) (int64, int64) {
		i := 1 + x.rnd.IntN(len(x.rows)-1)
		r := x.rows[i]
		x.exec(`DELETE FROM entries WHERE chain = ? AND seq >= ?`, r.Chain, r.Seq)
		x.exec(`UPDATE chains SET seq = ?, hash = ? WHERE number = ?`, r.Seq-1, x.rows[i-1].Hash[:], r.Chain)
		return r.Chain, r.Seq
	}},
	{"the beginning is cut off", func(x *tamperer) (int64, int64) {
		r := x.any()
		x.exec(`DELETE FROM entries WHERE chain = ? AND seq <= ?`, r.Chain, r.Seq)
		return r.Chain, 1
	}},
	{"a whole chain is deleted with its head", func(x *tamperer) (int64, int64) {
		n := x.rows[0].Chain
		x.exec(`DELETE FROM entries WHERE chain = ?`, n)
		x.exec(`DELETE FROM chains WHERE number = ?`, n)
		return n, 1
	}},
	{"two entries change places", func(x *tamperer) (int64, int64) {
		i := x.rnd.IntN(len(x.rows) - 2)
		a, b := x.rows[i], x.rows[i+1+x.rnd.IntN(len(x.rows)-i-2)]
		x.exec(`UPDATE entries SET seq = -1 WHERE chain = ? AND seq = ?`, a.Chain, a.Seq)
		x.exec(`UPDATE entries SET seq = ? WHERE chain = ? AND seq = ?`, a.Seq, a.Chain, b.Seq)
		x.exec(`UPDATE entries SET seq = ? WHERE chain = ? AND seq = -1`, b.Seq, a.Chain)
		return a.Chain, a.Seq
	}},
	{"an entry is written twice", func(x *tamperer) (int64, int64) {
		r := x.rows[len(x.rows)-1]
		x.exec(`INSERT INTO entries SELECT chain, seq + 1, time, kind, state, run, call, principal, profile, tool, hash, body, sealed FROM entries WHERE chain = ? AND seq = ?`, r.Chain, r.Seq)
		return r.Chain, r.Seq + 1
	}},
	{"the chain is rewritten from an entry on", func(x *tamperer) (int64, int64) {
		i := x.rnd.IntN(len(x.rows) - 1)
		r := x.rows[i]
		body := strings.Replace(r.Body, `"v":1`, `"toolDefinition":"x","v":1`, 1)
		x.rewrite(i, body, nil)
		return r.Chain, r.Seq
	}},
	{"the whole chain is rewritten", func(x *tamperer) (int64, int64) {
		body := strings.Replace(x.rows[0].Body, `"v":1`, `"toolDefinition":"x","v":1`, 1)
		x.rewrite(0, body, nil)
		return x.rows[0].Chain, 1
	}},
}

// TestFileTampering does the same to exported files of every format, whole and filtered.
func TestFileTampering(t *testing.T) {
	hostile.NotRaced(t, "one goroutine computes")
	rec := newRecorded(t, 130)
	times := 25
	if long() {
		times = 170 // of six kinds of file
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	db := rec.open(t, rec.path())
	defer db.Close()
	for _, format := range []Format{JSONL, JSON, CSV} {
		for _, q := range []store.Query{{}, {Run: "r_3"}} {
			var b bytes.Buffer
			n, err := Export(t.Context(), &b, db, rec.key, format, q, time.Now())
			check(t, err)
			if n == 0 {
				t.Fatal("nothing was exported")
			}
			intact := b.String()
			if v := rec.verifyFile(t, intact); len(v.Problems) > 0 {
				t.Fatalf("%s, untouched: %v", format, v.Problems)
			}
			for i := range times {
				lines := strings.SplitAfter(intact, "\n")
				lines = lines[:len(lines)-1]
				change := fileTamperings[i%len(fileTamperings)]
				// Records of CSV have line ends in them; what is taken out and moved is whole records.
				if format == CSV {
					lines = csvRecords(intact)
				}
				first := 1 // what comes before the first entry is a header in two of the formats
				if format == JSONL {
					first = 0
				}
				at, now := change.do(rnd, slices.Clone(lines), first)
				v := rec.verifyFile(t, strings.Join(now, ""))
				if len(v.Problems) == 0 {
					t.Fatalf("%s, filter %q, %s at line %d was not found", format, q.Run, change.name, at+1)
				}
				want := entryOf(lines, at)
				if want == nil {
					continue // the line is no entry
				}
				if !named1(v, want, at+1) {
					t.Fatalf("%s, filter %q, %s: entry %d of chain %d (line %d) is not named: %v", format, q.Run, change.name,
						want.Seq, want.Chain, at+1, v.Problems)
				}
			}
		}
	}
}

// named1 reports whether a problem names the entry or its line before any later one of its chain.
func named1(v Verdict, e *Entry, line int) bool {
	for _, p := range v.Problems {
		if p.Line == line || p.Chain == e.Chain && (p.Seq == e.Seq || p.Seq <= e.Seq && e.Seq <= p.Through) {
			return true
		}
		if p.Chain == e.Chain && p.Seq > e.Seq {
			return false
		}
	}
	return false
}

func csvRecords(s string) []string {
	var all []string
	rest := s
	for rest != "" {
		quoted, end := false, -1
		for i := range len(rest) {
			if rest[i] == '"' {
				quoted = !quoted
			}
			if rest[i] == '\n' && !quoted {
				end = i
				break
			}
		}
		all = append(all, rest[:end+1])
		rest = rest[end+1:]
	}
	return all
}

var chainSeq = regexp.MustCompile(`"+chain"+:(\d+).*"+seq"+:(\d+)`)

func entryOf(lines []string, at int) *Entry {
	if at >= len(lines) {
		return nil
	}
	m := chainSeq.FindStringSubmatch(lines[at])
	if m == nil || strings.Contains(lines[at], "checkpoint") {
		return nil
	}
	e := &Entry{}
	fmt.Sscan(m[1], &e.Chain)
	fmt.Sscan(m[2], &e.Seq)
	return e
}

func (rec *recorded) verifyFile(t testing.TB, content string) Verdict {
	t.Helper()
	v := rec.verifier()
	check(t, v.File(t.Context(), "the file", strings.NewReader(content)))
	return v.Finish()
}

var fileTamperings = []struct {
	name string
	do   func(rnd *rand.Rand, lines []string, first int) (at int, changed []string)
}{
	{"a byte is changed", func(rnd *rand.Rand, lines []string, first int) (int, []string) {
		at := first + rnd.IntN(len(lines)-first)
		b := []byte(lines[at])
		b[rnd.IntN(len(b)-1)] ^= byte(1 + rnd.IntN(7))
		lines[at] = string(b)
		return at, lines
	}},
	{"a blank is added", func(rnd *rand.Rand, lines []string, first int) (int, []string) {
		at := first + rnd.IntN(len(lines)-first)
		i := rnd.IntN(len(lines[at]))
		lines[at] = lines[at][:i] + " " + lines[at][i:]
		return at, lines
	}},
	{"a line is deleted", func(rnd *rand.Rand, lines []string, first int) (int, []string) {
		at := first + rnd.IntN(len(lines)-first)
		return at, slices.Delete(lines, at, at+1)
	}},
	{"two lines change places", func(rnd *rand.Rand, lines []string, first int) (int, []string) {
		at := first + rnd.IntN(len(lines)-first-2)
		with := at + 1 + rnd.IntN(len(lines)-at-2)
		if lines[at] == lines[with] {
			with++
		}
		lines[at], lines[with] = lines[with], lines[at]
		return at, lines
	}},
	{"the file is cut off", func(rnd *rand.Rand, lines []string, first int) (int, []string) {
		at := first + rnd.IntN(len(lines)-first)
		return at, append(lines[:at:at], lines[at][:rnd.IntN(len(lines[at]))])
	}},
	{"a line is written twice", func(rnd *rand.Rand, lines []string, first int) (int, []string) {
		at := first + rnd.IntN(len(lines)-first-1)
		return at, slices.Insert(lines, at, lines[at])
	}},
}
