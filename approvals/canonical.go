package approvals

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Canonical brings JSON into the one form that digests are made of (RFC 8785). Two texts have the same form only if they say the
// same: a number that a double does not hold exactly keeps its digits, and half a surrogate pair is escaped, neither of which
// RFC 8785 knows. A key that occurs twice and bytes that are not UTF-8 are errors.
func Canonical(raw []byte) ([]byte, error) {
	if !json.Valid(raw) {
		return nil, errors.New("it is not JSON")
	}
	return appendCanonical(make([]byte, 0, len(raw)), bytes.TrimSpace(raw))
}

func appendCanonical(to, raw []byte) ([]byte, error) {
	switch raw[0] {
	case '{':
		return appendObject(to, raw)
	case '[':
		to = append(to, '[')
		var err error
		first := true
		for _, value := range entries(raw) {
			if !first {
				to = append(to, ',')
			}
			first = false
			if to, err = appendCanonical(to, value); err != nil {
				return nil, err
			}
		}
		return append(to, ']'), nil
	case '"':
		if simple(raw[1 : len(raw)-1]) {
			return append(to, raw...), nil // what JSON allows without an escape, RFC 8785 writes without one
		}
		return appendString(to, unquote(raw))
	case 't', 'f', 'n':
		return append(to, raw[:literal(raw)]...), nil
	}
	return append(to, number(string(raw[:literal(raw)]))...), nil
}

type member struct {
	key   []rune
	value []byte
}

func appendObject(to, raw []byte) ([]byte, error) {
	var members []member
	for key, value := range entries(raw) {
		members = append(members, member{unquote(key), value})
	}
	slices.SortFunc(members, func(a, b member) int { return slices.Compare(utf16Units(a.key), utf16Units(b.key)) })
	to = append(to, '{')
	var err error
	for i, m := range members {
		if i > 0 {
			if slices.Equal(members[i-1].key, m.key) {
				return nil, fmt.Errorf("the key %s occurs twice", Quote(plain(m.key)))
			}
			to = append(to, ',')
		}
		if to, err = appendString(to, m.key); err != nil {
			return nil, err
		}
		if to, err = appendCanonical(append(to, ':'), m.value); err != nil {
			return nil, err
		}
	}
	return append(to, '}'), nil
}

// utf16Units is what RFC 8785 sorts keys by. Halves of pairs stay what they are.
func utf16Units(cs []rune) []uint16 {
	units := make([]uint16, 0, len(cs))
	for _, c := range cs {
		if c >= 0x10000 {
			units = append(units, uint16(0xd800+(c-0x10000)>>10), uint16(0xdc00+(c-0x10000)&0x3ff))
		} else {
			units = append(units, uint16(c))
		}
	}
	return units
}

func appendString(to []byte, cs []rune) ([]byte, error) {
	to = append(to, '"')
	for _, c := range cs {
		switch {
		case c < 0:
			return nil, errors.New("it is not UTF-8")
		case c == '"' || c == '\\':
			to = append(to, '\\', byte(c))
		case c == '\b':
			to = append(to, `\b`...)
		case c == '\t':
			to = append(to, `\t`...)
		case c == '\n':
			to = append(to, `\n`...)
		case c == '\f':
			to = append(to, `\f`...)
		case c == '\r':
			to = append(to, `\r`...)
		case c < ' ', c >= 0xd800 && c <= 0xdfff:
			to = fmt.Appendf(to, `\u%04x`, c)
		default:
			to = append(to, string(c)...)
		}
	}
	return append(to, '"'), nil
}

// number writes a number as ECMAScript does, if that says exactly the same.
func number(s string) string {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) {
		return exactly(s)
	}
	if f == 0 {
		if digits, _, ok := decimal(s); ok && digits == "" {
			return "0"
		}
		return exactly(s)
	}
	shortest := strconv.FormatFloat(f, 'e', -1, 64)
	digits, exp, _ := decimal(shortest)
	if d, e, ok := decimal(s); !ok || d != digits || e != exp {
		return exactly(s)
	}
	sign := ""
	if f < 0 {
		sign = "-"
	}
	switch k, n := len(digits), exp; {
	case k <= n && n <= 21:
		return sign + digits + strings.Repeat("0", n-k)
	case 0 < n && n <= 21:
		return sign + digits[:n] + "." + digits[n:]
	case -6 < n && n <= 0:
		return sign + "0." + strings.Repeat("0", -n) + digits
	case k == 1:
		return fmt.Sprintf("%s%se%+d", sign, digits, n-1)
	default:
		return fmt.Sprintf("%s%s.%se%+d", sign, digits[:1], digits[1:], n-1)
	}
}

// exactly writes a number that a double cannot hold.
func exactly(s string) string {
	digits, exp, ok := decimal(s)
	if !ok {
		return strings.ToLower(s) // the exponent itself is beyond counting
	}
	sign := ""
	if s[0] == '-' {
		sign = "-"
	}
	return fmt.Sprintf("%s0.%se%d", sign, digits, exp)
}

// decimal takes a number apart into 0.digits times ten to the power of exp, without zeros at either end.
func decimal(s string) (digits string, exp int, ok bool) {
	s = strings.TrimPrefix(s, "-")
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		var err error
		if exp, err = strconv.Atoi(s[i+1:]); err != nil || exp > 1<<40 || exp < -1<<40 {
			return "", 0, false
		}
		s = s[:i]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	digits = whole + fraction
	exp += len(whole)
	for strings.HasPrefix(digits, "0") {
		digits, exp = digits[1:], exp-1
	}
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		exp = 0
	}
	return digits, exp, true
}
