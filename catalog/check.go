package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A checker checks one value against a schema and finds the first place where
// it does not fit. It is our own because a schema is a stranger's: two that
// refer to each other end a whole process through the stack of the validators
// at hand, and thirty lines of anyOf keep them busy for years.
type checker struct {
	*compiled
	steps int // schemas looked at
	gaps  gaps
}

// What one check may take. A schema that needs more is one that refers to
// itself in circles or in bursts; it then says nothing.
const (
	stepsMax = 200_000
	depthMax = 10_000
)

// A misfit is one place that does not fit.
type misfit struct{ path, want, got string }

// seen notes which properties and items of a value were checked by the schema
// at hand or those beside it; a nil *seen notes nothing.
type seen struct {
	properties map[string]bool
	items      map[int]bool
	all        bool
}

func (s *seen) property(k string) {
	if s != nil {
		if s.properties == nil {
			s.properties = map[string]bool{}
		}
		s.properties[k] = true
	}
}

func (s *seen) item(i int) {
	if s != nil {
		if s.items == nil {
			s.items = map[int]bool{}
		}
		s.items[i] = true
	}
}

func (s *seen) add(o *seen) {
	if s == nil || o == nil {
		return
	}
	for k := range o.properties {
		s.property(k)
	}
	for i := range o.items {
		s.item(i)
	}
	s.all = s.all || o.all
}

// fresh returns a new note if anything needs notes.
func (c *checker) fresh() *seen {
	if c.tracks {
		return new(seen)
	}
	return nil
}

// over reports whether the check has cost all it may.
func (c *checker) over() bool { return c.steps > stepsMax }

// check returns nil if v fits the schema. Where it is given a note, it adds
// what the schema has looked at.
func (c *checker) check(schema, v any, path string, depth int, note *seen) *misfit {
	c.steps++
	if depth > depthMax {
		c.steps = stepsMax + 1
	}
	if c.gaps.unknown[path] {
		return nil
	}
	s, ok := schema.(map[string]any)
	if c.over() || !ok {
		if schema == false {
			return &misfit{path, "nothing", show(v)}
		}
		return nil
	}
	own := c.fresh()
	if _, ok := s["$ref"].(string); ok {
		if target, ok := c.referred(s); ok {
			if m := c.check(target, v, path, depth+1, own); m != nil {
				return m
			}
		}
		if c.draft7 { // there nothing beside a reference counts
			note.add(own)
			return nil
		}
	}
	if own != nil && s["$dynamicRef"] != nil { // it may look at all, for all we know
		own.all = true
	}
	if m := c.value(s, v, path, depth, own); m != nil {
		return m
	}
	if m := c.combined(s, v, path, depth, own); m != nil {
		return m
	}
	if !c.gaps.within(path) {
		if m := c.unevaluated(s, v, path, depth, own); m != nil {
			return m
		}
	}
	note.add(own)
	return nil
}

// value checks what concerns the value itself and what is inside it.
func (c *checker) value(s map[string]any, v any, path string, depth int, own *seen) *misfit {
	here := func() *misfit { return &misfit{path, c.describe(s, 0), show(v)} }
	if !typeFits(s["type"], v) {
		return here()
	}
	partly := c.gaps.within(path)
	if enum, ok := s["enum"].([]any); ok && !partly {
		c.steps += len(enum) / 16
		if !slices.ContainsFunc(enum, func(e any) bool { return same(e, v) }) {
			return here()
		}
	}
	if constant, ok := s["const"]; ok && !partly && !same(constant, v) {
		return here()
	}
	switch v := v.(type) {
	case json.Number:
		return c.number(s, v, path)
	case string:
		return c.text(s, v, path)
	case []any:
		return c.array(s, v, path, depth, own)
	case map[string]any:
		return c.object(s, v, path, depth, own)
	}
	return nil
}

// combined checks allOf, anyOf, oneOf, not and if.
func (c *checker) combined(s map[string]any, v any, path string, depth int, own *seen) *misfit {
	all, _ := s["allOf"].([]any)
	for _, sub := range all {
		if m := c.check(sub, v, path, depth+1, own); m != nil {
			return m
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		list, ok := s[key].([]any)
		if !ok || len(list) == 0 {
			continue
		}
		fits := 0
		var best *misfit
		for _, sub := range list {
			note := c.fresh()
			m := c.check(sub, v, path, depth+1, note)
			if m == nil {
				fits++
				own.add(note)
				if key == "anyOf" && !c.tracks {
					break
				}
			} else if best == nil || nearer(m, best, path) {
				best = m
			}
		}
		switch {
		case fits == 0 && best.path == path:
			return &misfit{path, c.describe(map[string]any{key: list}, 0), show(v)}
		case fits == 0:
			return best
		case fits > 1 && key == "oneOf" && !c.gaps.within(path):
			return &misfit{path, "exactly one of several forms", fmt.Sprintf("a value that is %d of them at once", fits)}
		}
	}
	if c.gaps.within(path) { // what fits so far may not in the end
		return nil
	}
	if not, ok := s["not"]; ok && c.check(not, v, path, depth+1, nil) == nil {
		return &misfit{path, "anything but " + c.describe(not, 0), show(v)}
	}
	if cond, ok := s["if"]; ok {
		note := c.fresh()
		branch := s["else"]
		if c.check(cond, v, path, depth+1, note) == nil {
			own.add(note)
			branch = s["then"]
		}
		if branch != nil {
			return c.check(branch, v, path, depth+1, own)
		}
	}
	return nil
}

// nearer reports whether the misfit m tells more than n about which of several
// forms was meant: one deeper inside, and best one that is no wrong constant,
// because the constant is what tells the forms apart.
func nearer(m, n *misfit, path string) bool {
	rank := func(x *misfit) int {
		r := strings.Count(x.path, "/")
		if strings.HasPrefix(x.want, `"`) && x.path != path {
			r -= 100
		}
		return r
	}
	return rank(m) > rank(n)
}
