//go:build !linux && !darwin

package analysis

import "time"

var workerStarted = time.Now()

// processorTime is time here: never less than what was used of one processor.
func processorTime() time.Duration { return time.Since(workerStarted) }

func limitProcess() {}
