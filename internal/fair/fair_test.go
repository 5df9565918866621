package fair

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// take takes one unit after the other until there is no more for the owner.
func take(b *Budget, owner string) (n int64) {
	for b.Try(owner, 1) == nil {
		n++
	}
	return n
}

func TestSomethingIsLeftForTheNextOne(t *testing.T) {
	for _, test := range []struct {
		owners int
		total  int64
	}{{1, 100}, {2, 100}, {4, 1024}, {5, 4096}} {
		b := New("things", test.total, 0)
		for i := range test.owners {
			if got := take(b, fmt.Sprint("o", i)); got == 0 {
				t.Errorf("%d of %d: got nothing of %d", i, test.owners, test.total)
			}
		}
		if got := take(b, "next"); got == 0 {
			t.Errorf("nothing is left of %d behind %d owners", test.total, test.owners)
		}
	}
	b := New("things", 100, 0)
	if got := take(b, "anna"); got != 75 {
		t.Errorf("one alone gets %d of 100, want 75", got)
	}
	b = New("things", 100, 0)
	if got := take(b, ""); got != 100 {
		t.Errorf("the only one gets %d of 100", got)
	}
}

func TestAnErrorSaysWhoseShareIsUsedUp(t *testing.T) {
	b := New("sessions", 8, 0)
	take(b, "anna")
	if err := b.Try("anna", 1); IsFull(err) == nil || !IsFull(err).Own ||
		!strings.Contains(err.Error(), "your share of sessions") {
		t.Errorf("anna: %v", err)
	}
	take(b, "bert")
	take(b, "dora")
	if err := b.Try("carl", 1); IsFull(err) == nil || IsFull(err).Own || !strings.Contains(err.Error(), "of this server") {
		t.Errorf("carl: %v", err)
	}
	if err := b.Acquire(t.Context(), "carl", 1); IsFull(err) == nil {
		t.Errorf("without a queue: %v", err)
	}
}

func TestOwnersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New("slots", 4, 10)
		if err := b.Acquire(t.Context(), "anna", 3); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []string
		wait := func(owner string, i int) {
			go func() {
				if err := b.Acquire(t.Context(), owner, 3); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, fmt.Sprint(owner, i))
				mu.Unlock()
				time.Sleep(time.Second)
				b.Release(owner, 3)
			}()
			synctest.Wait()
		}
		for i := range 3 {
			wait("anna", i)
		}
		wait("bert", 0)
		wait("carl", 0)
		wait("bert", 1)
		b.Release("anna", 3)
		time.Sleep(10 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if got := strings.Join(order, " "); got != "anna0 bert0 carl0 anna1 bert1 anna2" {
			t.Errorf("served %s", got)
		}
		if b.Used() != 0 || len(b.held)+len(b.queues)+b.order.Len() != 0 {
			t.Errorf("left: %d used, %v", b.Used(), b.queues)
		}
	})
}

func TestAQueueIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New("slots", 4, 2)
		_ = b.Acquire(t.Context(), "anna", 3)
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		for range 2 {
			go func() {
				if err := b.Acquire(ctx, "anna", 3); !errors.Is(err, gone) {
					t.Errorf("who left: %v", err)
				}
			}()
		}
		synctest.Wait()
		if err := b.Acquire(t.Context(), "anna", 1); IsFull(err) == nil || !IsFull(err).Queued {
			t.Errorf("the third: %v", err)
		}
		cancel(gone)
		synctest.Wait()
		b.Release("anna", 3)
		if b.Used() != 0 || len(b.queues) != 0 {
			t.Errorf("left: %d used, %v", b.Used(), b.queues)
		}
	})
}

// Nobody gets more than there is, and all of it comes back.
func TestHammer(t *testing.T) {
	b := New("slots", 64, 100)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			owner := fmt.Sprint("o", i%5)
			for range 300 {
				n := 1 + rand.Int64N(6)
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.Int64N(int64(2*time.Millisecond))))
				if b.Acquire(ctx, owner, n) == nil {
					if used := b.Used(); used > 64 {
						t.Errorf("%d of 64 are used", used)
					}
					b.Release(owner, n)
				}
				cancel()
			}
		})
	}
	all.Wait()
	if b.Used() != 0 || len(b.held)+len(b.queues)+b.order.Len() != 0 {
		t.Errorf("left: %d used, held %v, queues %v, order %v", b.Used(), b.held, b.queues, b.order)
	}
}

func TestFitsSaysWhatTryWouldDo(t *testing.T) {
	b := New("things", 100, 0)
	for _, n := range []int64{10, 60, 6, 5, 1, 30} {
		for _, owner := range []string{"anna", "bob", ""} {
			used := b.Used()
			fits := b.Fits(owner, n)
			if b.Used() != used {
				t.Fatalf("Fits has acquired something")
			}
			if got := b.Try(owner, n) == nil; got != fits {
				t.Errorf("Fits(%q, %d) says %v, and Try gives %v", owner, n, fits, got)
			}
		}
	}
}
