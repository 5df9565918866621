package limits

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/internal/fair"
)

// Point 48 of issue 15: who sends a thousand requests delays the request of another by those that are worked on, not by
// those that wait.
func TestS48RequestsTakeTurnsByOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Quotas{Turns: fair.New("turns", 4, 2000).ByTime(&fair.Time{}), TurnLength: turnLength}
		var mu sync.Mutex
		ends, served := map[string]func(){}, make(chan string, 2000)
		end := func(name string) {
			mu.Lock()
			defer mu.Unlock()
			ends[name]()
		}
		send := func(owner, name string) {
			go func() {
				over, err := s.Turn(t.Context(), owner)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				ends[name] = over
				mu.Unlock()
				served <- name
			}()
			synctest.Wait()
		}
		got := func() (names []string) {
			synctest.Wait()
			for len(served) > 0 {
				names = append(names, <-served)
			}
			slices.Sort(names) // goroutines that were woken together run in any order
			return names
		}
		want := func(what string, names ...string) {
			t.Helper()
			if all := got(); !slices.Equal(all, names) {
				t.Errorf("%s: %v were served, want %v", what, all, names)
			}
		}
		for i := range 1000 {
			send("anna", fmt.Sprintf("a%d", i))
		}
		want("anna has three of four turns", "a0", "a1", "a2")
		send("ben", "b0")
		want("ben need not wait", "b0")
		send("ben", "b1")
		send("cleo", "c0")
		want("now all are taken")
		end("a0")
		want("who has none is first", "c0")
		end("a1")
		end("a1") // a turn ends once
		want("one is kept for whoever comes next")
		send("dora", "d0")
		want("as here", "d0")
		end("d0")
		end("c0")
		want("anna's turn again", "a3")
		end("b0")
		want("then ben's, before anna's 996", "b1")
		time.Sleep(turnLength)
		want("what takes longer than a turn gives way", "a4", "a5", "a6")
		end("b1")
		want("and has nothing left to give")

		gone, leave := context.WithCancelCause(t.Context())
		left := make(chan error)
		go func() { _, err := s.Turn(gone, "anna"); left <- err }()
		leave(errors.New("hung up"))
		if err := <-left; err == nil || err.Error() != "hung up" {
			t.Errorf("who hangs up is told %v", err)
		}
		for s.Turns.Held("anna") > 0 { // every turn ends by itself
			time.Sleep(turnLength)
		}
		if all := got(); len(all) != 993 || s.Turns.Used() != 0 {
			t.Errorf("%d were served in the end, %d turns are taken", len(all), s.Turns.Used())
		}
	})
}
