package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/fair"
	"github.com/codemode-project/codemode/internal/testwait"
)

// limited is an engine whose guests have so many bytes together.
func limited(t *testing.T, memory int64) *Engine {
	t.Helper()
	e, err := New(t.Context(), Options{CacheDir: cachetest.Dir(), Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close(context.Background()) })
	return e
}

// fills is a program that holds so many MiB, then makes a call and waits for its answer.
func fills(mib int) string {
	return "const held = []; for (let i = 0; i < " + jsonText(mib) +
		"; i++) held.push(new Uint8Array(1 << 20).fill(1)); await codemode.a(); return held.length"
}

func jsonText(v any) string { js, _ := json.Marshal(v); return string(js) }

// Programs of one owner cannot take the memory of the others, each is told why it ended, and all of it comes back.
func TestTheMemoryOfAllGuestsIsShared(t *testing.T) {
	e := limited(t, 96<<20)
	go_ := make(chan struct{})
	waits := func(context.Context, *Call) (json.RawMessage, error) { <-go_; return nil, nil }
	var all sync.WaitGroup
	var mu sync.Mutex
	var refused []error
	fine := 0
	for range 8 {
		all.Go(func() {
			_, err := e.Run(t.Context(), Program{Source: fills(30), Owner: "anna"}, waits)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				fine++
			} else {
				refused = append(refused, err)
			}
		})
	}
	if !testwait.Holds(func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(refused) >= 5
	}) {
		t.Error("five were not refused")
	}
	if held := e.memory.Held("anna"); held > 72<<20 {
		t.Errorf("anna has %d MiB of 96", held>>20)
	}
	for range 5 {
		if _, err := e.Run(t.Context(), Program{Source: "return new Uint8Array(4 << 20).fill(1).length", Owner: "bert"},
			echo); err != nil {
			t.Errorf("bert: %v", err)
		}
	}
	close(go_)
	all.Wait()
	for _, err := range refused {
		var ended *Error
		if !errors.As(err, &ended) || ended.Kind != OutOfMemory || fair.IsFull(ended.Err) == nil ||
			!strings.Contains(err.Error(), "your share of memory for programs") {
			t.Errorf("it ended with %v", err)
		}
	}
	if fine < 1 || e.memory.Used() != 0 {
		t.Errorf("%d ran, %d bytes are left in use", fine, e.memory.Used())
	}
}

// What is held for a program outside its guest counts: arguments of calls without an answer, and answers.
func TestWhatIsHeldOutsideIsShared(t *testing.T) {
	e := limited(t, 16<<20)
	h := func(ctx context.Context, c *Call) (json.RawMessage, error) {
		if strings.Contains(c.Name, "large") {
			return json.RawMessage(`"` + strings.Repeat("x", 14<<20) + `"`), nil
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	_, err := e.Run(t.Context(),
		Program{Source: "const x = 'x'.repeat(1 << 19); try { for (let i = 0; i < 100; i++) codemode.a__hang(x + i) } catch (e) { return e.name }",
			Owner: "anna", Limits: Limits{Wall: time.Second}}, h)
	if err != nil {
		t.Logf("it ended: %v", err) // or the program is told, and goes on
	}
	res, err := e.Run(t.Context(),
		Program{Source: "try { await codemode.a__large(); return 'took it' } catch (e) { return e.name }", Owner: "anna"}, h)
	if err == nil && string(res.Value) != `"RangeError"` {
		t.Errorf("the answer: %s", res.Value)
	}
	if held := e.memory.Used(); held != 0 {
		t.Errorf("%d bytes are left in use", held)
	}
}

// A program for which there is no room waits, owners take turns, and one too many of an owner is told so.
func TestProgramsWaitForMemory(t *testing.T) {
	e := limited(t, 4<<20) // room for three small ones of one owner
	// Each of them makes one call and needs no more than it began with.
	release := make(chan struct{})
	waits := func(context.Context, *Call) (json.RawMessage, error) { <-release; return nil, nil }
	var all sync.WaitGroup
	errs := make(chan error, maxQueued+10)
	for range maxQueued + 10 {
		all.Go(func() {
			_, err := e.Run(t.Context(), Program{Source: "await codemode.a()", Owner: "anna"}, waits)
			errs <- err
		})
	}
	for range 7 { // that many are neither running nor waiting
		var ended *Error
		if err := <-errs; !errors.As(err, &ended) || ended.Kind != Refused ||
			!strings.Contains(err.Error(), "too much waits already for your share") {
			t.Errorf("one too many: %v", err)
		}
	}
	if _, err := e.Run(t.Context(), Program{Source: "return 1", Owner: "bert"}, echo); err != nil {
		t.Errorf("bert: %v", err)
	}
	close(release)
	all.Wait()
	if e.memory.Used() != 0 {
		t.Errorf("%d bytes are left in use", e.memory.Used())
	}
}

// A parked run has no memory of the guests', and takes it again when it is resumed.
func TestAParkedRunHoldsNoMemory(t *testing.T) {
	e := limited(t, 64<<20)
	later := func(context.Context, *Call) (json.RawMessage, error) { return nil, ErrLater }
	r, err := e.Start(t.Context(), Program{Source: fills(20), Owner: "anna"}, later)
	if err != nil {
		t.Fatal(err)
	}
	image := park(t, r)
	if e.memory.Used() != 0 {
		t.Errorf("%d bytes while it is parked", e.memory.Used())
	}
	r, err = e.Resume(t.Context(), image, Program{}, later)
	if err != nil {
		t.Fatal(err)
	}
	if held := e.memory.Held("anna"); held < 19<<20 {
		t.Errorf("%d MiB when it goes on", held>>20)
	}
	r.Settle(1, nil, nil)
	if res, err := r.Wait(); err != nil || string(res.Value) != "20" || e.memory.Used() != 0 {
		t.Errorf("%s, %v, %d bytes are left", res.Value, err, e.memory.Used())
	}
}

// Owners take turns to compute, however many guests of one of them wait.
func TestOwnersTakeTurnsToCompute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1)
		turns.order.Time = &fair.Time{}
		take := func(owner string) {
			if !turns.try() {
				turns.wait(owner, make(chan struct{}, 1))
			}
		}
		end := func(owner string) {
			turns.order.Time.Charge(owner, slice)
			turns.release()
		}
		take("")
		var order []string
		for _, owner := range slices.Concat(slices.Repeat([]string{"anna"}, 60), []string{"bert", "bert", "carl"}) {
			go func() {
				take(owner)
				order = append(order, owner)
				time.Sleep(slice)
				end(owner)
			}()
			synctest.Wait()
		}
		end("")
		time.Sleep(time.Second)
		synctest.Wait()
		if got := strings.Join(order[:6], " "); got != "anna bert carl anna bert anna" {
			t.Errorf("they computed in the order %s", got)
		}
		if len(order) != 63 || turns.order.Len()+len(turns.queues)+turns.early != 0 || turns.free.Load() != 1 {
			t.Errorf("%d computed; left: %d, %d early, %d free", len(order), turns.order.Len(), turns.early, turns.free.Load())
		}
	})
}

func TestTheDefaultMemoryOfGuests(t *testing.T) {
	for has, want := range map[int64]int64{0: 512 << 20, 64 << 30: 512 << 20, 1 << 30: 256 << 20, 128 << 20: 96 << 20} {
		if got := defaultMemory(has); got != want {
			t.Errorf("with %d MiB: %d MiB, want %d", has>>20, got>>20, want>>20)
		}
	}
}
