package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/codemode-project/codemode/internal/testwait"
)

// A witness notes what Program.Watch is told.
type witness struct {
	mu   sync.Mutex
	seen []string
}

func (w *witness) watch(printed []Line, made *Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range printed {
		w.seen = append(w.seen, l.Level+" "+l.Text)
	}
	if made != nil {
		w.seen = append(w.seen, fmt.Sprintf("call %d %s", made.ID, made.Name))
	}
}

func (w *witness) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

func (w *witness) saw(what string) bool { return slices.Contains(w.all(), what) }

// Lines and calls come in the order in which the program prints and makes them, and before the Host gets the call.
func TestWatchSeesTheOrderOfTheProgram(t *testing.T) {
	e := testEngine(t)
	w := &witness{}
	host := func(_ context.Context, c *Call) (json.RawMessage, error) {
		if !w.saw(fmt.Sprintf("call %d %s", c.ID, c.Name)) {
			t.Errorf("the host gets call %d before anybody is told", c.ID)
		}
		return nil, nil
	}
	result, err := e.Run(t.Context(), Program{Watch: w.watch, Source: `
		console.log("a"); const x = codemode.s__x({}); console.warn("b"); const y = codemode.s__y({}); console.error("c\nd");
		await Promise.all([x, y]); console.info("e"); await codemode.s__z({}); console.debug("f");
		throw new Error("g")`}, host)
	if err == nil {
		t.Fatal("it did not throw")
	}
	want := []string{"log a", "call 1 s__x", "warn b", "call 2 s__y", "error c\nd", "info e", "call 3 s__z", "debug f"}
	if got := w.all(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(result.Console) != 5 {
		t.Errorf("the result has %d lines, want 5", len(result.Console))
	}
}

// Lines come while the program computes, and never more than ConsoleBytes.
func TestWatchSeesLinesWhileTheProgramRuns(t *testing.T) {
	e := testEngine(t)
	w := &witness{}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := e.Start(ctx, Program{Watch: w.watch, Limits: Limits{ConsoleBytes: 1000, CPU: 1e12},
		Source: `for (let i = 0; ; i++) console.log("line " + i)`}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !testwait.Holds(func() bool { return w.saw("log line 50") }) {
		t.Errorf("no line came while it computed: %q", w.all())
	}
	cancel()
	result, _ := r.Wait()
	total := 0
	for i, text := range w.all() {
		total += len(text)
		if !strings.HasPrefix(text, "log "+result.Console[i].Text) {
			t.Fatalf("line %d is %q, and in the result %+v", i, text, result.Console[i])
		}
	}
	if total > 1000+5*len(result.Console) || len(w.all()) != len(result.Console) || result.ConsoleDropped == 0 {
		t.Errorf("%d lines with %d bytes came, the result has %d and dropped %d bytes", len(w.all()), total,
			len(result.Console), result.ConsoleDropped)
	}
}

// While nobody watches, lines come when the program waits or ends, and calls do not come; who begins to watch misses no
// line.
func TestWatchIsQuietWhileNobodyWatches(t *testing.T) {
	e := testEngine(t)
	w := &witness{}
	var watching atomic.Bool
	host := func(_ context.Context, c *Call) (json.RawMessage, error) {
		if c.Name == "s__look" {
			watching.Store(true)
		}
		return nil, nil
	}
	_, err := e.Run(t.Context(), Program{Watch: w.watch, Watching: watching.Load, Source: `
		console.log("a"); const x = codemode.s__x({}); console.log("b"); await x; console.log("c"); await codemode.s__look({});
		console.log("d"); const y = codemode.s__y({}); console.log("e"); await y`}, host)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"log a", "log b", "log c", "log d", "call 3 s__y", "log e"}; !slices.Equal(w.all(), want) {
		t.Errorf("got %q, want %q", w.all(), want)
	}
}

// A resumed run tells each line once, also when another engine resumes it.
func TestWatchGoesOnAfterParking(t *testing.T) {
	e := testEngine(t)
	w := &witness{}
	r, err := e.Start(t.Context(), Program{Watch: w.watch,
		Source: `console.log("a"); await codemode.a__later({}); console.log("b");
			await codemode.a__later({}); console.log("c")`}, later)
	if err != nil {
		t.Fatal(err)
	}
	for id := 1; id <= 2; id++ {
		if r, err = e.Resume(t.Context(), park(t, r), Program{Watch: w.watch}, later); err != nil {
			t.Fatal(err)
		}
		r.Settle(id, nil, nil)
	}
	if _, err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	want := []string{"log a", "call 1 a__later", "log b", "call 2 a__later", "log c"}
	if got := w.all(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
