package analysis

import (
	"regexp"
	"sync"
)

// pattern compiles an expression when it is first used: all of them together would delay every start of the binary.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
