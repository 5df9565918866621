package visible

import (
	"strings"
	"unicode"
)

// InComment replaces what could end a comment, or hide what it says.
func InComment(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
}
