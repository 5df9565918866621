package codemode_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/hostfns"
)

// watched are the events of a run in words.
type watched struct {
	mu   sync.Mutex
	seen []string
	run  string
}

func (w *watched) see(e codemode.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen, w.run = append(w.seen, e.String()), e.Run
}

func (w *watched) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

// Whoever embeds codemode sees each thing as it happens, in its order, over all guests of a run.
func TestObserveSeesARunInItsOrder(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__write_file"],
		"denylist": ["time__convert"]}}}}`)
	w := &watched{}
	people := []approvals.Channel{slowly()}
	r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Observe: w.see, Channels: people, Code: `
		console.log("one");
		await codemode.time__now({});
		try { await codemode.time__convert({}) } catch (e) { console.warn(e.reason) }
		await codemode.search_tools("time");
		try { await codemode.no__tool({}) } catch (e) { console.error("two\nlines") }
		await codemode.filesystem__write_file({path: "x.md", content: "x"});
		console.log("end");
		return 1`})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"log: one",
		"call 1: time__now", "call 1: time__now done",
		"call 2: time__convert", "call 2: time__convert refused (denied)",
		"warn: denied",
		"call 3: search_tools", "call 3: search_tools done",
		"call 4: no__tool", "call 4: no__tool failed (ToolNotFoundError)",
		"error: two\n    lines",
		"call 5: filesystem__write_file", "call 5: filesystem__write_file waits for a person",
		"the run waits for a person", "the run goes on",
		"call 5: filesystem__write_file done",
		"log: end", "the run ended: finished",
	}
	got := w.all()
	// The answer to the call that waited is what brings the run back, so these two may change places.
	if i := slices.Index(got, "the run goes on"); i > 0 && got[i-1] == "call 5: filesystem__write_file done" {
		got[i-1], got[i] = got[i], got[i-1]
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if w.run != r.Run {
		t.Errorf("the events are of the run %q, want %q", w.run, r.Run)
	}
}

// A call that had no answer when its run ended ends too, and nothing comes after the end of the run.
func TestObserveSeesTheEndOfEveryCall(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {}}}}`)
	w := &watched{}
	_, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Observe: w.see,
		Code: `codemode.time__now({}); codemode.time__now({}); throw new Error("x")`})
	if err == nil {
		t.Fatal("it did not throw")
	}
	got := w.all()
	started, ended := 0, 0
	for i, text := range got {
		switch {
		case text == "the run ended: threw" && i == len(got)-1:
		case strings.HasSuffix(text, "time__now"):
			started++
		case strings.Contains(text, "time__now "):
			ended++
		default:
			t.Errorf("the event %d is %q", i, text)
		}
	}
	if started != 2 || ended > 2 || got[len(got)-1] != "the run ended: threw" {
		t.Errorf("got %q", got)
	}
}

// A slow observer delays a run by a second at most, and is told how much it missed; one that panics ends nothing.
func TestObserversHaveNoPower(t *testing.T) {
	e := open(t, `{"limits": {"consoleBytes": 1000000}, "evaluation": {"profiles": {"p": {}}}}`)
	const lines = 20_000
	var mu sync.Mutex
	var printed, lost int
	var last codemode.EventKind
	over, once := make(chan struct{}), sync.Once{}
	began := time.Now()
	r, err := e.Eval(t.Context(), codemode.Request{Profile: "p",
		Code: fmt.Sprintf(`for (let i = 0; i < %d; i++) console.log(i)`, lines),
		Observe: func(e codemode.Event) {
			once.Do(func() { <-over })
			mu.Lock()
			defer mu.Unlock()
			last = e.Kind
			switch e.Kind {
			case codemode.Printed:
				printed++
			case codemode.EventsLost:
				lost += e.Lost
			}
			panic("an observer")
		}})
	if err != nil || len(r.Console) != lines {
		t.Fatalf("%v, %d lines", err, len(r.Console))
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	close(over)
	eventually(t, "the last event", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return last == codemode.RunEnded
	})
	if printed+lost != lines || lost == 0 {
		t.Errorf("%d lines came and %d are lost, want %d together", printed, lost, lines)
	}
}

// While a run goes on it is listed with its calls, and after its end it is not.
func TestRunsInProgressAreListed(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__write_file"]}}}}`)
	done := make(chan error, 1)
	go func() {
		_, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Principal: "anna", Client: "tester",
			Channels: []approvals.Channel{slowly()},
			Code:     `await codemode.time__now({}); await codemode.filesystem__write_file({path: "x.md", content: "x"})`})
		done <- err
	}()
	eventually(t, "the question", func() bool {
		all := e.Runs().Running()
		return len(all) == 1 && len(all[0].Calls) == 2 && all[0].Calls[1].State == hostfns.Asking
	})
	x := e.Runs().Running()[0]
	if x.Principal != "anna" || x.Client != "tester" || x.Profile != "p" || x.Began.IsZero() ||
		x.Calls[0].State != hostfns.Done || x.Calls[0].Tool != "time__now" {
		t.Errorf("it is listed as %+v", x)
	}
	eventually(t, "parking", func() bool { all := e.Runs().Running(); return len(all) == 0 || all[0].Parked })
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if all := e.Runs().Running(); len(all) != 0 {
		t.Errorf("after the end there are %+v", all)
	}
}
