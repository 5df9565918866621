package jsonschema

import (
	"encoding/json"
	"slices"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// WithoutNulls returns an object without the properties that are null, optional, and must not be null by the schema.
// changed is false if there are none, or if finding them costs too much. unknown are JSON Pointers to places that only
// look like null.
func (c *Checker) WithoutNulls(v strictjson.Value, unknown []string) (_ json.RawMessage, changed bool) {
	w := nulls{c, unknown, false}
	out := w.value(nil, v, c.Root, nil)
	return out, w.changed && !c.over()
}

// nulls copies a value without some of its nulls.
type nulls struct {
	*Checker
	keep    []string
	changed bool
}

func (w *nulls) value(to []byte, v strictjson.Value, schema any, at *position) []byte {
	s := w.resolved(schema)
	if s == nil || !w.spend(stepsSchema) || at.below() > depthMax {
		return v.AppendCompact(to)
	}
	switch v.Kind() {
	case strictjson.Object:
		return w.object(to, v, s, at)
	case strictjson.Array:
		first, rest := tupleOf(s)
		to = append(to, '[')
		for i, e := range v.Elements() {
			if i > 0 {
				to = append(to, ',')
			}
			item := rest
			if i < len(first) {
				item = first[i]
			}
			to = w.value(to, e, item, at.item(i))
		}
		return append(to, ']')
	}
	return v.AppendCompact(to)
}

func (w *nulls) object(to []byte, v strictjson.Value, s map[string]any, at *position) []byte {
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	to = append(to, '{')
	first := true
	for k, m := range v.Members() {
		w.lookUp(len(k) + len(required))
		sub, listed := properties[k]
		below := at.member(k)
		if m.Kind() == strictjson.Null && listed && !slices.Contains(required, any(k)) &&
			!slices.Contains(w.keep, below.Pointer()) && w.check(sub, nil, below, 0, nil) != nil {
			w.changed = true
			continue
		}
		if !first {
			to = append(to, ',')
		}
		first = false
		to = append(strictjson.AppendString(to, k), ':')
		to = w.value(to, m, sub, below)
	}
	return append(to, '}')
}

// resolved follows references to a schema with keywords; nil if there is none.
func (w *nulls) resolved(schema any) map[string]any {
	for range 4 {
		s, ok := schema.(map[string]any)
		if !ok {
			return nil
		}
		if _, ok := s["$ref"].(string); !ok {
			return s
		}
		target, ok := w.referred(s)
		if !ok {
			return nil
		}
		schema = target
	}
	return nil
}
