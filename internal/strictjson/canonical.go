package strictjson

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// canonicalDepth is the deepest nesting of a text with a canonical form: the depth that encoding/json reads.
const canonicalDepth = 10_000

// Canonical brings a JSON text into its canonical form; see [Value.AppendCanonical]. It accepts what [Parse] accepts
// without options, and also numbers beyond the range of a double and nesting up to 10,000 levels. The error is a
// [*SyntaxError].
func Canonical[Text ~string | ~[]byte](src Text) ([]byte, error) {
	v, err := Parse(src, Options{MaxDepth: canonicalDepth, AllowHugeNumbers: true})
	if err != nil {
		return nil, err
	}
	return v.AppendCanonical(make([]byte, 0, len(v.Source()))), nil
}

// AppendCanonical appends the canonical form of the value. Two values have the same form if and only if they say the
// same, and the form is standard JSON and its own canonical form. It is the form of RFC 8785 (JCS), except for numbers
// that JCS would round:
//
//   - There is no white space.
//   - Members are sorted by their names, as UTF-16 code units (RFC 8785, section 3.2.3).
//   - Strings have the fewest escapes (RFC 8785, section 3.2.2.2).
//   - A number has the layout of JavaScript's Number.prototype.toString and all of its own significant digits: 1e2 is
//     100, 1.50 is 1.5, -0 is 0, 1e21 is 1e+21.
//
// JCS has the same layout, but takes the fewest digits that tell the nearest double from its neighbours. The two forms
// are equal for every number that JavaScript, or any other writer of shortest doubles, has written. Where the fewest
// digits would say another number, JCS rounds and this form does not: 9007199254740993 stays as it is, and 1e400 is
// 1e+400.
//
// A value that was parsed with [Options.AllowDuplicates] and has duplicates has no canonical form: they are all
// written.
func (v Value) AppendCanonical(b []byte) []byte {
	if v.t == nil {
		return b
	}
	w := canonicalWriter{tree: v.t}
	return w.value(b, v.i)
}

type canonicalWriter struct {
	*tree
	order []int32 // of the members of the objects that are being written, one after the other
}

func (w *canonicalWriter) value(b []byte, i int32) []byte {
	switch n := &w.nodes[i]; n.kind {
	case Object:
		return w.object(b, i)
	case Array:
		b = append(b, '[')
		for child := i + 1; child < n.after; child = w.nodes[child].after {
			if child != i+1 {
				b = append(b, ',')
			}
			b = w.value(b, child)
		}
		return append(b, ']')
	case String:
		if n.count != 0 {
			return AppendString(b, w.text(n))
		}
		return append(b, w.src[n.start:n.end]...) // what needs no escape in JSON is not escaped here either
	case Number:
		return appendNumber(b, w.src[n.start:n.end])
	default:
		return append(b, w.src[n.start:n.end]...)
	}
}

func (w *canonicalWriter) object(b []byte, i int32) []byte {
	n := &w.nodes[i]
	first, sorted := len(w.order), true
	for child := i + 1; child < n.after; child = w.nodes[child].after {
		if len(w.order) > first && w.compare(w.order[len(w.order)-1], child) > 0 {
			sorted = false
		}
		w.order = append(w.order, child)
	}
	if !sorted {
		slices.SortStableFunc(w.order[first:], w.compare)
	}
	b = append(b, '{')
	for j := first; j < first+int(n.count); j++ {
		if j > first {
			b = append(b, ',')
		}
		c := &w.nodes[w.order[j]]
		if c.keyText != 0 {
			b = AppendString(b, w.key(c))
		} else {
			b = append(b, w.src[c.keyStart:c.keyEnd]...)
		}
		b = w.value(append(b, ':'), w.order[j])
	}
	w.order = w.order[:first]
	return append(b, '}')
}

func (w *canonicalWriter) compare(i, j int32) int {
	return CompareKeys(w.key(&w.nodes[i]), w.key(&w.nodes[j]))
}

// AppendString appends a text as a JSON string in canonical form. Bytes that are not UTF-8 become U+FFFD.
func AppendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // the error is about bytes that are not UTF-8
	return b
}

// CompareKeys orders the names of members as canonical forms have them: by UTF-16 code units. In UTF-8, that is the
// order of bytes, except that the characters from U+E000 to U+FFFF come after those beyond, which UTF-16 writes with
// surrogates.
func CompareKeys(a, b string) int {
	i, shorter := 0, min(len(a), len(b))
	for i < shorter && a[i] == b[i] {
		i++
	}
	if i == shorter {
		return len(a) - len(b)
	}
	x, y := a[i], b[i]
	const fromE000, beyondFFFF = 0xee, 0xf0 // first bytes of characters; no other bytes are as large
	if x >= fromE000 && y >= fromE000 && (x >= beyondFFFF) != (y >= beyondFFFF) {
		x, y = y, x
	}
	return int(x) - int(y)
}

// jsDigits is up to how many digits before the point JavaScript writes a number without an exponent.
const jsDigits = 21

// appendNumber writes a number of a text that was parsed as Number::toString of ECMA-262 does, where the number is
// 0.digits times ten to the power of point.
func appendNumber(b []byte, s string) []byte {
	if isShortInteger(s) {
		return append(b, s...)
	}
	var room [64]byte
	digits, point := decimal(room[:0], s)
	if len(digits) == 0 {
		return append(b, '0')
	}
	if s[0] == '-' {
		b = append(b, '-')
	}
	switch count := int64(len(digits)); {
	case count <= point && point <= jsDigits:
		return append(append(b, digits...), zeros[:point-count]...)
	case 0 < point && point <= jsDigits:
		return append(append(append(b, digits[:point]...), '.'), digits[point:]...)
	case -6 < point && point <= 0:
		return append(append(append(b, "0."...), zeros[:-point]...), digits...)
	}
	b = append(b, digits[0])
	if len(digits) > 1 {
		b = append(append(b, '.'), digits[1:]...)
	}
	b = append(b, 'e')
	if point > 0 {
		b = append(b, '+')
	}
	return strconv.AppendInt(b, point-1, 10)
}

const zeros = "000000000000000000000" // jsDigits of them

// isShortInteger reports whether a number is an integer that is its own canonical form.
func isShortInteger(s string) bool {
	if len(s) > jsDigits || s == "-0" {
		return false
	}
	for _, c := range []byte(s) {
		if c == '.' || c == 'e' || c == 'E' {
			return false
		}
	}
	return true
}
