package codemode_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/sandbox"
)

// slowly is a person who answers yes after the run has been parked.
func slowly() *person {
	return &person{answer: func(ctx context.Context, _ *prompt.Request) (call.Answer, error) {
		select {
		case <-time.After(700 * time.Millisecond):
			return yes, nil
		case <-ctx.Done():
			return call.Answer{}, context.Cause(ctx)
		}
	}}
}

// A run is put away while it waits, and goes on as if nothing had been: its memory, its console, its other calls.
func TestAParkedRunGoesOnInItsProcess(t *testing.T) {
	up := newPerformed(t)
	dir := fleetFolder(t, up, `"codemode.db"`)
	e, _ := newReplica(t, dir)
	defer e.Close(context.WithoutCancel(t.Context()))
	r, err := e.Eval(t.Context(), codemode.Request{Code: fleetProgram, Input: json.RawMessage(`7`),
		Channels: []approvals.Channel{slowly()}})
	if err != nil || string(r.Value) != `"1 2 3 4"` || len(r.Console) != 1 {
		t.Fatalf("got %s, %v, console %v", r.Value, err, r.Console)
	}
	db, err := e.Record().DB(t.Context())
	must(t, err)
	parked := 0
	if err := audit.Entries(t.Context(), db, store.Query{Run: r.Run, States: []string{audit.Parked}},
		func(*audit.Entry) error { parked++; return nil }); err != nil || parked == 0 {
		t.Errorf("it is recorded %d times that the run was parked (%v)", parked, err)
	}
	if o, err := e.Runs().Ended(t.Context(), r.Run, ""); err != nil || !strings.Contains(o.Text, "1 2 3 4") {
		t.Errorf("kept for its client is %+v, %v", o, err)
	}
}

// Calls that were approved together are not all made at once.
func TestApprovedCallsKeepToTheLimitOfCallsInFlight(t *testing.T) {
	up := newPerformed(t)
	dir := fleetFolder(t, up, `"codemode.db"`)
	e, _ := newReplica(t, dir)
	defer e.Close(context.WithoutCancel(t.Context()))
	r, err := e.Eval(t.Context(), codemode.Request{
		Code: `const all = Array.from({length: 50}, (_, n) => codemode.up__second({n}));
			return (await Promise.all(all)).length`,
		Channels: []approvals.Channel{slowly()},
	})
	if err != nil || string(r.Value) != "50" {
		t.Fatalf("got %s, %v", r.Value, err)
	}
	for what, n := range up.times() {
		if n != 1 {
			t.Errorf("%s was done %d times", what, n)
		}
	}
	if most, limit := up.atOnce(), sandbox.DefaultLimits().InFlight; most > limit {
		t.Errorf("%d calls were under way at once, want %d at most", most, limit)
	}
}

// A process that is told to stop leaves its waiting runs behind, and the next one goes on with them, and the next.
func TestRunsOutliveRestarts(t *testing.T) {
	up := newPerformed(t)
	dir := fleetFolder(t, up, `"codemode.db"`)
	first, q := newReplica(t, dir)
	seat := q.Sit("local:nobody")
	over := make(chan error, 1)
	go func() {
		_, err := first.Eval(t.Context(), codemode.Request{Code: fleetProgram, Input: json.RawMessage(`1`),
			Principal: "local:1"})
		over <- err
	}()
	run := parked(t, first, 1)["local:1"]
	first.Runs().Drain(t.Context())
	if err := <-over; !errors.Is(err, approvals.ErrLeaving) {
		t.Errorf("its client is told %v, want that it goes on elsewhere", err)
	}
	seat.Leave()
	must(t, first.Close(t.Context()))

	second, q := newReplica(t, dir)
	seat = q.Sit("local:anna")
	news := func() {
		select {
		case <-seat.News():
		case <-time.After(longWait):
			t.Fatal("nothing is asked any more")
		}
	}
	for answered := 0; answered < 2; { // the two that were open; then the third is asked here
		news()
		for _, o := range seat.Pending() {
			if o.Request.Tool == "second" && seat.Answer(o.Request.ID, o.Request.Digest, "", yes) == nil {
				answered++
			}
		}
	}
	for third := false; !third; {
		news()
		for _, o := range seat.Pending() {
			third = third || o.Request.Tool == "third"
		}
	}
	parked(t, second, 1)
	second.Runs().Drain(t.Context())
	seat.Leave()
	must(t, second.Close(t.Context()))

	third, q := newReplica(t, dir)
	defer third.Close(context.WithoutCancel(t.Context()))
	ctx, stop := context.WithCancel(t.Context())
	var answering sync.WaitGroup
	answering.Go(func() { answer(ctx, t, q, "") })
	defer answering.Wait()
	defer stop()
	if got := ended(t, third, run); got.Failed || !strings.Contains(got.Text, "1 2 3 4") {
		t.Errorf("it ended so:\n%s", got.Text)
	}
	if got := up.times(); len(got) != 4 {
		t.Errorf("done was %v, want four calls", got)
	}
}

// A process that gives its runs up leaves every question open.
func TestQuestionsStayOpenWhenAProcessLeaves(t *testing.T) {
	const runs = 12
	up := newPerformed(t)
	dir := fleetFolder(t, up, `"codemode.db"`)
	first, q := newReplica(t, dir)
	seat := q.Sit("local:nobody")
	var over sync.WaitGroup
	for i := range runs {
		over.Go(func() {
			_, err := first.Eval(t.Context(),
				codemode.Request{Code: `await Promise.all([codemode.up__second({}), codemode.up__third({})])`,
					Principal: fmt.Sprint("local:", i)})
			if !errors.Is(err, approvals.ErrLeaving) {
				t.Errorf("its client is told %v, want that it goes on elsewhere", err)
			}
		})
	}
	parked(t, first, runs)
	first.Runs().Drain(t.Context())
	over.Wait()
	seat.Leave()
	must(t, first.Close(t.Context()))
	second, _ := newReplica(t, dir, func(o *codemode.Options) { o.GoOn = false })
	defer second.Close(context.WithoutCancel(t.Context()))
	db, err := second.Record().DB(t.Context())
	must(t, err)
	if open, err := db.Approvals.Pending(t.Context(), ""); err != nil || len(open) != 2*runs {
		t.Errorf("%d questions are open (%v), want %d", len(open), err, 2*runs)
	}
}

// A client comes back for its run to a process that never had it, and is asked there.
func TestAClientComesBackToAnotherProcess(t *testing.T) {
	up := newPerformed(t)
	dir := fleetFolder(t, up, `"codemode.db"`)
	first := startReplica(t, "runs", dir)
	me, _ := newReplica(t, dir)
	defer me.Close(context.WithoutCancel(t.Context()))
	runs := parked(t, me, fleetRuns)
	anna := says(yes, nil)
	for i, kill := range []bool{false, true, true} { // its process lives, dies, is dead
		if kill {
			_ = first.cmd.Process.Kill()
		}
		principal := fmt.Sprint("local:", i)
		ctx, cancel := context.WithTimeout(t.Context(), longWait)
		if _, err := me.Runs().Reattach(ctx, runs[principal], codemode.Request{Principal: "local:mallory",
			Channels: []approvals.Channel{anna}}); !errors.Is(err, codemode.ErrNoRun) {
			t.Errorf("a stranger's run: %v, want that there is none", err)
		}
		r, err := me.Runs().Reattach(ctx, runs[principal], codemode.Request{Principal: principal,
			Channels: []approvals.Channel{anna}})
		if err != nil || !strings.Contains(r.Text(err), "1 2 3 4") {
			t.Errorf("run %d: got %v, %v", i, r, err)
		}
		again, err := me.Runs().Reattach(ctx, runs[principal], codemode.Request{Principal: principal})
		if err != nil || again.Text(nil) != r.Text(nil) {
			t.Errorf("run %d, asked for again: got %v, %v", i, again, err)
		}
		cancel()
	}
	if got := up.times(); len(got) != 4*fleetRuns {
		t.Errorf("done was %v, want four calls for each", got)
	}
}

// Whenever a process is killed: no call is made twice, and each run ends, with its value or with what became of it.
func TestProcessesAreKilledAtAnyMoment(t *testing.T) {
	kills := 12
	if os.Getenv("CODEMODE_LONG") != "" {
		kills = 500
	}
	up := newPerformed(t)
	dir := fleetFolder(t, up, `"codemode.db"`)
	for range kills {
		p := startReplica(t, "answers", dir)
		p.until(t, "ready")
		time.Sleep(time.Duration(rand.IntN(900)) * time.Millisecond) // another moment of the process each time
		must(t, p.cmd.Process.Kill())
		_ = p.cmd.Wait()
	}
	e, q := newReplica(t, dir)
	defer e.Close(context.WithoutCancel(t.Context()))
	ctx, stop := context.WithCancel(t.Context())
	var answering sync.WaitGroup
	answering.Go(func() { answer(ctx, t, q, "") })
	defer answering.Wait()
	defer stop()
	db, err := e.Record().DB(t.Context())
	must(t, err)
	left := 1
	for range testwait.Polls(longWait) {
		claimable, orphans, err1 := db.Runs.List(t.Context())
		asked, err2 := db.Approvals.Pending(t.Context(), "")
		must(t, errors.Join(err1, err2))
		left = len(claimable) + len(orphans)
		for _, a := range asked {
			if _, err := db.Runs.Get(t.Context(), a.Run); err == nil {
				left++
			}
		}
		if left == 0 {
			break
		}
	}
	if left > 0 {
		t.Errorf("%d runs or questions are left", left)
	}
	finished, lost := 0, 0
	seen := map[string]bool{}
	err = audit.Entries(t.Context(), db, store.Query{Kinds: []string{audit.Run}}, func(e *audit.Entry) error {
		seen[e.Run] = true
		return nil
	})
	must(t, err)
	for run := range seen {
		switch o, err := db.Outcomes.Get(t.Context(), run, ""); {
		case errors.Is(err, store.ErrNotFound): // it ended without waiting
		case err != nil:
			t.Fatal(err)
		case o.State == "finished":
			finished++
		default:
			lost++
		}
	}
	for what, n := range up.times() {
		if n != 1 {
			t.Errorf("%s was done %d times", what, n)
		}
	}
	t.Logf("%d kills: %d runs finished after they had been parked, %d ended with what they had done", kills, finished,
		lost)
}

// What waits for people in the database is bounded for one principal over restarts. Its oldest runs of processes that
// are gone make way; nobody else's does.
func TestWaitingRunsAreBoundedOverRestarts(t *testing.T) {
	dir := fleetFolder(t, newPerformed(t), `"codemode.db", "capacity": {"waitingRuns": 8}`)
	const each = 5 // of the 8, anna gets 6 in one process
	var oldest string
	for life := range 3 {
		e, q := newReplica(t, dir)
		seat := q.Sit("local:nobody")
		db, err := e.Record().DB(t.Context())
		must(t, err)
		size := func(principal string) int64 {
			runs, _, err := db.Runs.Size(t.Context(), principal, false)
			must(t, err)
			return runs
		}
		var running sync.WaitGroup
		eval := func(principal string, n int) {
			running.Go(func() {
				_, _ = e.Eval(t.Context(), codemode.Request{Code: fmt.Sprintf("return await codemode.up__second({n: %d})", n),
					Principal: principal})
			})
			begun := size(principal)
			if !testwait.Holds(func() bool { return size(principal) != begun || begun >= 8 }) {
				t.Fatalf("run %d of %s in life %d is not kept", n, principal, life)
			}
		}
		if life == 0 {
			eval("bert", 0)
		}
		for n := range each {
			eval("anna", n)
		}
		seen := func() bool {
			parked := 0
			err := audit.Entries(t.Context(), db, store.Query{States: []string{audit.Parked}},
				func(*audit.Entry) error { parked++; return nil })
			return err == nil && parked == (life+1)*each+1
		}
		if !testwait.Holds(seen) {
			t.Fatalf("not all runs of life %d were kept", life)
		}
		if anna, bert := size("anna"), size("bert"); anna != min(int64(life+1)*each, 8) || bert != 1 {
			t.Errorf("in life %d there are %d runs of anna and %d of bert", life, anna, bert)
		}
		e.Runs().Drain(t.Context())
		running.Wait()
		if life == 0 {
			rows, _, err := db.Runs.List(t.Context())
			if err != nil || len(rows) != each+1 {
				t.Fatalf("%d runs are left: %v", len(rows), err)
			}
			for _, row := range rows {
				if row.Principal == "anna" && oldest == "" {
					oldest = row.Run
				}
			}
		}
		if life > 0 {
			if o, err := e.Runs().Ended(t.Context(), oldest, "anna"); err != nil || !strings.Contains(o.Text,
				"too_many_waiting") {
				t.Errorf("the oldest run ended so: %+v, %v", o, err)
			}
		}
		seat.Leave()
		must(t, e.Close(t.Context()))
	}
}

// A thousand runs, or in the short form 200, wait for people in one process. A person allows half of them, the clients
// of the others go away at once. Each run ends, each allowed call is made once and no other, and the record has every
// end.
func TestAThousandRunsWaitAndEnd(t *testing.T) {
	for _, row := range sharedStores {
		t.Run(row.name, func(t *testing.T) {
			runs := 200
			if os.Getenv("CODEMODE_LONG") != "" {
				runs = 1000
			}
			up := newPerformed(t)
			up.takes = 0
			dir := fleetFolder(t, up, row.store(t)+`, "capacity": {"waitingRuns": 2000}`)
			var log testwait.Buffer
			e, q := newReplica(t, dir, func(o *codemode.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
			defer e.Close(context.WithoutCancel(t.Context()))
			began := time.Now()
			told := func(what string) { t.Logf("%6v: %s", time.Since(began).Round(time.Millisecond), what) }
			defer q.Sit("local:nobody").Leave()
			db, err := e.Record().DB(t.Context())
			must(t, err)
			wait := func(n int64) {
				var stored int64
				if !testwait.Holds(func() bool {
					stored, _, err = db.Runs.Size(t.Context(), "", true)
					return err == nil && stored == n
				}) {
					t.Fatalf("%d runs wait in the store, want %d (%v)\n%s", stored, n, err, log.String())
				}
			}
			leaving, leave := context.WithCancel(t.Context())
			var all sync.WaitGroup
			var done, left atomic.Int64
			for n := range runs {
				if n%100 == 0 { // more at once would be refused: programs are read first
					wait(int64(n))
				}
				all.Go(func() {
					ctx, principal := t.Context(), "anna"
					if n%2 == 1 {
						ctx, principal = leaving, "bert"
					}
					r, err := e.Eval(ctx, codemode.Request{Principal: principal,
						Code: fmt.Sprintf("return (await codemode.up__second({n: %d})).n", n)})
					switch {
					case err == nil && string(r.Value) == fmt.Sprint(n) && principal == "anna":
						done.Add(1)
					case errors.Is(err, context.Canceled) && principal == "bert":
						left.Add(1)
					default:
						t.Errorf("run %d: %s", n, r.Text(err))
					}
				})
			}
			wait(int64(runs))
			told("all wait")
			leave()
			ctx, stop := context.WithCancel(t.Context())
			var answering sync.WaitGroup
			answering.Go(func() { answer(ctx, t, q, "bert") })
			all.Wait()
			told("all have ended")
			stop()
			answering.Wait()
			if int(done.Load()) != runs/2 || int(left.Load()) != runs/2 {
				t.Errorf("%d runs finished and %d were left", done.Load(), left.Load())
			}
			for what, times := range up.times() {
				if times != 1 {
					t.Errorf("%s was done %d times", what, times)
				}
			}
			if got := len(up.times()); got != runs/2 {
				t.Errorf("%d calls were made", got)
			}
			ends := 0
			if err := e.Record().Flush(t.Context()); err != nil {
				t.Error(err)
			}
			ended := store.Query{Kinds: []string{audit.Run}, States: []string{audit.OK, audit.Failed}}
			if err := audit.Entries(t.Context(), db, ended, func(*audit.Entry) error {
				ends++
				return nil
			}); err != nil || ends != runs {
				t.Errorf("the record has %d ends (%v)", ends, err)
			}
			told("recorded")
			if text := log.String(); strings.Contains(text, "level=ERROR") || strings.Contains(text, "level=WARN") {
				lines := strings.Split(text, "\n")
				t.Errorf("%d lines of log, the first of them\n%s", len(lines), strings.Join(lines[:min(10, len(lines))], "\n"))
			}
		})
	}
}

func TestWhatIsAbsentComesWithAHint(t *testing.T) {
	for name, want := range map[string]string{"fetch": "search_tools", "require": "no modules", "process": "input",
		"Intl": "toISOString", "Temporal": "use Date", "nothing": ""} {
		text := (&codemode.Response{}).Text(&sandbox.Error{Kind: sandbox.Threw, Name: "ReferenceError",
			Message: name + " is not defined"})
		if hint := strings.Contains(text, "hint:"); hint != (want != "") || !strings.Contains(text, want) {
			t.Errorf("%s: got %s, want a hint with %q", name, text, want)
		}
	}
}
