package runs

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// Calls have their turn in the order of their IDs, whichever comes first, and whichever needs none any more.
func TestTurns(t *testing.T) {
	for _, test := range []struct {
		name  string
		come  []int
		early []int // calls that pass before their turn
		want  []int
	}{
		{"in order", []int{3, 4, 5}, nil, []int{3, 4, 5}},
		{"backwards", []int{6, 5, 4, 3}, nil, []int{3, 4, 5, 6}},
		{"one passes early", []int{6, 5, 3}, []int{4}, []int{3, 5, 6}},
		{"several pass early", []int{8, 6, 3}, []int{7, 5, 4}, []int{3, 6, 8}},
		{"the first passes early", []int{5, 4}, []int{3}, []int{4, 5}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var q turns
				var mu sync.Mutex
				var got []int
				for _, id := range test.come {
					go func() {
						if q.wait(t.Context(), id) {
							mu.Lock()
							got = append(got, id)
							mu.Unlock()
							q.pass(id)
							q.pass(id) // again is nothing
						}
					}()
					synctest.Wait()
				}
				for _, id := range test.early {
					q.pass(id)
				}
				if synctest.Wait(); len(got) > 0 {
					t.Errorf("%v before it began", got)
				}
				q.begin(3)
				q.begin(1) // that of an earlier guest
				if synctest.Wait(); !slices.Equal(got, test.want) {
					t.Errorf("got %v, want %v", got, test.want)
				}
			})
		})
	}
}

func TestATurnEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q turns
		q.begin(1)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan bool)
		go func() { ended <- q.wait(ctx, 2) }()
		synctest.Wait()
		cancel()
		if <-ended {
			t.Error("it has its turn before the first call")
		}
		q.pass(2)
		q.pass(1)
		if !q.wait(t.Context(), 3) {
			t.Error("the third has no turn")
		}
	})
}
