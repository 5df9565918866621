// Package storetest tests the behaviour that package store requires of every database.
package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/store"
)

// Fresh makes a new database. The function it returns opens it, each time like a new process.
type Fresh func(t *testing.T) (open func(now func() time.Time) *store.DB)

// Test runs the conformance test. silence makes other processes consider the process that opened a database dead, and
// few limits how many outcomes of a principal a database stores.
func Test(t *testing.T, silence func(*store.DB), few func(d *store.DB, outcomes int), fresh Fresh) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, open func(now func() time.Time) *store.DB)
	}{
		{"a chain goes on where it ended", chainGoesOn},
		{"two writers have two chains", twoWriters},
		{"rows that do not follow are refused", fenced},
		{"an append says truly whether it happened", check},
		{"queries select", queries},
		{"the entries of a run are found, however they were written", ofRuns},
		{"text comes back as it was", anyText},
		{"calls of a dead writer are found once", abandoned},
		{"an approval is answered once", answeredOnce},
		{"answers are read for many questions at once", manyAnswers},
		{"an approval is used once", usedOnce},
		{"many are asked and answered at once", manyAtOnce},
		{"an approval ends", approvalEnds},
		{"only the process that has a run asks about it", asksAlone},
		{"a process that claims a run finds all that was asked", asksBefore},
		{"exported entries are removed while a writer goes on, and no others", pruned},
		{"a grant is spent as often as it says", spent},
		{"a grant can be revoked and ends", grantEnds},
		{"a parked run is resumed once", resumedOnce},
		{"a run whose claimer died is claimed anew", func(t *testing.T, open opener) { takenOver(t, open, silence) }},
		{"a run that began is taken over by nobody", func(t *testing.T, open opener) { begunOnce(t, open, silence) }},
		{"a run that is kept goes on elsewhere when its process dies",
			func(t *testing.T, open opener) { kept(t, open, silence) }},
		{"a run is parked again, by who went on with it", rounds},
		{"a run that was claimed can be given back", givenBack},
		{"runs that nobody can go on with are ended once", func(t *testing.T, open opener) { orphans(t, open, silence) }},
		{"replicas have clocks that are an hour apart", clocksApart},
		{"the clock moves by an hour, forward and back", clockMoved},
		{"a run has one outcome", outcomes},
		{"the oldest outcomes make way", func(t *testing.T, open opener) { bounded(t, open, few) }},
		{"outcomes are fetched until they are cleaned away", fetched},
		{"results are read by their principal until they end", keepsResults},
		{"a version is read when it is needed", laterRead},
		{"an idempotency key names one run", func(t *testing.T, open opener) { keyed(t, open, silence) }},
		{"a seat is taken until its process dies", func(t *testing.T, open opener) { seats(t, open, silence) }},
		{"a question is withdrawn", withdrawn},
		{"an answer with other arguments is one step", insteadOnce},
		{"overlays end", overlays},
		{"cleaning counts what it removes", cleaning},
		{"changes are heard of", watching},
		{"who reads what has changed misses nothing", changedSince},
		{"a copy of the identity", identity},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, fresh(t)) })
	}
	TestSessions(t, func(t *testing.T) Place { return placeIn(fresh(t)) })
}

// Row makes a row that follows h, with its own hash.
func Row(h store.Head, n int, change func(*store.Row)) store.Row {
	r := store.Row{Chain: h.Chain, Seq: h.Seq + int64(n), Time: 1_700_000_000_000_000 + h.Seq + int64(n), Kind: "call",
		State: "ok", Run: "r_1", Call: int64(n), Principal: "local:anna", Profile: "safe", Tool: "fs__read"}
	if change != nil {
		change(&r)
	}
	r.Body = fmt.Sprintf(`{"chain":%d,"seq":%d}`, r.Chain, r.Seq)
	r.Hash = sha256.Sum256([]byte(r.Body))
	return r
}

func claim(t *testing.T, d *store.DB) *store.Chain {
	t.Helper()
	c, err := d.Entries.Claim(t.Context(), nil)
	must(t, err)
	return c
}

func appendRows(t *testing.T, c *store.Chain, n int, change func(i int, r *store.Row)) []store.Row {
	t.Helper()
	rows := make([]store.Row, n)
	for i := range rows {
		rows[i] = Row(c.Head(), i+1, func(r *store.Row) {
			if change != nil {
				change(i, r)
			}
		})
	}
	must(t, c.Append(t.Context(), rows, rows[n-1].Seq+1))
	return rows
}

func all(t *testing.T, d *store.DB, q store.Query) []store.Row {
	t.Helper()
	var rows []store.Row
	must(t, d.Entries.Rows(t.Context(), q, func(r *store.Row) error {
		rows = append(rows, *r)
		return nil
	}))
	return rows
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func is(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got the error %v, want %v", err, want)
	}
}

type opener = func(now func() time.Time) *store.DB

func chainGoesOn(t *testing.T, open opener) {
	d := open(nil)
	c := claim(t, d)
	if c.Head().Seq != 0 {
		t.Fatalf("a new chain ends at %d", c.Head().Seq)
	}
	want := appendRows(t, c, 1, nil)
	want = append(want, appendRows(t, c, 37, nil)...)
	must(t, c.Release(t.Context()))
	must(t, d.Close())

	d = open(nil)
	c = claim(t, d)
	if got := c.Head(); got.Seq != 38 || got.Hash != want[37].Hash || got.Chain != want[0].Chain {
		t.Fatalf("the chain goes on at %+v", got)
	}
	want = append(want, appendRows(t, c, 2, nil)...)
	if got := all(t, d, store.Query{Chain: c.Head().Chain}); !slices.Equal(got, want) {
		t.Fatalf("got %d rows, want the %d that were appended", len(got), len(want))
	}
	ends, err := d.Entries.Ends(t.Context())
	must(t, err)
	if len(ends) != 1 || ends[0].Head != c.Head() {
		t.Fatalf("ends %+v, want %+v", ends, c.Head())
	}
}

func pruned(t *testing.T, open opener) {
	d, e := open(nil), open(nil)
	c, other := claim(t, d), claim(t, e)
	n := c.Head().Chain
	appendRows(t, c, 1300, nil)
	appendRows(t, other, 3, nil)
	for _, through := range []int64{1300, 1301, 4000} { // the last one, and those that are not there
		if removed, err := e.Entries.Prune(t.Context(), n, through, "note"); err == nil || removed != 0 {
			t.Errorf("%d entries to %d were removed", removed, through)
		}
	}
	for _, through := range []int64{600, 600, 1250} {
		_, err := e.Entries.Prune(t.Context(), n, through, "note")
		must(t, err)
		appendRows(t, c, 5, nil)
		got := all(t, d, store.Query{Chain: n})
		if got[0].Seq != 1 || got[1].Seq != through+1 || got[len(got)-1].Seq != c.Head().Seq {
			t.Fatalf("without those to %d: %d and %d to %d are there", through, got[0].Seq, got[1].Seq, got[len(got)-1].Seq)
		}
		if found := all(t, d, store.Query{Run: got[1].Run, Chain: n}); len(found) != len(got) { // all are of one run
			t.Errorf("%d entries of the run are found, want %d", len(found), len(got))
		}
	}
	if n := len(all(t, d, store.Query{Chain: other.Head().Chain})); n != 3 {
		t.Errorf("%d entries of the other chain are left", n)
	}
	if _, err := e.Entries.Prune(t.Context(), n, 1000, "note"); err == nil {
		t.Error("the record says that fewer were removed than are")
	}
	ends, err := d.Entries.Ends(t.Context())
	must(t, err)
	if i := slices.IndexFunc(ends, func(x store.End) bool { return x.Chain == n }); ends[i].Pruning != "note" {
		t.Errorf("ends %+v", ends)
	}
	if problems, err := d.Entries.Inspect(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

func twoWriters(t *testing.T, open opener) {
	d, e := open(nil), open(nil)
	var wg sync.WaitGroup
	chains := []*store.Chain{claim(t, d), claim(t, e)}
	if chains[0].Head().Chain == chains[1].Head().Chain {
		t.Fatal("two writers got one chain")
	}
	for _, c := range chains {
		wg.Go(func() {
			for range 30 {
				rows := []store.Row{Row(c.Head(), 1, nil), Row(c.Head(), 2, nil)}
				if err := c.Append(t.Context(), rows, rows[1].Seq+1); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(all(t, d, store.Query{})); n != 120 {
		t.Fatalf("%d rows, want 120", n)
	}
}

func fenced(t *testing.T, open opener) {
	d := open(nil)
	c := claim(t, d)
	appendRows(t, c, 3, nil)
	must(t, c.Release(t.Context()))
	other := claim(t, open(nil)) // the same chain, by another process
	if other.Head().Chain != c.Head().Chain {
		t.Fatalf("chain %d was free and chain %d was claimed", c.Head().Chain, other.Head().Chain)
	}
	appendRows(t, other, 1, nil)
	r := Row(c.Head(), 1, func(r *store.Row) { r.Chain, r.Seq, r.Tool = c.Head().Chain, c.Head().Seq+1, "other" })
	r.Hash[0]++
	if err := c.Append(t.Context(), []store.Row{r}, r.Seq+1); err == nil {
		t.Fatal("a writer appended to a chain that went on without it")
	}
	_, err := c.Check(t.Context(), []store.Row{r})
	is(t, err, store.ErrFenced)
	if n := len(all(t, d, store.Query{})); n != 4 {
		t.Fatalf("%d rows, want 4", n)
	}
}

func check(t *testing.T, open opener) {
	d := open(nil)
	c := claim(t, d)
	before := c.Head()
	rows := []store.Row{Row(before, 1, nil)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Append(ctx, rows, 2); err == nil {
		t.Fatal("an append under a context that had ended was acknowledged")
	}
	there, err := c.Check(t.Context(), rows)
	must(t, err)
	if there {
		t.Fatal("the row is there")
	}
	must(t, c.Append(t.Context(), rows, 2))
	if there, err = c.Check(t.Context(), nil); err != nil || there {
		t.Fatalf("nothing was left to check: %v, %v", there, err)
	}
}

func queries(t *testing.T, open opener) {
	d := open(nil)
	c := claim(t, d)
	rows := appendRows(t, c, 10, func(i int, r *store.Row) {
		if i%2 == 1 {
			r.Run, r.Principal, r.State = "r_2", "local:bert", "refused"
		}
		if i == 4 {
			r.Kind, r.Run, r.Tool, r.Profile = "policy", "", "", "strict"
		}
		if i == 9 {
			r.Tool = "FS_write"
		}
	})
	at := func(i int) time.Time { return time.UnixMicro(rows[i].Time) }
	for _, q := range []struct {
		name string
		q    store.Query
		want []int
	}{
		{"all", store.Query{}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"a run", store.Query{Run: "r_2"}, []int{1, 3, 5, 7, 9}},
		{"a principal", store.Query{Principal: "local:bert", Limit: 2}, []int{1, 3}},
		{"a profile", store.Query{Profile: "strict"}, []int{4}},
		{"kinds", store.Query{Kinds: []string{"policy", "grant"}}, []int{4}},
		{"states", store.Query{States: []string{"refused"}, Newest: true, Limit: 2}, []int{9, 7}},
		{"a tool", store.Query{Tool: "fs__read", Run: "r_2"}, []int{1, 3, 5, 7}},
		{"tools, where _ is itself and case counts", store.Query{Tool: "fs_*"}, []int{0, 1, 2, 3, 5, 6, 7, 8}},
		{"a time", store.Query{Since: at(2), Until: at(5)}, []int{2, 3, 4}},
		{"behind an entry", store.Query{Chain: c.Head().Chain, After: 8}, []int{8, 9}},
		{"before an entry", store.Query{Chain: c.Head().Chain, Before: 3}, []int{0, 1}},
		{"between two, the latest first", store.Query{Chain: c.Head().Chain, After: 5, Before: 9, Newest: true, Limit: 2},
			[]int{7, 6}},
		{"principals", store.Query{Principals: []string{"local:bert", "nobody"}, Limit: 2}, []int{1, 3}},
		{"another chain", store.Query{Chain: 99}, nil},
		{"so many bytes", store.Query{Limit: 9, Newest: true, Bytes: len(rows[9].Body) + len(rows[8].Body)}, []int{9, 8}},
		{"one byte more", store.Query{Limit: 9, Newest: true, Bytes: len(rows[9].Body) + len(rows[8].Body) + 1}, []int{9, 8, 7}},
		{"more bytes than there are", store.Query{Limit: 9, Bytes: 1 << 20}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}},
	} {
		var got []int
		for _, r := range all(t, d, q.q) {
			got = append(got, int(r.Seq)-1)
		}
		if !slices.Equal(got, q.want) {
			t.Errorf("%s: got rows %v, want %v", q.name, got, q.want)
		}
	}
}

// ofRuns writes entries of several runs, to two chains, in batches of all sizes. Some batches fail.
func ofRuns(t *testing.T, open opener) {
	d := open(time.Now)
	rnd := rand.New(rand.NewPCG(1, 2))
	want := map[string][]string{}
	chains := []*store.Chain{claim(t, d), claim(t, d)}
	for range 60 {
		c := chains[rnd.IntN(2)]
		if rnd.IntN(4) == 0 {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			row := Row(c.Head(), 1, func(r *store.Row) { r.Run = "r_4" })
			if err := c.Append(ctx, []store.Row{row}, 1); err == nil {
				t.Error("an append that was canceled succeeded")
			}
		}
		for _, r := range appendRows(t, c, 1+rnd.IntN(30), func(_ int, r *store.Row) {
			r.Run = []string{"", "r_1", "r_2",
				"r_3", "r_4"}[rnd.IntN(5)]
		}) {
			want[r.Run] = append(want[r.Run], fmt.Sprint(r.Chain, "/", r.Seq))
		}
	}
	for _, run := range []string{"r_1", "r_2", "r_3", "r_4", "r_5"} {
		var got []string
		must(t, d.Entries.Rows(t.Context(), store.Query{Run: run}, func(r *store.Row) error {
			got = append(got, fmt.Sprint(r.Chain, "/", r.Seq))
			return nil
		}))
		slices.Sort(got)
		slices.Sort(want[run])
		if !slices.Equal(got, want[run]) {
			t.Errorf("of %s were found %v, want %v", run, got, want[run])
		}
	}
	if problems, err := d.Entries.Inspect(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("problems: %v, %v", problems, err)
	}
}

func anyText(t *testing.T, open opener) {
	d := open(nil)
	c := claim(t, d)
	hard := "'; DROP TABLE entries; -- \" \\ \n\t %_*?[ ü \u202e \U0001f600 \u2028"
	want := appendRows(t, c, 1, func(_ int, r *store.Row) { r.Tool, r.Run, r.Principal = hard, hard, hard })
	if got := all(t, d, store.Query{Run: hard, Tool: hard, Principal: hard}); len(got) != 1 ||
		got[0].Tool != want[0].Tool {
		// The characters ? and [ and * in Tool are a pattern: * also matches itself.
		t.Fatalf("got %+v", got)
	}
}

func abandoned(t *testing.T, open opener) {
	d, e := open(nil), open(nil)
	c := claim(t, d)
	rows := []store.Row{
		Row(c.Head(), 1, func(r *store.Row) { r.State = "running" }),
		Row(c.Head(), 2, func(r *store.Row) { r.State = "running" }),
		Row(c.Head(), 3, func(r *store.Row) { r.Call, r.State = 2, "ok" }),
		Row(c.Head(), 4, func(r *store.Row) { r.Call, r.State = 3, "refused" }),
	}
	must(t, c.Append(t.Context(), rows, 1))
	var found []int64
	settle := func(rows []*store.Row) error {
		for _, r := range rows {
			found = append(found, r.Seq)
		}
		return nil
	}
	must(t, e.Entries.Abandoned(t.Context(), settle))
	if found != nil {
		t.Fatalf("calls %v of a writer that lives were taken for abandoned", found)
	}
	must(t, c.Release(t.Context())) // as its death would
	failed := errors.New("not written")
	is(t, e.Entries.Abandoned(t.Context(), func([]*store.Row) error { return failed }), failed)
	must(t, e.Entries.Abandoned(t.Context(), settle))
	must(t, e.Entries.Abandoned(t.Context(), settle))
	if !slices.Equal(found, []int64{1}) {
		t.Fatalf("found the open calls %v, want only that of entry 1, once", found)
	}
	// A parked run stays open, whatever entries its writer had not written when it died.
	c = claim(t, d)
	begun := Row(c.Head(), 1, func(r *store.Row) { r.Kind, r.Run, r.Call, r.State = "run", "r_parked", 0, "running" })
	must(t, c.Append(t.Context(), []store.Row{begun}, begun.Seq))
	must(t, c.Release(t.Context()))
	park(t, d, time.Now().Add(time.Hour), func(p *store.ParkedRun) { p.Run = "r_parked" })
	found = nil
	if must(t, e.Entries.Abandoned(t.Context(), settle)); found != nil {
		t.Fatalf("a parked run was taken for abandoned: %v", found)
	}
	// The same for the next writer of the chain.
	c = claim(t, d)
	next := Row(c.Head(), 1, func(r *store.Row) { r.Call, r.State = 7, "running" })
	must(t, c.Append(t.Context(), []store.Row{next}, next.Seq))
	must(t, c.Release(t.Context()))
	found = nil
	c = claim(t, d)
	must(t, c.Settle(t.Context(), settle))
	if !slices.Equal(found, []int64{next.Seq}) {
		t.Fatalf("found %v, want %d", found, next.Seq)
	}
}

func propose(t *testing.T, d *store.DB, id string, ends time.Time) {
	t.Helper()
	must(t, d.Approvals.Propose(t.Context(), &store.Approval{ID: id, Run: "r_1", Call: 3, Principal: "local:anna",
		Digest:   "sha256:ab",
		Question: json.RawMessage(`{"tool":"fs__write"}`), Expires: ends}))
}

// Approved stores an approval that is answered with yes and used, a grant that is spent and revoked, and a parked run
// that is taken.
func Approved(t *testing.T, d *store.DB, id string) {
	t.Helper()
	propose(t, d, id, time.Now().Add(time.Hour))
	must(t, d.Approvals.Answer(t.Context(), id, "sha256:ab", true, "anna", nil))
	must(t, d.Approvals.Use(t.Context(), id, "sha256:ab"))
	five := int64(5)
	give(t, d, "g_"+id, time.Now().Add(time.Hour), &five)
	must(t, d.Grants.Spend(t.Context(), "g_"+id))
	must(t, d.Grants.Revoke(t.Context(), "g_"+id))
	must(t, d.Runs.Park(t.Context(), &store.ParkedRun{Run: "r_" + id, Guest: "g", State: json.RawMessage(`{}`),
		Image: []byte{1}, Expires: time.Now().Add(time.Hour)}))
	p, err := d.Runs.Unpark(t.Context(), "r_"+id, "somebody")
	must(t, err)
	must(t, d.Runs.Begin(t.Context(), p))
}

func answeredOnce(t *testing.T, open opener) {
	d, e := open(nil), open(nil)
	propose(t, d, "a_1", time.Now().Add(time.Hour))
	pending, err := e.Approvals.Pending(t.Context(), "local:anna")
	must(t, err)
	if len(pending) != 1 || pending[0].Validated != nil || pending[0].Call != 3 ||
		string(pending[0].Question) != `{"tool":"fs__write"}` {
		t.Fatalf("pending for another process: %+v", pending)
	}
	if others, err := e.Approvals.Pending(t.Context(), "local:bert"); err != nil || len(others) != 0 {
		t.Fatalf("somebody else's: %v, %v", others, err)
	}
	is(t, e.Approvals.Answer(t.Context(), "a_1", "sha256:other", true, "x", nil), store.ErrTaken)
	is(t, e.Approvals.Answer(t.Context(), "a_2", "sha256:ab", true, "x", nil), store.ErrNotFound)
	var yes, taken atomic.Int32
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			db := []*store.DB{d, e}[i%2]
			switch err := db.Approvals.Answer(t.Context(), "a_1", "sha256:ab", i%3 == 0, fmt.Sprint("person ", i),
				json.RawMessage(`{}`)); {
			case err == nil:
				yes.Add(1)
			case errors.Is(err, store.ErrTaken):
				taken.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if yes.Load() != 1 || taken.Load() != 15 {
		t.Fatalf("%d answers counted, %d came too late; want 1 and 15", yes.Load(), taken.Load())
	}
	a, err := d.Approvals.Get(t.Context(), "a_1")
	must(t, err)
	if a.Validated == nil || a.AnsweredBy == "" || a.AnsweredAt.IsZero() {
		t.Fatalf("the answer is not kept: %+v", a)
	}
}

func manyAnswers(t *testing.T, open opener) {
	d, e := open(nil), open(nil)
	ends := time.Now().Add(time.Hour)
	var ids []string
	for i := range 6 {
		id := fmt.Sprint("q", i)
		ids = append(ids, id)
		propose(t, d, id, ends)
	}
	must(t, d.Approvals.Answer(t.Context(), "q1", "sha256:ab", true, "anna", json.RawMessage(`{"yes":1}`)))
	must(t, d.Approvals.Answer(t.Context(), "q2", "sha256:ab", false, "anna", nil))
	must(t, d.Approvals.Withdraw(t.Context(), "q3"))
	for i := range 1000 {
		ids = append(ids, fmt.Sprint("nobody asked ", i))
	}
	got, err := e.Approvals.Answers(t.Context(), ids)
	must(t, err)
	yes, no := true, false
	want := map[string]*store.Approval{
		"q0": {}, "q1": {Validated: &yes, Answer: json.RawMessage(`{"yes":1}`)}, "q2": {Validated: &no},
		"q3": {Withdrawn: time.Now()}, "q4": {}, "q5": {},
	}
	for id := range want {
		g, w := got[id], want[id]
		if g == nil {
			t.Errorf("%s is missing", id)
			continue
		}
		if (g.Validated == nil) != (w.Validated == nil) || g.Validated != nil && *g.Validated != *w.Validated ||
			string(g.Answer) != string(w.Answer) || g.Withdrawn.IsZero() != w.Withdrawn.IsZero() {
			t.Errorf("%s: got %+v, want %+v", id, g, w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d answers, want %d", len(got), len(want))
	}
}

func usedOnce(t *testing.T, open opener) {
	d, e := open(nil), open(nil)
	ends := time.Now().Add(time.Hour)
	propose(t, d, "yes", ends)
	propose(t, d, "no", ends)
	propose(t, d, "open", ends)
	must(t, d.Approvals.Answer(t.Context(), "yes", "sha256:ab", true, "anna", nil))
	must(t, d.Approvals.Answer(t.Context(), "no", "sha256:ab", false, "anna", nil))
	is(t, d.Approvals.Use(t.Context(), "no", "sha256:ab"), store.ErrTaken)
	is(t, d.Approvals.Use(t.Context(), "open", "sha256:ab"), store.ErrTaken)
	is(t, d.Approvals.Use(t.Context(), "yes", "sha256:other"), store.ErrTaken)
	var used atomic.Int32
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			if err := []*store.DB{d, e}[i%2].Approvals.Use(t.Context(), "yes", "sha256:ab"); err == nil {
				used.Add(1)
			} else if !errors.Is(err, store.ErrTaken) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if used.Load() != 1 {
		t.Fatalf("one yes was used %d times", used.Load())
	}
	of, err := e.Approvals.Of(t.Context(), "r_1")
	must(t, err)
	if len(of) != 3 {
		t.Fatalf("the run has %d approvals, want 3", len(of))
	}
}

// A clock that tests advance; every database opened with it sees the same time.
type clock struct{ now atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.now.Store(time.Now().UnixMicro())
	return c
}

func (c *clock) Now() time.Time          { return time.UnixMicro(c.now.Load()) }
func (c *clock) forward(d time.Duration) { c.now.Add(d.Microseconds()) }

func approvalEnds(t *testing.T, open opener) {
	at := newClock()
	d := open(at.Now)
	propose(t, d, "early", at.Now().Add(time.Minute))
	propose(t, d, "answered", at.Now().Add(time.Minute))
	must(t, d.Approvals.Answer(t.Context(), "answered", "sha256:ab", true, "anna", nil))
	at.forward(time.Minute)
	is(t, d.Approvals.Answer(t.Context(), "early", "sha256:ab", true, "anna", nil), store.ErrTaken)
	is(t, d.Approvals.Use(t.Context(), "answered", "sha256:ab"), store.ErrTaken)
	if pending, err := d.Approvals.Pending(t.Context(), ""); err != nil || len(pending) != 0 {
		t.Fatalf("pending behind its end: %v, %v", pending, err)
	}
}

func give(t *testing.T, d *store.DB, id string, ends time.Time, uses *int64) {
	t.Helper()
	must(t, d.Grants.Give(t.Context(), &store.Grant{ID: id, Principal: "local:anna", Profile: "safe", Run: "r_1", Key: "sha256:k",
		Body: json.RawMessage(`{}`), Expires: ends, UsesLeft: uses}))
}

func spent(t *testing.T, open opener) {
	d, e := open(nil), open(nil)
	five := int64(5)
	give(t, d, "g_1", time.Now().Add(time.Hour), &five)
	give(t, d, "g_2", time.Now().Add(time.Hour), nil)
	var count atomic.Int32
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := []*store.DB{d, e}[i%2].Grants.Spend(t.Context(), "g_1"); err == nil {
				count.Add(1)
			} else if !errors.Is(err, store.ErrTaken) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if count.Load() != 5 {
		t.Fatalf("a grant for five uses was used %d times", count.Load())
	}
	for range 7 {
		must(t, e.Grants.Spend(t.Context(), "g_2"))
	}
	is(t, d.Grants.Spend(t.Context(), "g_3"), store.ErrTaken)
	left, err := e.Grants.Of(t.Context(), "", "sha256:k")
	must(t, err)
	if len(left) != 1 || left[0].ID != "g_2" {
		t.Fatalf("left: %+v", left)
	}
}

func grantEnds(t *testing.T, open opener) {
	at := newClock()
	d, e := open(at.Now), open(at.Now)
	give(t, d, "g_1", at.Now().Add(time.Minute), nil)
	give(t, d, "g_2", at.Now().Add(time.Minute), nil)
	must(t, d.Grants.Revoke(t.Context(), "g_1"))
	is(t, d.Grants.Revoke(t.Context(), "g_1"), store.ErrTaken)
	is(t, e.Grants.Spend(t.Context(), "g_1"), store.ErrTaken)
	listed, err := e.Grants.Of(t.Context(), "local:anna", "")
	must(t, err)
	if len(listed) != 2 || !listed[0].Revoked || listed[1].Revoked {
		t.Fatalf("listed: %+v", listed)
	}
	at.forward(time.Minute - time.Microsecond)
	must(t, e.Grants.Spend(t.Context(), "g_2"))
	at.forward(time.Microsecond)
	is(t, e.Grants.Spend(t.Context(), "g_2"), store.ErrTaken)
	if left, err := d.Grants.Of(t.Context(), "", "sha256:k"); err != nil || len(left) != 0 {
		t.Fatalf("left: %v, %v", left, err)
	}
}

func overlays(t *testing.T, open opener) {
	at := newClock()
	d := open(at.Now)
	put := func(id, holder, body string, life time.Duration) {
		must(t, d.Overlays.Put(t.Context(), &store.Overlay{ID: id, Holder: holder, Body: json.RawMessage(body),
			Expires: at.Now().Add(life)}))
	}
	put("o_1", "s_1", `{"denylist":["*"]}`, time.Minute)
	put("o_1", "s_1", `{"denylist":["fs__*"]}`, time.Minute)
	put("o_2", "s_2", `{}`, time.Hour)
	of, err := d.Overlays.Of(t.Context(), "s_1")
	must(t, err)
	if len(of) != 1 || string(of[0].Body) != `{"denylist":["fs__*"]}` {
		t.Fatalf("got %+v", of)
	}
	at.forward(time.Minute)
	if of, err = d.Overlays.Of(t.Context(), ""); err != nil || len(of) != 1 || of[0].ID != "o_2" {
		t.Fatalf("got %+v, %v", of, err)
	}
	must(t, d.Overlays.Put(t.Context(), &store.Overlay{ID: "o_2"}))
	if of, err = d.Overlays.Of(t.Context(), ""); err != nil || len(of) != 0 {
		t.Fatalf("got %+v, %v", of, err)
	}
}

func cleaning(t *testing.T, open opener) {
	at := newClock()
	d := open(at.Now)
	propose(t, d, "a_1", at.Now().Add(time.Minute))
	propose(t, d, "a_2", at.Now().Add(48*time.Hour))
	give(t, d, "g_1", at.Now().Add(time.Minute), nil)
	at.forward(time.Hour)
	if c, err := d.Clean(t.Context(), 24*time.Hour); err != nil || slices.Max(slices.Collect(maps.Values(c))) > 0 {
		t.Fatalf("cleaned too early: %+v, %v", c, err)
	}
	at.forward(24 * time.Hour)
	if c, err := d.Clean(t.Context(), 24*time.Hour); err != nil || c[store.Approvals] != 1 || c["grants"] != 1 {
		t.Fatalf("cleaned %+v, %v", c, err)
	}
	if _, err := d.Approvals.Get(t.Context(), "a_2"); err != nil {
		t.Fatal(err)
	}
}

func watching(t *testing.T, open opener) {
	d, e := open(nil), open(nil)
	changed, stop := e.Watch(store.Approvals)
	defer stop()
	mine, stopMine := d.Watch(store.Approvals)
	defer stopMine()
	other, stopOther := d.Watch("overlays")
	stopOther()
	if _, open := <-other; open {
		if _, open = <-other; open {
			t.Fatal("a watch that was stopped goes on")
		}
	}
	propose(t, d, "a_1", time.Now().Add(time.Hour))
	for name, ch := range map[string]<-chan struct{}{"another process": changed, "the same process": mine} {
		for deadline := time.After(30 * time.Second); ; {
			if pending, err := e.Approvals.Pending(t.Context(), ""); err != nil {
				t.Fatal(err)
			} else if len(pending) == 1 {
				// News may have come before the change; more must come after it.
				select {
				case <-ch:
				case <-deadline:
					t.Fatalf("%s did not hear of the change", name)
				}
				break
			}
		}
	}
	must(t, e.Close())
	for range changed { // closed with the DB, after at most one more element
	}
}

// changedSince checks that whoever reads from mark to mark learns of every question, and at last that it is closed,
// though the transactions of several processes end in any order.
func changedSince(t *testing.T, open opener) {
	e := open(nil)
	closed := map[string]bool{}
	mark := int64(0)
	read := func() (changed []string) {
		t.Helper()
		changed, next, err := e.Approvals.ChangedSince(t.Context(), mark)
		must(t, err)
		if next < mark {
			t.Errorf("the mark %d follows %d", next, mark)
		}
		all, err := e.Approvals.Answers(t.Context(), changed)
		must(t, err)
		for id, a := range all {
			closed[id] = a.Validated != nil || !a.Withdrawn.IsZero()
		}
		mark = next
		return changed
	}
	propose(t, e, "before", time.Now().Add(time.Hour))
	if changed := read(); len(changed) > 0 || mark == 0 {
		t.Errorf("after the mark 0: %q, %d", changed, mark)
	}
	const writers, questions = 3, 24
	var writing sync.WaitGroup
	for w := range writers {
		d := open(nil)
		writing.Go(func() {
			for n := range questions {
				id := fmt.Sprintf("q_%d_%d", w, n)
				propose(t, d, id, time.Now().Add(time.Hour))
				var err error
				switch n % 3 {
				case 0:
					err = d.Approvals.Answer(t.Context(), id, "sha256:ab", true, "anna", nil)
				case 1:
					err = d.Approvals.Withdraw(t.Context(), id)
				default:
					other := &store.Approval{ID: id + "_instead", Run: "r_1", Digest: "sha256:cd", Question: json.RawMessage(`{}`),
						Expires: time.Now().Add(time.Hour)}
					err = d.Approvals.AnswerInstead(t.Context(), id, "sha256:ab", "anna", nil, other, nil)
				}
				if err != nil {
					t.Errorf("closing %s: %v", id, err)
				}
			}
		})
	}
	written := make(chan struct{})
	go func() { writing.Wait(); close(written) }()
	for over := false; !over; {
		select {
		case <-written:
			over = true // and read what came since
		default:
		}
		read()
	}
	if want := writers * (questions + questions/3); len(closed) != want {
		t.Errorf("%d questions were found, want %d", len(closed), want)
	}
	for id, over := range closed {
		if !over {
			t.Errorf("%s was not found closed", id)
		}
	}
}

func identity(t *testing.T, open opener) {
	d, e := open(nil), open(nil)
	if d.ID() == "" || d.ID() != e.ID() {
		t.Fatalf("one database, two names: %q and %q", d.ID(), e.ID())
	}
}

// keepsResults checks that results are read by their principal alone until they end, and that a quota is held.
func keepsResults(t *testing.T, open opener) {
	at := newClock()
	d, e := open(at.Now), open(at.Now)
	chunks := [][]byte{[]byte(`[1,`), []byte(`2,`), []byte(`3,`), []byte(`4,`), bytes.Repeat([]byte{' '}, 300_000),
		[]byte(`5]`)}
	keep := func(handle, owner string, size int64, number int, quota int64) []string {
		t.Helper()
		at.forward(time.Second)
		removed, err := d.Results.Keep(t.Context(), &store.Result{Handle: handle, Principal: owner + "'s principal",
			Owner: owner, Run: "r_1", Profile: "safe", Untrusted: handle == "H1", Bytes: size, MIMEType: "type of " + handle,
			About: json.RawMessage(`{"kind":"array"}`), Expires: at.Now().Add(time.Hour)}, chunks, number, quota)
		must(t, err)
		return removed
	}
	find := func(handle, principal string) *store.Result {
		t.Helper()
		all, err := e.Results.Of(t.Context(), &store.Result{Handle: handle, Principal: principal})
		must(t, err)
		if len(all) == 0 {
			return nil
		}
		return all[0]
	}
	keep("H1", "anna", 100, 10, 1000)
	keep("H2", "bert", 100, 10, 1000)
	r := find("H1", "anna's principal")
	if r == nil || !r.Untrusted || r.Run != "r_1" || r.Profile != "safe" || r.Bytes != 100 || r.MIMEType != "type of H1" ||
		string(r.About) != `{"kind":"array"}` || !r.Expires.Equal(r.Created.Add(time.Hour)) {
		t.Fatalf("found %+v", r)
	}
	for i, want := range chunks {
		if got, err := r.Chunk(t.Context(), i); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("chunk %d is %.20q (%v), want %.20q", i, got, err, want)
		}
	}
	_, err := r.Chunk(t.Context(), len(chunks))
	is(t, err, store.ErrNotFound)
	for _, other := range []string{"", "bert's principal", "anna", "%"} {
		if r := find("H1", other); r != nil {
			t.Fatalf("%q finds %+v", other, r)
		}
	}
	if r := find("h1", "anna's principal"); r != nil {
		t.Fatalf("another handle finds %+v", r)
	}

	if removed := keep("H3", "anna", 850, 10, 1000); len(removed) > 0 {
		t.Fatalf("%q made way within the quota", removed)
	}
	if removed := keep("H4", "anna", 200, 10, 1000); !slices.Equal(removed, []string{"H3", "H1"}) &&
		!slices.Equal(removed, []string{"H1", "H3"}) {
		t.Fatalf("%q made way for more bytes", removed)
	}
	if _, err := r.Chunk(t.Context(), 0); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("a chunk of a removed result: %v", err)
	}
	keep("H5", "anna", 1, 10, 1000)
	if removed := keep("H6", "anna", 1, 2, 1000); !slices.Equal(removed, []string{"H4"}) {
		t.Fatalf("%q made way by number", removed)
	}
	all, err := e.Results.Of(t.Context(), nil)
	must(t, err)
	if len(all) != 3 || all[0].Handle != "H2" || all[1].Handle != "H5" || all[2].Handle != "H6" {
		t.Fatalf("listed: %+v", all)
	}

	r = find("H6", "anna's principal")
	at.forward(time.Hour)
	if find("H6", "anna's principal") != nil {
		t.Fatal("a result is found after its end")
	}
	if _, err := r.Chunk(t.Context(), 0); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("a chunk after the end: %v", err)
	}
	at.forward(time.Microsecond)
	c, err := d.Clean(t.Context(), 24*time.Hour)
	must(t, err)
	if c["results"] != 3 || c["result_chunks"] != 3*int64(len(chunks)) {
		t.Fatalf("cleaned %+v", c)
	}
}
