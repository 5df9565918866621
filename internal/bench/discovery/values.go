package discovery

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var plainName = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// hasDigit tells the keys of a table, which are ids, from the names of members.
var hasDigit = regexp.MustCompile(`[0-9]`)

// isTable reports whether an object is a table: all its keys have digits, and all its values are objects.
func isTable(of map[string]any) bool {
	for key, value := range of {
		if _, ok := value.(map[string]any); !ok || !hasDigit.MatchString(key) {
			return false
		}
	}
	return len(of) > 0
}

// places finds where a text or number is in an answer, as JavaScript that takes it from a variable.
func places(answer any, variable string, want any) []string {
	var found []string
	var look func(at any, js string)
	look = func(at any, js string) {
		switch at := at.(type) {
		case map[string]any:
			table := isTable(at)
			for _, key := range slices.Sorted(maps.Keys(at)) {
				if !table {
					look(at[key], inside(js, key))
					continue
				}
				if pick := chosen(values(at), at[key], want); pick != "" {
					look(at[key], "Object.values("+js+")"+pick)
				}
				if key == want && len(at) == 1 {
					found = append(found, "Object.keys("+js+")[0]")
				}
			}
		case []any:
			for i, e := range at {
				if pick := chosen(at, e, want); pick != "" {
					look(e, js+pick)
				} else {
					look(e, fmt.Sprintf("%s[%d]", js, i))
				}
			}
		default:
			if at == want {
				found = append(found, js)
			}
		}
	}
	look(answer, variable)
	return found
}

// inside is the JavaScript of a member.
func inside(js, key string) string {
	if plainName.MatchString(key) {
		return js + "." + key
	}
	return js + "[" + literal(key) + "]"
}

func values(of map[string]any) []any {
	var all []any
	for _, key := range slices.Sorted(maps.Keys(of)) {
		all = append(all, of[key])
	}
	return all
}

// chosen is the JavaScript that finds an object among others by what it holds besides the wanted value; "" if the
// element is no object or nothing tells it from the others.
func chosen(among []any, one any, want any) string {
	of, ok := one.(map[string]any)
	if !ok {
		return ""
	}
	if len(among) == 1 {
		return "[0]"
	}
	left := slices.DeleteFunc(slices.Clone(among), func(e any) bool { return same(e, one) })
	marks := slices.DeleteFunc(scalars(of, "x"), func(s scalar) bool { return s.value == want })
	var test []string
	for len(left) > 0 {
		best, remain := -1, len(left)
		for i, m := range marks {
			n := len(matching(left, m))
			if n < remain {
				best, remain = i, n
			}
		}
		if best < 0 {
			return ""
		}
		m := marks[best]
		left = matching(left, m)
		marks = slices.Delete(marks, best, best+1)
		test = append(test, fmt.Sprintf("%s === %s", m.js, literal(m.value)))
	}
	if len(test) == 0 { // all are equal
		return "[0]"
	}
	return ".find(x => " + strings.Join(test, " && ") + ")"
}

// same reports whether two decoded values are equal.
func same(a, b any) bool { return literal(a) == literal(b) }

// matching are the objects that hold a scalar at its place.
func matching(among []any, m scalar) []any {
	var all []any
	for _, e := range among {
		of, ok := e.(map[string]any)
		if ok && slices.ContainsFunc(scalars(of, "x"), func(s scalar) bool { return s.js == m.js && s.value == m.value }) {
			all = append(all, e)
		}
	}
	return all
}

// A scalar is a text, number or truth value in an object, with the JavaScript that takes it from there.
type scalar struct {
	js    string
	value any
}

// scalars are those of an object and of its members that are objects and no tables. Words come first. Numbers and then
// ids, by which nobody chooses, come last.
func scalars(of map[string]any, js string) []scalar {
	var all []scalar
	for _, key := range slices.Sorted(maps.Keys(of)) {
		at := inside(js, key)
		switch v := of[key].(type) {
		case map[string]any:
			if !isTable(v) {
				all = append(all, scalars(v, at)...)
			}
		case []any, nil:
		default:
			all = append(all, scalar{at, v})
		}
	}
	slices.SortStableFunc(all, func(a, b scalar) int {
		last := func(s scalar) int {
			_, word := s.value.(string)
			switch {
			case strings.HasSuffix(s.js, "id"):
				return 2
			case !word:
				return 1
			}
			return 0
		}
		return cmp.Compare(last(a), last(b))
	})
	return all
}

// literal is a value as JSON, which is JavaScript too.
func literal(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "null" // decoded JSON always encodes
	}
	return string(text)
}

// position is a place in a list that only somebody who has seen the list can know.
var position = regexp.MustCompile(`\[[0-9]+\]`)

// simpler compares two ways to a value: with fewer positions is better, then shorter.
func simpler(a, b string) int {
	n := func(js string) int { return len(position.FindAllString(js, -1)) }
	return cmp.Or(cmp.Compare(n(a), n(b)), cmp.Compare(len(a), len(b)))
}

var number = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)

// numbers are the numbers in a text.
func numbers(text string) []float64 {
	var all []float64
	for _, m := range number.FindAllString(text, -1) {
		if x, err := strconv.ParseFloat(m, 64); err == nil {
			all = append(all, x)
		}
	}
	return all
}
