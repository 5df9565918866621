package sandbox

import (
	"runtime"
	"time"

	"github.com/codemode-project/codemode/internal/fair"
)

// enter waits for the guest's turn and moves its clock. From here to leave the guest computes.
func (g *guest) enter() {
	g.acquire()
	g.compute()
	g.mem.Watch()
	g.setClock(g.began)
}

func (g *guest) leave() {
	g.mem.Watched()
	g.left = now()
	g.pause(g.left)
	g.release(g.left)
}

func (g *guest) setClock(t time.Duration) {
	mono, clock := t-g.clock, epoch.Add(t)
	if d := g.run.program.Deterministic; d != nil {
		mono, clock = g.run.elapsed, d.at(g.run.elapsed)
	}
	g.shared.setFloat64(sharedMono, float64(mono.Milliseconds()))
	g.shared.setFloat64(sharedNow, float64(clock.UnixMilli()))
}

// The engine charges a guest for the processor time that its thread uses while it computes. The work of other guests,
// the rest of this process and other processes costs it nothing. If threads have no clock (see threadTime), the engine
// charges the time between two turns, which may include time of other processes.

// Reading the thread's clock is a system call and would make a host call half as expensive again. So the engine charges
// the beginning of a run's computing by elapsed time: coarseTime, or the coarseShare-th part of a small limit. One
// stretch also costs at most that much, so a run can lose at most twice as much to others.
const (
	coarseTime  = 20 * time.Millisecond
	coarseShare = 50
)

func (l *Limits) coarse() time.Duration { return min(l.CPU/coarseShare, coarseTime) }

// compute begins a stretch of computing, which pause ends. The guest keeps its thread while the thread's clock counts.
func (g *guest) compute() {
	g.began, g.ran = now(), -1
	if g.run.cpu < g.run.limits.coarse() {
		return
	}
	runtime.LockOSThread()
	if g.ran = threadTime(); g.ran < 0 {
		runtime.UnlockOSThread()
	}
}

// pause ends a stretch of computing, at the time t. This pairs with compute.
func (g *guest) pause(t time.Duration) {
	g.run.cpu += g.computed(t)
	if g.ran >= 0 {
		runtime.UnlockOSThread()
	}
}

// computed is the charge for this stretch.
func (g *guest) computed(t time.Duration) time.Duration {
	if g.ran >= 0 {
		return max(threadTime()-g.ran, 0)
	}
	if most := g.run.limits.coarse(); g.run.cpu < most {
		return min(t-g.began, most)
	}
	return t - g.began
}

// used is the charge of the run so far, or a higher number while that is within the limit: a thread cannot use more
// time than has elapsed.
func (g *guest) used(t time.Duration) time.Duration {
	if most := g.run.cpu + t - g.began; most <= g.run.limits.CPU {
		return most
	}
	return g.run.cpu + g.computed(t)
}

// acquire waits for the guest's turn.
func (g *guest) acquire() {
	if g.turns.try() {
		return
	}
	if g.turns.free.Load() < -int64(manyWait*fair.Cores()) {
		g.run.program.gives()
	}
	g.turns.wait(g.run.program.Owner, g.turn)
}

// manyWait is how many guests wait for each processor when the wait is worth telling.
const manyWait = 2

// release ends the guest's turn, at the time t.
func (g *guest) release(t time.Duration) {
	fair.Processors.Charge(g.run.program.Owner, t-g.began)
	g.turns.release()
}

// pass lets others compute: the rest of the process, and guests whose owners have used less. The guest's turn has been
// long, until t.
func (g *guest) pass(t time.Duration) {
	g.run.program.gives()
	rest() // before another guest wakes: Go would run that guest before everything else
	owner := g.run.program.Owner
	fair.Processors.Computed(owner, t-g.began)
	g.turns.pass(owner, g.turn)
}

// gives tells the caller that the run has a turn of its own now, or waits for one or for something else.
func (p *Program) gives() {
	if p.Waits != nil {
		p.Waits()
	}
}
