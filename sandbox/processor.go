package sandbox

import (
	"runtime"
	"time"
)

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
