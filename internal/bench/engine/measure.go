package engine

import "time"

// A level is what an engine and its child processes hold at one moment, measured from outside. Known is false where
// the system does not tell.
type level struct {
	Known       bool
	CPU         time.Duration // computed so far
	ResidentKiB int
	PeakKiB     int // the sum of the peaks of the processes since resetPeaks
	Processes   int
	Files       int
	Connections int // to other machines
}
