package audit

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"github.com/codemode-project/codemode/call"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/hostile"
	"github.com/codemode-project/codemode/internal/store"
)

// prune exports the record and removes what the file covers, but for the last entries of each chain.
func (rec *recorded) prune(t *testing.T, keep int) (file []byte, removed int64) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: rec.path()})
	check(t, err)
	defer db.Close()
	var out bytes.Buffer
	_, err = Export(t.Context(), &out, db, rec.key, JSONL, store.Query{Sealed: true}, time.Now())
	check(t, err)
	v := rec.verifier()
	check(t, v.File(t.Context(), "the file", bytes.NewReader(out.Bytes())))
	verdict := v.Finish()
	if len(verdict.Problems) > 0 {
		t.Fatal(verdict.Problems)
	}
	for i := range verdict.Chains {
		verdict.Chains[i].Covered -= int64(keep)
	}
	removed, err = Prune(t.Context(), db, rec.key, verdict.Chains, time.Now().Add(time.Hour), time.Now())
	check(t, err)
	rec.rows = slices.DeleteFunc(rec.rows, func(r store.Row) bool {
		i := slices.IndexFunc(verdict.Chains, func(s Span) bool { return s.Chain == r.Chain })
		return r.Seq > 1 && r.Seq <= verdict.Chains[i].Covered
	})
	return out.Bytes(), removed
}

func TestExportedEntriesAreRemoved(t *testing.T) {
	rec := newRecorded(t, 300)
	all := len(rec.rows)
	older, first := rec.prune(t, 60)
	newer, second := rec.prune(t, 20)
	if int(first+second) != all-len(rec.rows) || second != 80 {
		t.Fatalf("%d and %d entries were removed of %d, and %d should be left", first, second, all, len(rec.rows))
	}
	v, err := rec.verify(t, rec.path())
	check(t, err)
	if len(v.Problems) > 0 || v.Entries != len(rec.rows) || v.Chains[0].Pruned != v.Chains[0].First-1 ||
		v.Chains[0].Covered != v.Chains[0].Last {
		t.Fatalf("%d of %d entries, chains %+v, problems %v", v.Entries, len(rec.rows), v.Chains, v.Problems)
	}
	for name, files := range map[string][][]byte{"both": {older, newer}, "in the other order": {newer, older},
		"the newer": {newer}} {
		v := rec.verifier()
		for i, f := range files {
			check(t, v.File(t.Context(), name+" "+string(rune('1'+i)), bytes.NewReader(f)))
		}
		db := rec.open(t, rec.path())
		check(t, v.Database(t.Context(), "the database", db))
		check(t, db.Close())
		verdict := v.Finish()
		if len(verdict.Problems) > 0 {
			t.Errorf("%s: %v", name, verdict.Problems)
		}
		if whole := verdict.Chains[0].First == 1 && verdict.Chains[0].Pruned == 0; whole != (len(files) == 2) {
			t.Errorf("%s: %+v", name, verdict.Chains)
		}
	}
	// A file whose removed entries somebody changed is found out, by itself and beside the record.
	changed := bytes.Replace(older, []byte("notes/100.md"), []byte("notes/101.md"), 1)
	for _, beside := range []bool{false, true} {
		v := rec.verifier()
		check(t, v.File(t.Context(), "the file", bytes.NewReader(changed)))
		if beside {
			db := rec.open(t, rec.path())
			check(t, v.Database(t.Context(), "the database", db))
			check(t, db.Close())
		}
		if verdict := v.Finish(); len(verdict.Problems) == 0 {
			t.Error("a changed file is what was written")
		}
	}
	// The writer goes on, and a restart finds the chain fit.
	record := New(Options{Key: rec.key, Open: func(ctx context.Context) (*store.DB, error) {
		return store.Open(ctx, store.Options{Path: rec.path()})
	}})
	check(t, record.Write(t.Context(), call.Entry{Kind: Notice, State: "opened"}))
	check(t, record.Close(t.Context()))
	db := rec.open(t, rec.path())
	defer db.Close()
	if chains, err := db.Entries.Chains(t.Context()); err != nil || len(chains) != 2 {
		t.Errorf("the chains are %v, %v", chains, err)
	}
}

// TestTamperingWithAPrunedRecord makes each change of TestTampering to a record whose older entries are exported, and
// some that only such a record allows.
func TestTamperingWithAPrunedRecord(t *testing.T) {
	hostile.NotRaced(t, "one goroutine computes")
	rec := newRecorded(t, 260)
	rec.prune(t, 40)
	changes := slices.Concat(tamperings, []tampering{
		{"more is removed than was signed", func(x *tamperer) (int64, int64) {
			r := x.rows[1+x.rnd.IntN(len(x.rows)-2)]
			x.exec(`UPDATE chains SET pruned = ? WHERE number = ?`, r.Seq, r.Chain)
			x.exec(`DELETE FROM entries WHERE chain = ? AND seq > 1 AND seq <= ?`, r.Chain, r.Seq)
			return r.Chain, x.rows[1].Seq
		}},
		{"what says that it was removed is gone", func(x *tamperer) (int64, int64) {
			x.exec(`UPDATE chains SET pruning = '' WHERE number = ?`, x.rows[0].Chain)
			return x.rows[0].Chain, 2
		}},
		{"it is that of another chain", func(x *tamperer) (int64, int64) {
			x.exec(`UPDATE chains SET pruning = (SELECT pruning FROM chains WHERE number <> ?) WHERE number = ?`,
				x.rows[0].Chain, x.rows[0].Chain)
			return x.rows[0].Chain, 2
		}},
		{"another number is in it", func(x *tamperer) (int64, int64) {
			x.exec(`UPDATE chains SET pruning = replace(pruning, char(10) || pruned || char(10),
				char(10) || (pruned + 1) || char(10)) WHERE number = ?`, x.rows[0].Chain)
			return x.rows[0].Chain, 2
		}},
		{"the first entry is gone", func(x *tamperer) (int64, int64) {
			x.exec(`DELETE FROM entries WHERE chain = ? AND seq = 1`, x.rows[0].Chain)
			return x.rows[0].Chain, 1
		}},
	})
	rec.findsEach(t, changes, 3*len(changes))
}

// What is not what its writer signed is not removed: it may be the only trace of a change.
func TestAChangedRecordIsNotPruned(t *testing.T) {
	for name, change := range map[string]string{
		"a body":          `UPDATE entries SET body = replace(body, 'fs__read', 'fs__list') WHERE chain = 1 AND seq = 5`,
		"a column":        `UPDATE entries SET tool = 'other' WHERE chain = 1 AND seq = 5`,
		"sealed values":   `UPDATE entries SET sealed = x'00' WHERE chain = 1 AND seq = 5`,
		"an entry":        `DELETE FROM entries WHERE chain = 1 AND seq = 5`,
		"the checkpoint":  `UPDATE chains SET checkpoint = (SELECT checkpoint FROM chains WHERE number = 2) WHERE number = 1`,
		"no checkpoint":   `UPDATE chains SET checkpoint = '' WHERE number = 1`,
		"an open call":    `UPDATE chains SET open_from = 1 WHERE number = 1`,
		"another pruning": `UPDATE chains SET pruning = 'forged' WHERE number = 1`,
	} {
		t.Run(name, func(t *testing.T) {
			rec := newRecorded(t, 100)
			raw, err := sql.Open("sqlite", rec.path())
			check(t, err)
			defer raw.Close()
			for _, statement := range []string{`DROP TRIGGER entries_no_update`, `DROP TRIGGER entries_no_delete`, change} {
				_, err = raw.Exec(statement)
				check(t, err)
			}
			db, err := store.Open(t.Context(), store.Options{Path: rec.path()})
			check(t, err)
			defer db.Close()
			removed, err := Prune(t.Context(), db, rec.key, []Span{{Chain: 1, Covered: 40}}, time.Now().Add(time.Hour), time.Now())
			if quiet := strings.HasPrefix(name, "no ") || name == "an open call"; removed != 0 || (err == nil) != quiet {
				t.Errorf("%d entries are removed: %v", removed, err)
			}
		})
	}
}

// A crash leaves the signed note and some of the entries: the record verifies, and the next time removes the rest.
func TestPruningGoesOnAfterACrash(t *testing.T) {
	rec := newRecorded(t, 120)
	before, err := os.ReadFile(rec.path())
	check(t, err)
	rec.prune(t, 10)
	db := rec.open(t, rec.path())
	ends, err := db.Entries.Ends(t.Context())
	check(t, errors.Join(err, db.Close()))
	check(t, os.WriteFile(rec.path(), before, 0o600))
	raw, err := sql.Open("sqlite", rec.path())
	check(t, err)
	defer raw.Close()
	for _, e := range ends {
		p, err := parsePruning(e.Pruning)
		check(t, err)
		_, err = raw.Exec(`UPDATE chains SET pruning = ?, pruned = ? WHERE number = ?`, e.Pruning, p.seq, e.Chain)
		check(t, err)
		_, err = raw.Exec(`DELETE FROM entries WHERE chain = ? AND seq BETWEEN 2 AND 10`, e.Chain)
		check(t, err)
	}
	v, err := rec.verify(t, rec.path())
	check(t, err)
	if len(v.Problems) > 0 || v.Chains[0].First != 11 || v.Chains[0].Covered != v.Chains[0].Last {
		t.Errorf("%+v, problems %v", v.Chains, v.Problems)
	}
	if _, removed := rec.prune(t, 10); removed == 0 {
		t.Error("the rest is still there")
	}
	if v, err = rec.verify(t, rec.path()); err != nil || len(v.Problems) > 0 || v.Entries != len(rec.rows) {
		t.Errorf("%d of %d entries, problems %v, %v", v.Entries, len(rec.rows), v.Problems, err)
	}
}
