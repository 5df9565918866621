package catalog

import (
	"cmp"
	"encoding/json"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

func typeFits(t, v any) bool {
	switch t := t.(type) {
	case string:
		kind := kindOf(v)
		return kind == t || kind == "integer" && t == "number"
	case []any:
		return slices.ContainsFunc(t, func(e any) bool { return typeFits(e, v) })
	}
	return true
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
		if r, ok := rational(v); !ok || r.IsInt() {
			return "integer"
		}
		return "number"
	}
	return ""
}

// rational reads a number exactly, unless its digits or its exponent would
// make it enormous.
func rational(n json.Number) (*big.Rat, bool) {
	s := n.String()
	if len(s) > 1000 {
		return nil, false
	}
	if _, e, ok := strings.Cut(strings.ToLower(s), "e"); ok && len(strings.TrimLeft(e, "+-0")) > 3 {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

// compare orders two numbers, exactly if they are of a sane size.
func compare(a, b json.Number) int {
	x, ok := rational(a)
	y, okToo := rational(b)
	if ok && okToo {
		return x.Cmp(y)
	}
	f, _ := a.Float64() // what is too large for it becomes an infinity
	g, _ := b.Float64()
	return cmp.Compare(f, g)
}

func multiple(v, step json.Number) bool {
	x, ok := rational(v)
	y, okToo := rational(step)
	return !ok || !okToo || y.Sign() <= 0 || new(big.Rat).Quo(x, y).IsInt()
}

// same compares as JSON Schema does: numbers by their value.
func same(a, b any) bool {
	x, isNumber := a.(json.Number)
	y, alsoNumber := b.(json.Number)
	if isNumber && alsoNumber {
		return x == y || compare(x, y) == 0
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, same)
	}
	return reflect.DeepEqual(a, b)
}

// identity is a text that two values share exactly if they are the same.
func identity(v any) string {
	switch v := v.(type) {
	case json.Number:
		if r, ok := rational(v); ok {
			return r.RatString()
		}
		return v.String()
	case []any:
		var b strings.Builder
		b.WriteByte('[')
		for _, e := range v {
			b.WriteString(identity(e) + ",")
		}
		return b.String() + "]"
	case map[string]any:
		var b strings.Builder
		b.WriteByte('{')
		for _, k := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(strconv.Quote(k) + ":" + identity(v[k]) + ",")
		}
		return b.String() + "}"
	}
	return string(mustMarshal(v))
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
