package codemode_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/testwait"
)

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
			if err != nil {
				t.Fatal(err)
			}
			wait := func(n int64) {
				var stored int64
				if !testwait.Holds(func() bool {
					stored, _, err = db.ParkedSize(t.Context(), "", true)
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
