package upstream

import (
	"iter"
	"strings"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// A span is the position of a value in a text.
type span struct{ from, to int }

// entries iterates over the members of an object or the elements of an array that begins at from in valid JSON. The key
// of an element is empty; a member's key includes its quotation marks.
func entries(raw []byte, from int) iter.Seq2[span, span] {
	return func(yield func(key, value span) bool) {
		object := raw[from] == '{'
		for i := from + 1; i < len(raw); {
			if i = space(raw, i); i < len(raw) && raw[i] == ',' {
				i = space(raw, i+1)
			}
			if i >= len(raw) || raw[i] == '}' || raw[i] == ']' {
				return
			}
			var key span
			if object {
				key = span{i, pass(raw, i)}
				i = space(raw, space(raw, key.to)+1) // after the colon
			}
			value := span{i, pass(raw, i)}
			if value.to <= value.from || !yield(key, value) {
				return
			}
			i = value.to
		}
	}
}

// space returns the index of what follows the blanks at i.
func space(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\r' || raw[i] == '\n') {
		i++
	}
	return i
}

// pass returns the index after the value at i.
func pass(raw []byte, i int) int {
	for depth := 0; i < len(raw); {
		switch raw[i] {
		case '"':
			i = strictjson.EndOfString(raw, i)
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
			for i < len(raw) && strings.IndexByte(",:]} \t\r\n", raw[i]) < 0 {
				i++
			}
		}
		if depth <= 0 {
			return i
		}
	}
	return i
}
