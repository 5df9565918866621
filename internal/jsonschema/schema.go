package jsonschema

import (
	"fmt"
	"maps"
	"slices"
)

// The bounds of a schema from an untrusted server. Real ones are far smaller.
const (
	schemaBytes = 1 << 20
	schemaDepth = 64
	notesMax    = 8 // notes about one schema
)

// A Schema is compiled, ready to check values against. Nothing in it changes once it is made.
type Schema struct {
	Root     any                 // the schema as plain JSON; nil accepts any object
	Draft7   bool                // else 2020-12
	tracks   bool                // it has an "unevaluated" keyword
	targets  map[uintptr]any     // the targets of references, by the schema with the $ref
	patterns map[string]*pattern // nil for one that cannot be used
	Note     string              // which parts of the schema cannot be used; "" for none
}

// listed sorts notes, removes duplicates, and counts those beyond notesMax.
func listed(notes []string) []string {
	slices.Sort(notes)
	notes = slices.Compact(notes)
	if n := len(notes) - notesMax; n > 0 {
		notes = append(notes[:notesMax], fmt.Sprintf("and %d more", n))
	}
	return notes
}

// eachSubschema visits the direct subschemas of a schema.
func eachSubschema(s map[string]any, visit func(any)) {
	for _, key := range []string{"additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if",
		"items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"} {
		if list, ok := s[key].([]any); ok {
			for _, sub := range list {
				visit(sub)
			}
		} else if sub, ok := s[key]; ok {
			visit(sub)
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf", "prefixItems"} {
		if list, ok := s[key].([]any); ok {
			for _, sub := range list {
				visit(sub)
			}
		}
	}
	for _, key := range []string{
		"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties",
	} {
		if m, ok := s[key].(map[string]any); ok {
			for _, k := range slices.Sorted(maps.Keys(m)) { // sorted, because the patterns share a budget
				visit(m[k])
			}
		}
	}
}

// deep reports whether a value is nested deeper than so many levels.
func deep(v any, levels int) bool {
	if levels == 0 {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if deep(e, levels-1) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if deep(e, levels-1) {
				return true
			}
		}
	}
	return false
}
