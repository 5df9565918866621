package jsonschema

import (
	"cmp"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

func isKind(v any, t string) bool {
	kind := kindOf(v)
	return kind == t || kind == "integer" && t == "number"
}

// kindOf is the JSON Schema type of a decoded value.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") {
			return "integer"
		}
		if r, ok := rational(v); !ok || r.IsInt() {
			return "integer"
		}
		return "number"
	}
	return ""
}

// digitsMax bounds the length of numbers that are read exactly.
const digitsMax = 1000

// numberCost is the number of steps to read a number exactly.
func numberCost(n json.Number) int {
	s := n.String()
	switch {
	case len(s) > digitsMax:
		return 1 + len(s)/8
	case strings.ContainsAny(s, "eE"): // it may have a thousand digits
		return 2000
	}
	return 5 + len(s)*len(s)/64
}

// rational reads a number exactly. ok is false for one with too many digits or too large an exponent.
func rational(n json.Number) (*big.Rat, bool) {
	s := n.String()
	if len(s) > digitsMax {
		return nil, false
	}
	if _, e, ok := strings.Cut(strings.ToLower(s), "e"); ok && len(strings.TrimLeft(e, "+-0")) > 3 {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

// compare orders two numbers, exactly if [rational] can read both.
func compare(a, b json.Number) int {
	x, ok := rational(a)
	y, okToo := rational(b)
	if ok && okToo {
		return x.Cmp(y)
	}
	f, _ := a.Float64() // infinity if it is too large
	g, _ := b.Float64()
	return cmp.Compare(f, g)
}

func multiple(v, step json.Number) bool {
	x, ok := rational(v)
	y, okToo := rational(step)
	return !ok || !okToo || y.Sign() <= 0 || new(big.Rat).Quo(x, y).IsInt()
}

func integer(v any) (int, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	if i, err := strconv.Atoi(n.String()); err == nil {
		return i, true
	}
	r, ok := rational(n)
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return int(r.Num().Int64()), true
}

func (c *Checker) typeFits(t, v any) bool {
	switch t := t.(type) {
	case string:
		return isKind(v, t)
	case []any:
		for _, e := range t {
			if name, ok := e.(string); !c.spend(1) || !ok || isKind(v, name) {
				return true
			}
		}
		return false
	}
	return true
}

// same compares as JSON Schema does: numbers by their value.
func (c *Checker) same(a, b any) bool {
	if !c.spend(2) {
		return false
	}
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		if !ok || a == b {
			return ok
		}
		return c.spend(numberCost(a)+numberCost(b)) && compare(a, b) == 0
	case string:
		b, ok := b.(string)
		return ok && len(a) == len(b) && c.lookUp(len(a)) && a == b
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, c.same)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for _, k := range c.keys(a) { // sorted, so that the cost is always the same
			c.lookUp(len(k))
			other, ok := b[k]
			if !ok || !c.same(a[k], other) {
				return false
			}
		}
		return true
	}
	return a == b // null, true or false, or not of one type
}

// identity appends a text that is equal for two values if and only if the values are the same.
func (c *Checker) identity(to []byte, v any) []byte {
	if !c.spend(10) {
		return to
	}
	switch v := v.(type) {
	case json.Number:
		if c.spend(4 * numberCost(v)); c.over() {
			return to
		}
		if s := v.String(); len(s) < 18 && s != "-0" && !strings.ContainsAny(s, ".eE") {
			return append(to, s...)
		}
		if r, ok := rational(v); ok {
			return append(to, r.RatString()...)
		}
		return append(to, v...)
	case string:
		c.spend(len(v) / 16)
		return strconv.AppendQuote(to, v)
	case []any:
		to = append(to, '[')
		for _, e := range v {
			to = append(c.identity(to, e), ',')
		}
		return append(to, ']')
	case map[string]any:
		to = append(to, '{')
		for _, k := range c.keys(v) {
			c.spend(len(k) / 16)
			to = append(strconv.AppendQuote(to, k), ':')
			to = append(c.identity(to, v[k]), ',')
		}
		return append(to, '}')
	}
	return append(to, kindOf(v)+strconv.FormatBool(v == true)...)
}
