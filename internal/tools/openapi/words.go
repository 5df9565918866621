package openapi

import (
	"strings"
	"unicode"
)

// splitWords appends the words of s to to, in lower case: "getHTTPUser_byID-2" has get, http, user, by, id and 2. A
// word is ASCII letters and digits; anything else parts words, and so does the beginning of a capitalised word.
func splitWords(to []string, s string) []string {
	lower := lowerASCII(s)
	start := -1
	for i := range len(s) {
		switch c := s[i]; {
		case !isWordByte(c):
			if start >= 0 {
				to = append(to, lower[start:i])
			}
			start = -1
		case start < 0:
			start = i
		case isUpper(c) && (!isUpper(s[i-1]) || i+1 < len(s) && 'a' <= s[i+1] && s[i+1] <= 'z'):
			to = append(to, lower[start:i])
			start = i
		}
	}
	if start >= 0 {
		to = append(to, lower[start:])
	}
	return to
}

// lowerASCII returns s with ASCII letters in lower case. Unlike strings.ToLower it keeps the places of all bytes.
func lowerASCII(s string) string {
	if strings.IndexFunc(s, unicode.IsUpper) < 0 {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		if isUpper(c) {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWordByte(c byte) bool { return isUpper(c) || 'a' <= c && c <= 'z' || isDigit(c) }

// isParameter reports whether a segment of a path template is nothing but a parameter, such as {id}.
func isParameter(segment string) bool {
	return strings.HasPrefix(segment, "{") && strings.HasSuffix(segment, "}")
}
