//go:build !linux && !darwin

package analysis

import "time"

var workerStarted = time.Now()

// processorTime is wall time here: it is never less than the time used on one processor.
func processorTime() time.Duration { return time.Since(workerStarted) }

func limitProcess(time.Duration, uint64) {}
