package visible

import (
	"strings"
	"unicode"
)

// InComment replaces characters that could end a comment or hide a part of it by spaces.
func InComment(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
}
