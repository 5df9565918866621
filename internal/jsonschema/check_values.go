package jsonschema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

func (c *Checker) number(s map[string]any, v json.Number, at *position) *Violation {
	for _, limit := range []struct {
		key, want string
		bad       func(c int) bool
	}{
		{"minimum", "at least", func(c int) bool { return c < 0 }},
		{"exclusiveMinimum", "more than", func(c int) bool { return c <= 0 }},
		{"maximum", "at most", func(c int) bool { return c > 0 }},
		{"exclusiveMaximum", "less than", func(c int) bool { return c >= 0 }},
	} {
		n, ok := s[limit.key].(json.Number)
		if !ok {
			continue
		}
		if !c.spend(numberCost(v) + numberCost(n)) {
			return nil
		}
		if limit.bad(compare(v, n)) {
			want := func() string { return fmt.Sprintf("a number of %s %s", limit.want, cut(n.String(), 40)) }
			return &Violation{At: at, Want: want, Got: shown(v)}
		}
	}
	if n, ok := s["multipleOf"].(json.Number); ok && c.spend(4*(numberCost(v)+numberCost(n))) && !multiple(v, n) {
		return &Violation{At: at, Want: func() string { return "a multiple of " + cut(n.String(), 40) }, Got: shown(v)}
	}
	return nil
}

func (c *Checker) text(s map[string]any, v string, at *position) *Violation {
	least, hasLeast := integer(s["minLength"])
	most, hasMost := integer(s["maxLength"])
	if hasLeast || hasMost {
		if !c.spend(len(v) / 8) {
			return nil
		}
		n := utf8.RuneCountInString(v)
		got := func() string { return fmt.Sprintf("one of %d", n) }
		if hasLeast && n < least {
			want := func() string { return fmt.Sprintf("a string of at least %d characters", least) }
			return &Violation{At: at, Want: want, Got: got}
		}
		if hasMost && n > most {
			want := func() string { return fmt.Sprintf("a string of at most %d characters", most) }
			return &Violation{At: at, Want: want, Got: got}
		}
	}
	if p, ok := s["pattern"].(string); ok {
		if fits, known := c.matches(p, v); known && !fits {
			want := func() string { return "a string that matches " + strconv.Quote(cut(p, 1000)) }
			return &Violation{At: at, Want: want, Got: shown(v)}
		}
	}
	return nil
}

func (c *Checker) array(s map[string]any, v []any, at *position, depth int, own *seen) *Violation {
	if least, ok := integer(s["minItems"]); ok && len(v) < least {
		return &Violation{At: at, Want: func() string { return fmt.Sprintf("at least %d items", least) }, Got: shown(v)}
	}
	if most, ok := integer(s["maxItems"]); ok && len(v) > most {
		return &Violation{At: at, Want: func() string { return fmt.Sprintf("at most %d items", most) }, Got: shown(v)}
	}
	first, rest := tupleOf(s)
	for i, e := range v {
		item := rest
		if i < len(first) {
			item = first[i]
		} else if rest == nil {
			break
		}
		if !c.spend(1) {
			return nil
		}
		if item == nil {
			continue
		}
		own.item(i)
		if m := c.check(item, e, at.item(i), depth+1, nil); m != nil && !c.collected(m) {
			return m
		}
	}
	if m := c.contains(s, v, at, depth, own); m != nil {
		return m
	}
	if s["uniqueItems"] == true && !c.within(at) {
		return c.unique(v, at)
	}
	return nil
}

func (c *Checker) unique(v []any, at *position) *Violation {
	before := map[string]int{}
	for i, e := range v {
		key := string(c.identity(nil, e))
		if !c.spend(20 + len(key)/16) {
			return nil
		}
		if j, twice := before[key]; twice {
			got := func() string { return fmt.Sprintf("the same as item %d", j) }
			return &Violation{At: at.item(i), Want: plainly("items that differ"), Got: got}
		}
		before[key] = i
	}
	return nil
}

func (c *Checker) contains(s map[string]any, v []any, at *position, depth int, own *seen) *Violation {
	wanted, ok := s["contains"]
	if !ok {
		return nil
	}
	n := 0
	for i, e := range v {
		if c.check(wanted, e, at.item(i), depth+1, nil) == nil {
			n++
			if !c.Draft7 {
				own.item(i)
			}
		}
		if c.over() {
			return nil
		}
	}
	least := 1
	if k, ok := integer(s["minContains"]); ok && !c.Draft7 {
		least = k
	}
	got := func() string { return fmt.Sprintf("%d of them", n) }
	if n < least {
		want := func() string { return fmt.Sprintf("an array with at least %d of: %s", least, c.describe(wanted, 0)) }
		return &Violation{At: at, Want: want, Got: got}
	}
	if most, ok := integer(s["maxContains"]); ok && n > most && !c.Draft7 && !c.within(at) {
		want := func() string { return fmt.Sprintf("an array with at most %d of: %s", most, c.describe(wanted, 0)) }
		return &Violation{At: at, Want: want, Got: got}
	}
	return nil
}
