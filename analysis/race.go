//go:build race

package analysis

// raced says that this binary has the race detector, which needs more memory than any limit here allows.
const raced = true
