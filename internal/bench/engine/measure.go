package engine

import "time"

// A level is what an engine and its child processes hold at one moment, measured from outside. Known is false where
// the system does not tell.
type level struct {
	Known       bool
	CPU         time.Duration // computed so far
	Waited      time.Duration // for a processor so far, by the threads that are alive; 0 also if the kernel does not tell
	ResidentKiB int
	PeakKiB     int // the sum of the peaks of the processes since resetPeaks
	Processes   int
	Files       int
	Connections int // to other machines
}

// activeSince is how long an engine computed or wanted to: on a busy machine one that computes waits most of the time.
func (l level) activeSince(before level) time.Duration {
	return l.CPU - before.CPU + max(l.Waited-before.Waited, 0)
}
