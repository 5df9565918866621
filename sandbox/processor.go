package sandbox

import (
	"runtime"
	"time"
)

// A guest is charged for the processor time that its thread uses while it computes: what other guests, the rest of this
// process and other processes do meanwhile costs it nothing. Where threads have no clock (see threadTime), it is
// charged for the time between two turns, in which other processes may have had the processor.

// Reading the thread's clock is a system call, which would make a call of a program that does little else cost half as
// much again. So what a run computes first is charged by the time that passes: coarseTime, or where its limit is small,
// the coarseShare-th part of it. That is also the most it is charged for one stretch then, so that it may lose twice as
// much to others, and no more.
const (
	coarseTime  = 20 * time.Millisecond
	coarseShare = 50
)

func (l *Limits) coarse() time.Duration { return min(l.CPU/coarseShare, coarseTime) }

// compute begins a stretch of computing, which pause ends. The guest keeps its thread as long as the thread's clock
// matters.
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

// computed is what the guest is charged for in this stretch.
func (g *guest) computed(t time.Duration) time.Duration {
	if g.ran >= 0 {
		return max(threadTime()-g.ran, 0)
	}
	if most := g.run.limits.coarse(); g.run.cpu < most {
		return min(t-g.began, most)
	}
	return t - g.began
}

// used is what the run is charged for so far, or more as long as that is within its limit: a thread does not use more
// time than passes.
func (g *guest) used(t time.Duration) time.Duration {
	if most := g.run.cpu + t - g.began; most <= g.run.limits.CPU {
		return most
	}
	return g.run.cpu + g.computed(t)
}
