package pattern

import (
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold returns text as a lenient upstream might read it: compatibility characters replaced (NFKC) and case folded. Two
// texts that look alike to such an upstream fold to the same.
func Fold(s string) string {
	if IsASCII(s) {
		return strings.ToLower(s)
	}
	// Folding can undo the normal form (U+0345 is one case), so normalize again.
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s)))
}

// IsASCII reports whether a text is ASCII.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i]&0x80 != 0 {
			return false
		}
	}
	return true
}
