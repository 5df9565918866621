package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

func (c *checker) object(s map[string]any, v map[string]any, path string, depth int, own *seen) *misfit {
	properties, _ := s["properties"].(map[string]any)
	patterns, _ := s["patternProperties"].(map[string]any)
	open := slices.ContainsFunc(slices.Collect(maps.Keys(patterns)), func(p string) bool { return c.pattern(p) == nil })
	extra, closed := s["additionalProperties"]
	var unknown []string
	for _, k := range slices.Sorted(maps.Keys(v)) {
		at := path + "/" + escapePointer(k)
		if names, ok := s["propertyNames"]; ok {
			if m := c.check(names, k, at, depth+1, nil); m != nil {
				return &misfit{at, "a key that is " + m.want, quoted(k)}
			}
		}
		sub, listed := properties[k]
		if listed {
			if m := c.check(sub, v[k], at, depth+1, nil); m != nil {
				return m
			}
		}
		for _, p := range slices.Sorted(maps.Keys(patterns)) {
			if re := c.pattern(p); re != nil && re.MatchString(k) {
				listed = true
				if m := c.check(patterns[p], v[k], at, depth+1, nil); m != nil {
					return m
				}
			}
		}
		if listed || closed {
			own.property(k)
		}
		switch {
		case listed || !closed || open:
		case extra == false:
			unknown = append(unknown, k)
		default:
			if m := c.check(extra, v[k], at, depth+1, nil); m != nil {
				return m
			}
		}
	}
	if len(unknown) > 0 {
		return &misfit{path + "/" + escapePointer(unknown[0]), noSuchProperty(unknown[0], properties, v), show(v[unknown[0]])}
	}
	return c.presence(s, v, path, depth, own)
}

// presence checks which keys there have to be, and how many.
func (c *checker) presence(s map[string]any, v map[string]any, path string, depth int, own *seen) *misfit {
	properties, _ := s["properties"].(map[string]any)
	missing := func(list any, because string) *misfit {
		names, _ := list.([]any)
		for _, r := range names {
			if k, ok := r.(string); ok {
				if _, ok := v[k]; !ok {
					return &misfit{path + "/" + escapePointer(k), c.describe(properties[k], 0) + because, "nothing"}
				}
			}
		}
		return nil
	}
	if c.gaps.open[path] {
		return nil
	}
	if m := missing(s["required"], ""); m != nil {
		return m
	}
	if least, ok := integer(s["minProperties"]); ok && len(v) < least {
		return &misfit{path, fmt.Sprintf("at least %d keys", least), fmt.Sprintf("%d", len(v))}
	}
	if c.gaps.within(path) { // what may come to be undefined is no key
		return nil
	}
	if most, ok := integer(s["maxProperties"]); ok && len(v) > most {
		return &misfit{path, fmt.Sprintf("at most %d keys", most), fmt.Sprintf("%d", len(v))}
	}
	keywords := []string{"dependentRequired", "dependentSchemas"}
	if c.draft7 {
		keywords = []string{"dependencies"}
	}
	for _, key := range keywords {
		needs, _ := s[key].(map[string]any)
		for _, k := range slices.Sorted(maps.Keys(needs)) {
			if _, has := v[k]; !has {
				continue
			}
			if _, isList := needs[k].([]any); isList {
				if m := missing(needs[k], ", because there is "+quoted(k)); m != nil {
					return m
				}
			} else if m := c.check(needs[k], v, path, depth+1, own); m != nil {
				return m
			}
		}
	}
	return nil
}

// unevaluated checks what no schema beside has looked at.
func (c *checker) unevaluated(s map[string]any, v any, path string, depth int, own *seen) *misfit {
	if own == nil {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		rest, ok := s["unevaluatedProperties"]
		if !ok || own.all {
			return nil
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if own.properties[k] {
				continue
			}
			at := path + "/" + escapePointer(k)
			if rest == false {
				return &misfit{at, "no property of that name", show(v[k])}
			}
			if m := c.check(rest, v[k], at, depth+1, nil); m != nil {
				return m
			}
			own.property(k)
		}
	case []any:
		rest, ok := s["unevaluatedItems"]
		if !ok || own.all {
			return nil
		}
		for i, e := range v {
			if own.items[i] {
				continue
			}
			if m := c.check(rest, e, path+"/"+strconv.Itoa(i), depth+1, nil); m != nil {
				return m
			}
			own.item(i)
		}
	}
	return nil
}

// noSuchProperty says which names there are, and which of them was meant.
func noSuchProperty(name string, properties, v map[string]any) string {
	var free []string
	for _, k := range slices.Sorted(maps.Keys(properties)) {
		if _, used := v[k]; !used {
			free = append(free, k)
		}
	}
	near, best := "", tooFar
	for _, k := range free {
		if d := distance(strings.ToLower(k), strings.ToLower(name), 1+(len(name)-1)/4); d < best {
			near, best = k, d
		}
	}
	switch {
	case near != "":
		return fmt.Sprintf("no property of that name (did you mean %q?)", near)
	case len(properties) == 0:
		return "no properties at all"
	case len(free) == 0 || len(free) > 12:
		return "no property of that name"
	}
	return "no property of that name (there are " + strings.Join(free, ", ") + ")"
}
