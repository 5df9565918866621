package ecmascript

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// cook returns the value of the content of a string or a template. It reports false for half a surrogate pair and for
// unknown escapes.
func cook(raw string) (string, bool) {
	i := strings.IndexByte(raw, '\\')
	if i < 0 {
		return raw, true
	}
	b := make([]byte, 0, len(raw))
	b = append(b, raw[:i]...)
	high := rune(-1) // the first half of a surrogate pair
	for i < len(raw) {
		r := rune(-1)
		if raw[i] != '\\' {
			if high >= 0 {
				return "", false
			}
			b = append(b, raw[i])
			i++
			continue
		}
		if i+1 >= len(raw) {
			return "", false
		}
		c := raw[i+1]
		i += 2
		switch c {
		case 'n':
			r = '\n'
		case 'r':
			r = '\r'
		case 't':
			r = '\t'
		case 'b':
			r = '\b'
		case 'f':
			r = '\f'
		case 'v':
			r = '\v'
		case '0':
			r = 0
			if i < len(raw) && isDigit(raw[i]) {
				return "", false
			}
		case 'x', 'u':
			digits := raw[i:]
			switch {
			case c == 'x' && len(digits) >= 2:
				digits = digits[:2]
				i += 2
			case c == 'u' && strings.HasPrefix(digits, "{"):
				n := strings.IndexByte(digits, '}')
				if n < 0 {
					return "", false
				}
				digits = digits[1:n]
				i += n + 1
			case c == 'u' && len(digits) >= 4:
				digits = digits[:4]
				i += 4
			default:
				return "", false
			}
			n, err := strconv.ParseUint(digits, 16, 21)
			if err != nil {
				return "", false
			}
			r = rune(n)
		case '\n': // a line continuation
			continue
		case '\r':
			if i < len(raw) && raw[i] == '\n' {
				i++
			}
			continue
		default:
			if isDigit(c) {
				return "", false
			}
			i--
			r, _ = utf8.DecodeRuneInString(raw[i:])
			i += utf8.RuneLen(r)
		}
		switch {
		case high >= 0:
			if r = utf16.DecodeRune(high, r); r == utf8.RuneError {
				return "", false
			}
			high = -1
		case 0xd800 <= r && r < 0xdc00:
			high = r
			continue
		}
		if !utf8.ValidRune(r) {
			return "", false
		}
		b = utf8.AppendRune(b, r)
	}
	return string(b), high < 0
}
