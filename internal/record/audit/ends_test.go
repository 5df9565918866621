package audit

import (
	"context"
	"errors"
	"github.com/codemode-project/codemode/call"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/internal/store"
)

// However many calls of a run are waited for, one reader looks at the record for all of them.
func TestEndsReadsOnceForAllWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var entries []*Entry
		reads := 0
		ends := &Ends{Entries: func(_ context.Context, q store.Query, f func(*Entry) error) error {
			mu.Lock()
			defer mu.Unlock()
			reads++
			for _, e := range entries {
				if e.Run == q.Run {
					if err := f(e); err != nil {
						return err
					}
				}
			}
			return nil
		}}
		add := func(n int, state string) {
			mu.Lock()
			defer mu.Unlock()
			entries = append(entries, &Entry{Entry: call.Entry{Run: "r_1", Call: n, State: state}})
		}
		var waiting sync.WaitGroup
		for call := 1; call <= 100; call++ {
			waiting.Go(func() {
				e, err := ends.Wait(t.Context(), "r_1", call, time.Time{})
				if err != nil || e.Call != call || e.State != OK {
					t.Errorf("call %d: %+v, %v", call, e, err)
				}
			})
		}
		for call := 1; call <= 100; call++ {
			add(call, "running")
		}
		time.Sleep(10 * time.Second)
		for call := 1; call <= 100; call++ {
			add(call, OK)
			time.Sleep(10 * time.Millisecond)
		}
		waiting.Wait()
		if most := int(11*time.Second/shortestLook) + 100; reads > most {
			t.Errorf("the record was read %d times for 100 calls in 11 s, want at most %d", reads, most)
		}
		if len(ends.runs) != 0 {
			t.Errorf("%d runs are still read", len(ends.runs))
		}
	})
}

func TestEndsGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("the record cannot be read")
		var failure error
		ends := &Ends{Entries: func(context.Context, store.Query, func(*Entry) error) error { return failure }}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := ends.Wait(ctx, "r_1", 1, time.Time{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call that never ends: %v", err)
		}
		synctest.Wait() // nobody reads any more
		failure = broken
		for range 2 { // the second one begins anew
			if _, err := ends.Wait(t.Context(), "r_1", 1, time.Time{}); !errors.Is(err, broken) {
				t.Errorf("a record that cannot be read: %v", err)
			}
		}
		synctest.Wait()
		if len(ends.runs) != 0 {
			t.Errorf("%d runs are still read", len(ends.runs))
		}
	})
}
