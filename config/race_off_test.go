//go:build !race

package config

// underRace makes long tests shorter, whose work the race detector multiplies.
const underRace = false
