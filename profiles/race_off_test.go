//go:build !race

package profiles

// underRace makes long tests shorter, whose work the race detector multiplies.
const underRace = false
