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

// peakPause is the time between two looks of [process.watchPeak].
const peakPause = 100 * time.Millisecond

// watchPeak looks at the memory of an engine until its result is called, which returns the highest sum in KiB. A child
// process may end before the outcome of the program that it ran.
func (p *process) watchPeak() (highest func() int) {
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		looks := time.NewTicker(peakPause)
		defer looks.Stop()
		most := 0
		for {
			select {
			case <-looks.C:
				most = max(most, peakKiB(p.family()))
			case <-stop:
				done <- most
				return
			}
		}
	}()
	return func() int {
		close(stop)
		return <-done
	}
}

// An activity is what an engine and its child processes computed so far, and how long the threads that are alive were
// ready to compute and had no processor; 0 also if the kernel does not tell.
type activity struct{ computed, waited time.Duration }

// since is how long an engine computed or wanted to: on a busy machine one that computes waits most of the time.
func (a activity) since(before activity) time.Duration {
	return a.computed - before.computed + max(a.waited-before.waited, 0)
}
