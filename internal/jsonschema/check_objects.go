package jsonschema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/visible"
)

func (c *Checker) object(s map[string]any, v map[string]any, at *position, depth int, own *seen) *Violation {
	properties, _ := s["properties"].(map[string]any)
	patterns, _ := s["patternProperties"].(map[string]any)
	extra, closed := s["additionalProperties"]
	names, named := s["propertyNames"]
	if len(properties) == 0 && len(patterns) == 0 && !closed && !named { // no keyword is about members
		return c.presence(s, v, at, depth, own)
	}
	expressions := c.keys(patterns)
	open := slices.ContainsFunc(expressions, func(p string) bool { return c.pattern(p) == nil })
	var unknown []string
	for _, k := range c.keys(v) {
		if !c.lookUp(len(k)) {
			return nil
		}
		below := at.member(k)
		if named {
			if m := c.check(names, k, below, depth+1, nil); m != nil {
				want := func() string { return "a key that is " + m.Want() }
				return &Violation{At: below, Want: want, Got: func() string { return quoted(k) }}
			}
		}
		sub, listed := properties[k]
		if listed {
			if m := c.check(sub, v[k], below, depth+1, nil); m != nil && !c.collected(m) {
				return m
			}
		}
		for _, p := range expressions {
			if c.over() {
				return nil
			}
			if fits, _ := c.matches(p, k); fits {
				listed = true
				if m := c.check(patterns[p], v[k], below, depth+1, nil); m != nil {
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
			if m := c.check(extra, v[k], below, depth+1, nil); m != nil {
				return m
			}
		}
	}
	for _, k := range unknown {
		want := func() string { return c.noSuchProperty(k, properties, v) }
		if m := (&Violation{At: at.member(k), Want: want, Got: shown(v[k])}); !c.collected(m) {
			return m
		}
	}
	return c.presence(s, v, at, depth, own)
}

// presence checks the required keys and the number of keys.
func (c *Checker) presence(s map[string]any, v map[string]any, at *position, depth int, own *seen) *Violation {
	if c.open(at) {
		return nil
	}
	if m := c.missing(s, s["required"], v, at, ""); m != nil {
		return m
	}
	got := func() string { return fmt.Sprint(len(v)) }
	if least, ok := integer(s["minProperties"]); ok && len(v) < least {
		return &Violation{At: at, Want: func() string { return fmt.Sprintf("at least %d keys", least) }, Got: got}
	}
	if c.within(at) { // an unknown member may turn out to be undefined, which is no key
		return nil
	}
	if most, ok := integer(s["maxProperties"]); ok && len(v) > most {
		return &Violation{At: at, Want: func() string { return fmt.Sprintf("at most %d keys", most) }, Got: got}
	}
	keywords := []string{"dependentRequired", "dependentSchemas"}
	if c.Draft7 {
		keywords = []string{"dependencies"}
	}
	for _, key := range keywords {
		needs, _ := s[key].(map[string]any)
		for _, k := range c.keys(needs) {
			if !c.lookUp(len(k)) {
				return nil
			}
			if _, has := v[k]; !has {
				continue
			}
			if _, isList := needs[k].([]any); isList {
				if m := c.missing(s, needs[k], v, at, k); m != nil {
					return m
				}
			} else if m := c.check(needs[k], v, at, depth+1, own); m != nil {
				return m
			}
		}
	}
	return nil
}

// missing finds the first key of a list that the value does not have. because is the key that requires it, "" for none.
func (c *Checker) missing(s map[string]any, list any, v map[string]any, at *position, because string) *Violation {
	properties, _ := s["properties"].(map[string]any)
	names, _ := list.([]any)
	for _, r := range names {
		k, ok := r.(string)
		if !c.lookUp(len(k)) {
			return nil
		}
		if _, has := v[k]; !ok || has {
			continue
		}
		want := func() string {
			words := c.describe(properties[k], 0)
			if because != "" {
				words += ", because there is " + quoted(because)
			}
			return words
		}
		m := &Violation{At: at.member(k), Want: want, Got: plainly("nothing"), constant: c.leadsWithText(properties[k])}
		if !c.collected(m) {
			return m
		}
	}
	return nil
}

// unevaluated checks the properties and items that no other keyword has evaluated.
func (c *Checker) unevaluated(s map[string]any, v any, at *position, depth int, own *seen) *Violation {
	if own == nil {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		rest, ok := s["unevaluatedProperties"]
		if !ok || own.all {
			return nil
		}
		for _, k := range c.keys(v) {
			if !c.lookUp(len(k)) {
				return nil
			}
			if own.properties[k] {
				continue
			}
			below := at.member(k)
			if rest == false {
				return &Violation{At: below, Want: plainly("no property of that name"), Got: shown(v[k])}
			}
			if m := c.check(rest, v[k], below, depth+1, nil); m != nil {
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
			if !c.spend(1) {
				return nil
			}
			if own.items[i] {
				continue
			}
			if m := c.check(rest, e, at.item(i), depth+1, nil); m != nil {
				return m
			}
			own.item(i)
		}
	}
	return nil
}

// The bounds of the search for the property that the author meant.
const (
	meantNames = 200 // properties
	meantBytes = 100 // of a name
)

// noSuchProperty says which names there are, and which of them is the most similar.
func (c *Checker) noSuchProperty(name string, properties, v map[string]any) string {
	var free []string
	for _, k := range c.keys(properties) {
		if _, used := v[k]; !used {
			free = append(free, k)
		}
	}
	near, best := "", visible.TooFar
	for _, k := range free[:min(len(free), meantNames)] {
		if len(name) > meantBytes || len(k) > meantBytes {
			continue
		}
		if d := visible.Distance(strings.ToLower(k), strings.ToLower(name), 1+(len(name)-1)/4); d < best {
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
	for i := range free {
		free[i] = cut(free[i], meantBytes)
	}
	return "no property of that name (there are " + strings.Join(free, ", ") + ")"
}
