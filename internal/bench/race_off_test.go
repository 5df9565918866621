//go:build !race

package bench

// underRace says that the race detector is at work, whose own memory grows.
const underRace = false
