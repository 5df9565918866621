//go:build !unix

package metrics

import "time"

func processorTime() (time.Duration, bool) { return 0, false }
