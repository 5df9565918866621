package sandbox

// A guest counts what it does anyway, so that it polls often enough. QuickJS counts calls, jumps back, and how much
// code they run (COUNT_CODE in guest/quickjs.patch); and each loop of its C code counts (guest/instrument). Both
// counters count down to a poll, before which the guest fills them up again. A step is one count of either. So steps
// cost nothing more, and depend on nothing but what the guest does: not on when it polls.
//
// A run with a limit gets in each counter at most half of the steps to its end, again at each poll. So they cannot
// reach it together without a poll, and the poll at the first step that is too many ends the run.

const (
	callsEvery = 10_000  // JS_INTERRUPT_COUNTER_INIT in quickjs.c
	loopsEvery = 100_000 // -every of guest/instrument
)

// begin sets the counters of the guest for a run that has made so many steps.
func (c *stepCount) begin(g *guest, made int64) {
	c.made = made
	_, c.filled = g.calls()
	c.fill(g)
}

// count counts the steps since the last time. In a poll, fill has to follow.
func (c *stepCount) count(g *guest) {
	loops := int32(g.fuel.Get())
	if loops == loopsEvery { // fill gives less, so they have polled
		loops = 0
	}
	calls, filled := g.calls()
	made := int64(c.calls) - int64(calls) + callsEvery*int64(filled-c.filled) + int64(c.loops-loops)
	c.made += max(made, 0) // one that a program has taken over may write anything into its own counter
	c.calls, c.loops, c.filled = calls, loops, filled
}

func (c *stepCount) fill(g *guest) {
	most := int64(loopsEvery)
	if c.limit > 0 {
		most = max((c.limit+1-c.made)/2, 1)
	}
	c.calls, c.loops = int32(min(most, callsEvery)), int32(min(most, loopsEvery-1))
	g.shared.mem.WriteUint32Le(g.counter, uint32(c.calls))
	g.fuel.Set(uint64(c.loops))
}

// tooMany reports whether the guest has made more steps than it may.
func (c *stepCount) tooMany() bool { return c.limit > 0 && c.made > c.limit }

// calls are QuickJS's counter, and how many times the guest has filled it up.
func (g *guest) calls() (left int32, filled uint32) {
	n, _ := g.shared.mem.ReadUint32Le(g.counter)
	filled, _ = g.shared.mem.ReadUint32Le(g.counter + 4)
	return int32(n), filled
}
