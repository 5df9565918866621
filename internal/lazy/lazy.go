// Package lazy makes regular expressions when they are first used. Each that a package compiles at its start costs every
// start of the binary some ten microseconds.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that returns the expression. It panics if that is none.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
