package catalog

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

func (c *checker) number(s map[string]any, v json.Number, path string) *misfit {
	for _, limit := range []struct {
		key, want string
		bad       func(c int) bool
	}{
		{"minimum", "at least", func(c int) bool { return c < 0 }},
		{"exclusiveMinimum", "more than", func(c int) bool { return c <= 0 }},
		{"maximum", "at most", func(c int) bool { return c > 0 }},
		{"exclusiveMaximum", "less than", func(c int) bool { return c >= 0 }},
	} {
		if n, ok := s[limit.key].(json.Number); ok && limit.bad(compare(v, n)) {
			return &misfit{path, fmt.Sprintf("a number of %s %s", limit.want, n), show(v)}
		}
	}
	if n, ok := s["multipleOf"].(json.Number); ok && !multiple(v, n) {
		return &misfit{path, "a multiple of " + n.String(), show(v)}
	}
	return nil
}

func (c *checker) text(s map[string]any, v, path string) *misfit {
	n := utf8.RuneCountInString(v)
	if least, ok := integer(s["minLength"]); ok && n < least {
		return &misfit{path, fmt.Sprintf("a string of at least %d characters", least), fmt.Sprintf("one of %d", n)}
	}
	if most, ok := integer(s["maxLength"]); ok && n > most {
		return &misfit{path, fmt.Sprintf("a string of at most %d characters", most), fmt.Sprintf("one of %d", n)}
	}
	if p, ok := s["pattern"].(string); ok {
		if re := c.pattern(p); re != nil && !re.MatchString(v) {
			return &misfit{path, "a string that matches " + strconv.Quote(p), show(v)}
		}
	}
	return nil
}

// tupleOf returns the schemas of the first items and that of the rest, of
// either draft; nil where there is none.
func tupleOf(s map[string]any) (first []any, rest any) {
	if list, ok := s["items"].([]any); ok { // draft-07
		return list, s["additionalItems"]
	}
	first, _ = s["prefixItems"].([]any)
	return first, s["items"]
}

func (c *checker) array(s map[string]any, v []any, path string, depth int, own *seen) *misfit {
	if least, ok := integer(s["minItems"]); ok && len(v) < least {
		return &misfit{path, fmt.Sprintf("at least %d items", least), show(v)}
	}
	if most, ok := integer(s["maxItems"]); ok && len(v) > most {
		return &misfit{path, fmt.Sprintf("at most %d items", most), show(v)}
	}
	first, rest := tupleOf(s)
	for i, e := range v {
		item := rest
		if i < len(first) {
			item = first[i]
		}
		if item == nil {
			continue
		}
		own.item(i)
		if m := c.check(item, e, path+"/"+strconv.Itoa(i), depth+1, nil); m != nil {
			return m
		}
	}
	if m := c.contains(s, v, path, depth, own); m != nil {
		return m
	}
	if s["uniqueItems"] == true && !c.gaps.within(path) {
		at := map[string]int{}
		for i, e := range v {
			c.steps++
			key := identity(e)
			if j, twice := at[key]; twice {
				return &misfit{path + "/" + strconv.Itoa(i), "items that differ", fmt.Sprintf("the same as item %d", j)}
			}
			at[key] = i
		}
	}
	return nil
}

func (c *checker) contains(s map[string]any, v []any, path string, depth int, own *seen) *misfit {
	wanted, ok := s["contains"]
	if !ok {
		return nil
	}
	n := 0
	for i, e := range v {
		if c.check(wanted, e, path, depth+1, nil) == nil {
			n++
			if !c.draft7 {
				own.item(i)
			}
		}
	}
	least := 1
	if k, ok := integer(s["minContains"]); ok && !c.draft7 {
		least = k
	}
	if n < least {
		return &misfit{path, fmt.Sprintf("an array with at least %d of: %s", least, c.describe(wanted, 0)), fmt.Sprintf("%d of them", n)}
	}
	if most, ok := integer(s["maxContains"]); ok && n > most && !c.draft7 && !c.gaps.within(path) {
		return &misfit{path, fmt.Sprintf("an array with at most %d of: %s", most, c.describe(wanted, 0)), fmt.Sprintf("%d of them", n)}
	}
	return nil
}
