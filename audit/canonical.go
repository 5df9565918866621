package audit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Canonical brings JSON into the one form that its hash is made of (RFC 8785). Numbers that a double does
// not hold exactly, which that form cannot express, become strings. Keys that occur twice are an error.
func Canonical(raw []byte) ([]byte, error) {
	v, err := decode(raw)
	if err != nil {
		return nil, err
	}
	return appendValue(nil, v), nil
}

// An object keeps the keys of a JSON object in their order.
type object struct {
	keys   []string
	values []any
	index  map[string]bool // of the keys, if they are many; while it is read
}

// maxDepth bounds the nesting of what is read back; arguments have a lower limit of their own.
const maxDepth = 200

// decode reads one JSON value: nil, bool, json.Number, string, []any or *object.
func decode(raw []byte) (any, error) {
	if !json.Valid(raw) {
		var v any
		return nil, cmp.Or(json.Unmarshal(raw, &v), errors.New("it is no JSON"))
	}
	d := decoder{raw: raw}
	return d.value(0)
}

// A decoder reads JSON that is known to be valid.
type decoder struct {
	raw []byte
	at  int
}

// next skips blanks and gives the byte that follows.
func (d *decoder) next() byte {
	for {
		switch c := d.raw[d.at]; c {
		case ' ', '\t', '\r', '\n':
			d.at++
		default:
			return c
		}
	}
}

func (d *decoder) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	switch c := d.next(); c {
	case '{':
		return d.object(depth)
	case '[':
		d.at++
		list := []any{}
		for d.next() != ']' {
			v, err := d.value(depth + 1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
			if d.next() == ',' {
				d.at++
			}
		}
		d.at++
		return list, nil
	case '"':
		return d.text(), nil
	case 't':
		d.at += len("true")
		return true, nil
	case 'f':
		d.at += len("false")
		return false, nil
	case 'n':
		d.at += len("null")
		return nil, nil
	}
	start := d.at
	for d.at < len(d.raw) && strings.IndexByte("+-.0123456789Ee", d.raw[d.at]) >= 0 {
		d.at++
	}
	return json.Number(d.raw[start:d.at]), nil
}

func (d *decoder) object(depth int) (any, error) {
	d.at++
	o := &object{}
	for d.next() != '}' {
		key := d.text()
		if o.has(key) {
			return nil, fmt.Errorf("the key %q occurs twice", key)
		}
		d.next() // the colon
		d.at++
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		o.add(key, v)
		if d.next() == ',' {
			d.at++
		}
	}
	d.at++
	return o, nil
}

// text reads a string. Halves of characters become U+FFFD.
func (d *decoder) text() string {
	start := d.at
	plain := true
	for d.at++; d.raw[d.at] != '"'; d.at++ {
		if c := d.raw[d.at]; c == '\\' {
			d.at++
			plain = false
		} else if c >= utf8.RuneSelf {
			plain = false
		}
	}
	d.at++
	if plain {
		return string(d.raw[start+1 : d.at-1])
	}
	var s string
	_ = json.Unmarshal(d.raw[start:d.at], &s) // it is valid
	return s
}

// fewKeys is how many keys are looked through one by one.
const fewKeys = 16

func (o *object) has(key string) bool {
	if o.index != nil {
		return o.index[key]
	}
	return slices.Contains(o.keys, key)
}

func (o *object) add(key string, v any) {
	o.keys, o.values = append(o.keys, key), append(o.values, v)
	if o.index != nil {
		o.index[key] = true
	} else if len(o.keys) > fewKeys {
		o.index = make(map[string]bool, 2*fewKeys)
		for _, k := range o.keys {
			o.index[k] = true
		}
	}
}

func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case json.Number:
		return appendNumber(b, string(v))
	case string:
		return appendString(b, v)
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, e)
		}
		return append(b, ']')
	case *object:
		order := make([]int, len(v.keys))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(i, j int) int { return compareKeys(v.keys[i], v.keys[j]) })
		b = append(b, '{')
		for n, i := range order {
			if n > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, v.keys[i]), ':')
			b = appendValue(b, v.values[i])
		}
		return append(b, '}')
	}
	panic(fmt.Sprintf("audit: %T is no JSON value", v))
}

// compareKeys orders by UTF-16 code units. That differs from the order of bytes where a character beyond the
// first plane meets one of the last of that plane.
func compareKeys(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] && a[i] < utf8.RuneSelf && b[i] < utf8.RuneSelf {
			return int(a[i]) - int(b[i])
		}
		if a[i] >= utf8.RuneSelf || b[i] >= utf8.RuneSelf {
			return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		}
	}
	return len(a) - len(b)
}

// exactDigits is how many decimal digits every double can tell apart.
const exactDigits = 15

func appendNumber(b []byte, s string) []byte {
	if isPlainInteger(s) {
		if s == "-0" {
			s = "0"
		}
		return append(b, s...)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return appendString(b, s)
	}
	if digits(s) > exactDigits {
		if text := string(appendFloat(nil, f)); text != s {
			return appendString(b, s)
		}
	}
	return appendFloat(b, f)
}

func isPlainInteger(s string) bool {
	return len(s) <= exactDigits && !strings.ContainsAny(s, ".eE")
}

// digits counts the digits of a number without leading zeros and exponent.
func digits(s string) (n int) {
	for _, c := range s {
		switch {
		case c == 'e' || c == 'E':
			return n
		case c >= '1' && c <= '9', c == '0' && n > 0:
			n++
		}
	}
	return n
}

// appendFloat writes a number as JavaScript does.
func appendFloat(b []byte, f float64) []byte {
	if f == 0 {
		return append(b, '0')
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(b, f, 'f', -1, 64)
	}
	b = strconv.AppendFloat(b, f, 'e', -1, 64)
	if n := len(b); b[n-2] == '0' && b[n-4] == 'e' { // e-07 is e-7 there
		b = append(b[:n-2], b[n-1])
	}
	return b
}

const hexDigits = "0123456789abcdef"

// appendString writes a string with the fewest escapes. Bytes that are no text become U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(append(b, s[start:i]...), "\ufffd"...)
				start = i + 1
			}
			i += n
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, `\b`...)
		case '\t':
			b = append(b, `\t`...)
		case '\n':
			b = append(b, `\n`...)
		case '\f':
			b = append(b, `\f`...)
		case '\r':
			b = append(b, `\r`...)
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(append(b, s[start:]...), '"')
}
