package jsonschema

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// Run checks a value against the root of the schema. An error says that the check did not end: it is [ErrCostly] or the
// cause of ctx.
func (c *Checker) Run(ctx context.Context, v any) (*Violation, error) {
	m := c.check(c.Root, v, nil, 0, nil)
	if len(c.Others) > 0 {
		if m != nil {
			c.Others = append(c.Others, m)
		}
		m, c.Others = c.Others[0], c.Others[1:]
	}
	switch {
	case c.gone:
		return nil, context.Cause(ctx)
	case c.over():
		return nil, ErrCostly
	}
	return m, nil
}

// try checks a value against a schema that need not match.
func (c *Checker) try(schema, v any, at *position, depth int, note *seen) *Violation {
	c.trying++
	defer func() { c.trying-- }()
	return c.check(schema, v, at, depth, note)
}

// check returns nil if v matches the schema. It adds to note what the schema has evaluated. The result is undefined
// if the check is over.
func (c *Checker) check(schema, v any, at *position, depth int, note *seen) *Violation {
	if depth > depthMax {
		c.steps = c.budget + 1
	}
	if !c.spend(stepsSchema) || c.unknown(at) {
		return nil
	}
	s, ok := schema.(map[string]any)
	if !ok {
		if schema == false {
			return &Violation{At: at, Want: plainly("nothing"), Got: shown(v)}
		}
		return nil
	}
	own := c.fresh()
	if ref, ok := s["$ref"].(string); ok {
		c.lookUp(8 * len(ref))
		if target, ok := c.referred(s); ok {
			if m := c.check(target, v, at, depth+1, own); m != nil {
				return m
			}
		}
		if c.Draft7 { // which ignores keywords beside a reference
			c.note(note, own)
			return nil
		}
	}
	if own != nil && s["$dynamicRef"] != nil { // it may evaluate everything
		own.all = true
	}
	if m := c.value(s, v, at, depth, own); m != nil {
		return m
	}
	if m := c.combined(s, v, at, depth, own); m != nil {
		return m
	}
	if !c.within(at) {
		if m := c.unevaluated(s, v, at, depth, own); m != nil {
			return m
		}
	}
	c.note(note, own)
	return nil
}

// value checks the value itself, its members and its items.
func (c *Checker) value(s map[string]any, v any, at *position, depth int, own *seen) *Violation {
	here := func() *Violation {
		want := func() string { return c.describe(s, 0) }
		return &Violation{At: at, Want: want, Got: shown(v), constant: c.leadsWithText(s)}
	}
	if !c.typeFits(s["type"], v) {
		return here()
	}
	partly := c.within(at)
	if enum, ok := s["enum"].([]any); ok && !partly {
		if !slices.ContainsFunc(enum, func(e any) bool { return c.over() || c.same(e, v) }) {
			return here()
		}
	}
	if constant, ok := s["const"]; ok && !partly && !c.same(constant, v) {
		return here()
	}
	switch v := v.(type) {
	case json.Number:
		return c.number(s, v, at)
	case string:
		return c.text(s, v, at)
	case []any:
		return c.array(s, v, at, depth, own)
	case map[string]any:
		return c.object(s, v, at, depth, own)
	}
	return nil
}

// combined checks allOf, anyOf, oneOf, not and if.
func (c *Checker) combined(s map[string]any, v any, at *position, depth int, own *seen) *Violation {
	all, _ := s["allOf"].([]any)
	for _, sub := range all {
		if m := c.check(sub, v, at, depth+1, own); m != nil {
			return m
		}
		if c.over() {
			return nil
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := s[key].([]any); ok && len(list) > 0 {
			if m := c.forms(key, list, v, at, depth, own); m != nil || c.over() {
				return m
			}
		}
	}
	if c.within(at) { // the unknown parts may change the outcome
		return nil
	}
	if not, ok := s["not"]; ok && c.try(not, v, at, depth+1, nil) == nil {
		return &Violation{At: at, Want: func() string { return "anything but " + c.describe(not, 0) }, Got: shown(v)}
	}
	if cond, ok := s["if"]; ok {
		note := c.fresh()
		branch := s["else"]
		if c.try(cond, v, at, depth+1, note) == nil {
			c.note(own, note)
			branch = s["then"]
		}
		if branch != nil {
			return c.check(branch, v, at, depth+1, own)
		}
	}
	return nil
}

// forms checks anyOf or oneOf.
func (c *Checker) forms(key string, list []any, v any, at *position, depth int, own *seen) *Violation {
	fits := 0
	var best *Violation
	for _, sub := range list {
		note := c.fresh()
		m := c.try(sub, v, at, depth+1, note)
		if c.over() {
			return nil
		}
		if m == nil {
			fits++
			c.note(own, note)
			if key == "anyOf" && !c.tracks {
				break
			}
		} else if best == nil || nearer(m, best, at) {
			best = m
		}
	}
	switch {
	case fits == 0 && best.At == at:
		form := map[string]any{key: list}
		want := func() string { return c.describe(form, 0) }
		return &Violation{At: at, Want: want, Got: shown(v), constant: c.leadsWithText(form)}
	case fits == 0:
		return best
	case fits > 1 && key == "oneOf" && !c.within(at):
		return &Violation{At: at, Want: plainly("exactly one of several forms"),
			Got: func() string { return fmt.Sprintf("a value that is %d of them at once", fits) }}
	}
	return nil
}

// nearer reports whether the violation m says more than n about which of several forms the author meant. A deeper
// violation does, and so does one that is not a wrong constant, because constants distinguish the forms.
func nearer(m, n *Violation, at *position) bool {
	rank := func(x *Violation) int {
		r := x.At.below()
		if x.constant && x.At != at {
			r -= 100
		}
		return r
	}
	return rank(m) > rank(n)
}
