package sandbox

import "testing"

// Of a run without page faults nothing is asked of the kernel; whatever the runs before it did, all is as it was.
func TestAGuestIsRestoredWithoutAskingTheKernel(t *testing.T) {
	e := testEngine(t)
	asked := 0
	run := func(source string) {
		t.Helper()
		g, err := e.get(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		defer e.put(g)
		r := newRun(t.Context(), e, g, Program{Source: source}, DefaultLimits(), echo, 0)
		if _, err := r.loop(g); err != nil {
			t.Fatal(err)
		}
		if !g.mem.Known() {
			asked++
		}
	}
	for round := range 10 {
		for range 30 {
			run(onePlusOne)
		}
		run("return [new Array(20000).fill(7).length, 'text'.repeat(9000).length]") // writes where no run did before
		run(onePlusOne)
		run("function f(n) { return n ? f(n - 1) + 1 : 0 } return f(300)")
		run(onePlusOne)
		g, err := e.get(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < g.mem.Size; at += hostPage {
			if e.snapshot.Differs(g.mem.Bytes, at) {
				t.Fatalf("in round %d the page at %#x differs from the snapshot", round, at)
			}
		}
		g.waste = true // looking at all pages has made them its own
		e.put(g)
	}
	if asked > 170 && e.snapshot.Counts() {
		t.Errorf("after %d of 340 runs the kernel had to be asked", asked)
	}
	t.Logf("after %d of 340 runs the kernel had to be asked", asked)
}
