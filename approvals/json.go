package approvals

import (
	"bytes"
	"iter"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// The functions in this file read JSON that is known to be valid, and keep what encoding/json would lose: the order of keys,
// duplicate keys, numbers as they were written, halves of surrogate pairs and bytes that are not UTF-8.

// entries goes through the members of an object or the elements of an array; key is nil in an array, else with its quotes.
func entries(raw []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		object := raw[0] == '{'
		for i := 1; ; {
			i = space(raw, i)
			if raw[i] == ',' {
				i = space(raw, i+1)
			}
			if raw[i] == '}' || raw[i] == ']' {
				return
			}
			var key []byte
			if object {
				end := pass(raw, i)
				key = raw[i:end]
				i = space(raw, space(raw, end)+1) // after the colon
			}
			end := pass(raw, i)
			if !yield(key, raw[i:end]) {
				return
			}
			i = end
		}
	}
}

// pass returns the index after the value at i.
func pass(raw []byte, i int) int {
	for depth := 0; ; {
		switch raw[i] {
		case '"':
			i = passString(raw, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\r', '\n':
			i++
			continue
		default:
			i += literal(raw[i:])
		}
		if depth == 0 {
			return i
		}
	}
}

func passString(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// literal is the length of the number, true, false or null at the start of raw.
func literal(raw []byte) int {
	if n := bytes.IndexAny(raw, ",:]} \t\r\n"); n >= 0 {
		return n
	}
	return len(raw)
}

func space(raw []byte, i int) int {
	for raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\r' || raw[i] == '\n' {
		i++
	}
	return i
}

// text returns a JSON string as a text; see [plain].
func text(raw []byte) string {
	if s := raw[1 : len(raw)-1]; simple(s) {
		return string(s)
	}
	return plain(unquote(raw))
}

// simple reports whether the inside of a JSON string stands for itself.
func simple(s []byte) bool { return bytes.IndexByte(s, '\\') < 0 && utf8.Valid(s) }

// unquote returns the characters of a JSON string.
func unquote(raw []byte) []rune {
	s := raw[1 : len(raw)-1]
	cs := make([]rune, 0, len(s))
	for len(s) > 0 {
		if s[0] != '\\' {
			r, n := utf8.DecodeRune(s)
			if r == utf8.RuneError && n == 1 {
				r = -1 - rune(s[0])
			}
			cs, s = append(cs, r), s[n:]
			continue
		}
		if s[1] == 'u' {
			r := hex4(s[2:6])
			s = s[6:]
			if utf16.IsSurrogate(r) && len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
				if pair := utf16.DecodeRune(r, hex4(s[2:6])); pair != utf8.RuneError {
					r, s = pair, s[6:]
				}
			}
			cs = append(cs, r)
			continue
		}
		r := rune(s[1])
		switch r {
		case 'b':
			r = '\b'
		case 'f':
			r = '\f'
		case 'n':
			r = '\n'
		case 'r':
			r = '\r'
		case 't':
			r = '\t'
		}
		cs, s = append(cs, r), s[2:]
	}
	return cs
}

func hex4(s []byte) rune {
	n, _ := strconv.ParseUint(string(s), 16, 16)
	return rune(n)
}
