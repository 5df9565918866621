package sandbox

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/internal/cachetest"
)

// A run waits a moment for the guest of another one if as many are busy as are kept, and not for one that rests.
func TestARunWaitsForAGuest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := New(t.Context(), Options{CacheDir: cachetest.Dir(), Idle: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close(context.Background())
		e.again = nil // one copy of the code is enough here
		got := make(chan *guest)
		get := func() {
			g, err := e.get(t.Context(), 0)
			if err != nil {
				t.Error(err)
			}
			got <- g
		}
		took := func() (*guest, time.Duration) {
			began := time.Now()
			go get()
			return <-got, time.Since(began)
		}
		first, waited := took()
		if waited != 0 {
			t.Errorf("the first run waited %v", waited)
		}
		go get()
		synctest.Wait()
		e.put(first)
		if g := <-got; g != first {
			t.Error("a run got a new guest, although one came back")
		}
		second, waited := took()
		if second == first || waited != guestWait {
			t.Errorf("a run waited %v for a guest that is busy, and got the same: %v", waited, second == first)
		}
		first.rest(true)
		second.rest(true)
		third, waited := took()
		if waited != 0 {
			t.Errorf("a run waited %v for guests that rest", waited)
		}
		second.rest(false)
		for _, g := range []*guest{first, second, third} {
			g.rest(false)
			e.put(g)
		}
		if c := e.copies[0]; c.users != 0 || c.rests != 0 || len(c.waits) != 0 || len(c.idle) != 1 {
			t.Errorf("in the end %d users, %d rest, %d wait, %d idle", c.users, c.rests, len(c.waits), len(c.idle))
		}
	})
}
