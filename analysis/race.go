//go:build race

package analysis

// raced says that the race detector is in this binary, whose memory is larger than any limit on it.
const raced = true
