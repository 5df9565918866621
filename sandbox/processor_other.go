//go:build !linux

package sandbox

import "time"

// threadTime is unknown here: -1.
func threadTime() time.Duration { return -1 }
