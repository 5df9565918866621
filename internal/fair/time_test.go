package fair

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// one is a budget with one free unit. It has four, because no owner may have all of a budget.
func one(shared *Time, queue int) *Budget {
	b := New("turns", 4, queue).ByTime(shared)
	_ = b.Try("", 3)
	return b
}

// works takes turns of a budget until the end, one after the other, and adds their time to used.
func works(t *testing.T, b *Budget, owner string, turn time.Duration, end time.Time, used *atomic.Int64) {
	for time.Now().Before(end) {
		if err := b.Acquire(t.Context(), owner, 1); err != nil {
			t.Error(err)
			return
		}
		time.Sleep(turn)
		b.order.Time.Charge(owner, turn)
		b.Release(owner, 1)
		used.Add(int64(turn))
	}
}

func TestEachGetsTheSameTime(t *testing.T) {
	for what, workers := range map[string][]struct {
		owner  string
		turn   time.Duration
		at     time.Duration // when it begins
		number int
	}{
		"short and long turns": {{"anna", 3 * time.Millisecond, 0, 2}, {"ben", time.Millisecond, 0, 2}},
		"one and many at once": {{"anna", time.Millisecond, 0, 100}, {"ben", time.Millisecond, 0, 2}},
		"now and all the time": {{"anna", time.Millisecond, 0, 2}, {"ben", time.Millisecond, time.Second, 2}},
		"an owner and a group": {{"anna", time.Millisecond, 0, 2}, {In("acme", "ben"), time.Millisecond, 0, 2}},
		"two groups, one is large": {{In("bolt", "anna"), time.Millisecond, 0, 2},
			{In("acme", "ben"), time.Millisecond, 0, 9}},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := one(&Time{}, 100)
				end := time.Now().Add(3 * time.Second)
				var used [2]atomic.Int64
				for i, w := range workers {
					for range w.number {
						go func() {
							time.Sleep(w.at)
							works(t, b, w.owner, w.turn, end, &used[i])
						}()
					}
				}
				var all [2]time.Duration // in the last two seconds
				time.Sleep(time.Second)
				all[0], all[1] = -time.Duration(used[0].Load()), -time.Duration(used[1].Load())
				time.Sleep(2 * time.Second)
				all[0], all[1] = all[0]+time.Duration(used[0].Load()), all[1]+time.Duration(used[1].Load())
				if d := all[0] - all[1]; d.Abs() > 100*time.Millisecond || all[0]+all[1] < 1900*time.Millisecond {
					t.Errorf("they got %v", all)
				}
				time.Sleep(time.Second) // the last ones
			})
		})
	}
}

// A request of somebody who has used more than another one, who computes, waits until that one has caught up or stops.
func TestWhoIsAheadWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &Time{}
		b := New("turns", 4, 10).ByTime(shared)
		compute := func(owner string, long time.Duration) {
			time.Sleep(long)
			shared.Computed(owner, long)
		}
		waits := func(owner string) time.Duration {
			began := time.Now()
			if err := b.Acquire(t.Context(), owner, 1); err != nil {
				t.Error(err)
			}
			b.Release(owner, 1)
			return time.Since(began)
		}
		if got := waits("anna"); got != 0 {
			t.Errorf("alone she waits for %v", got)
		}
		go func() { // ben computes for 100 ms
			for range 100 {
				compute("ben", time.Millisecond)
			}
		}()
		time.Sleep(10 * time.Millisecond)
		compute("anna", 5*time.Millisecond) // begins with what was served last, as ben did
		if got := waits("anna"); got != 0 {
			t.Errorf("with less than he has, she waits for %v", got)
		}
		compute("anna", 30*time.Millisecond)
		shared.Charge("anna", 30*time.Millisecond) // elsewhere
		shared.Computed("anna", 30*time.Millisecond)
		if got := waits("anna"); got < 10*time.Millisecond || got > 40*time.Millisecond {
			t.Errorf("with 50 ms more than he has, she waits for %v", got)
		}
		shared.Computed("anna", time.Hour)
		if got := waits("anna"); got > 100*time.Millisecond {
			t.Errorf("when he has stopped, she waits for %v", got)
		}
	})
}

func TestAccountsOfThoseWhoAreAwayAreForgotten(t *testing.T) {
	shared := &Time{}
	b := one(shared, 1)
	for i := range 10 * maxAccounts {
		owner := fmt.Sprint(i)
		_ = b.Try("x", 1)
		done := make(chan error)
		go func() { done <- b.Acquire(t.Context(), owner, 1) }()
		for range 1000 {
			if b.Use().Waiting > 0 {
				break
			}
			time.Sleep(time.Microsecond)
		}
		b.Release("x", 1)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		b.Release(owner, 1)
	}
	if n := len(shared.all.members[""].members); n > maxAccounts+1 {
		t.Errorf("%d accounts", n)
	}
	if shared.queues.Load() != 0 {
		t.Errorf("%d queues are left", shared.queues.Load())
	}
}

// An account of somebody who waits stays, however many others come.
func TestWhoeverWaitsIsNotForgotten(t *testing.T) {
	shared := &Time{}
	waits := In("acme", "anna")
	shared.Queue(waits)
	for i := range 10 * maxAccounts {
		owner := In(fmt.Sprint("tenant", i), "ben")
		shared.Queue(owner)
		shared.Leave(owner)
	}
	shared.Leave(waits)
	if own := shared.of(waits); own.queues != 0 || own.group.queues != 0 {
		t.Errorf("she waits in %d queues, and her group in %d", own.queues, own.group.queues)
	}
}
