package config

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/codemode-project/codemode/internal/profiles/match"
)

// An argument is what a tool's input schema says about the target of a pointer.
type argument struct {
	described bool   // the schema names it, or has a matching pattern
	required  bool   // every valid call has it
	standing  string // the schema's default when it is missing, as JSON; "" = none
}

// An inputSchema is a JSON Schema, reduced to what it says about the existing arguments.
type inputSchema struct {
	root any
	left *int // schemas that one argument may still visit
}

// Limits for a server's schema: schemas visited for one argument, and bytes of a pattern for keys.
const (
	maxFollowed   = 10_000
	maxKeyPattern = 1000
	patternCosts  = 100 // schemas
)

func parseInputSchema(raw json.RawMessage) (inputSchema, bool) {
	var s inputSchema
	if len(raw) == 0 || json.Unmarshal(raw, &s.root) != nil {
		return s, false
	}
	_, ok := s.root.(map[string]any)
	return s, ok
}

// maxRefs is more references than any schema that a person wrote needs; references may form a cycle.
const maxRefs = 64

// argument finds what the schema says about a pointer.
func (s inputSchema) argument(steps []match.Step) argument {
	left := maxFollowed
	s.left = &left
	return s.follow(s.root, steps, 0)
}

func (s inputSchema) follow(schema any, steps []match.Step, refs int) argument {
	o, ok := schema.(map[string]any)
	if *s.left--; !ok || refs == maxRefs || *s.left < 0 {
		return argument{}
	}
	if len(steps) == 0 {
		a := argument{described: true, required: true}
		if v, ok := o["default"]; ok {
			raw, _ := json.Marshal(v)
			a.standing = string(raw)
		}
		return a
	}
	best := argument{}
	consider := func(a argument) {
		best.described = best.described || a.described
		best.required = best.required || a.required
		best.standing = cmp.Or(best.standing, a.standing)
	}
	for _, below := range s.child(o, &steps[0]) {
		a := s.follow(below.schema, steps[1:], refs)
		a.required = a.required && below.required
		consider(a)
	}
	if ref, ok := o["$ref"].(string); ok {
		consider(s.follow(s.resolve(ref), steps, refs+1))
	}
	for _, all := range elementsOf(o["allOf"]) {
		consider(s.follow(all, steps, refs))
	}
	for _, word := range []string{"anyOf", "oneOf"} {
		consider(s.either(elementsOf(o[word]), steps, refs))
	}
	return best
}

// either joins alternative schemas: an argument is required if all of them require it.
func (s inputSchema) either(schemas []any, steps []match.Step, refs int) argument {
	one := argument{required: len(schemas) > 0}
	for _, schema := range schemas {
		a := s.follow(schema, steps, refs)
		one.described = one.described || a.described
		one.required = one.required && a.required
		one.standing = cmp.Or(one.standing, a.standing)
	}
	return one
}

// A below is a subschema.
type below struct {
	schema   any
	required bool
}

func (s inputSchema) child(o map[string]any, step *match.Step) []below {
	var found []below
	if step.Any || step.Index >= 0 {
		if items, ok := o["items"]; ok {
			found = append(found, below{items, true})
		}
		for i, item := range elementsOf(o["prefixItems"]) {
			if step.Any || i == step.Index {
				found = append(found, below{item, true})
			}
		}
		if step.Any {
			return found
		}
	}
	properties, _ := o["properties"].(map[string]any)
	if schema, ok := properties[step.Key]; ok {
		if schema == true { // anything
			schema = map[string]any{}
		}
		required := slices.Contains(elementsOf(o["required"]), any(step.Key))
		return append(found, below{schema, required})
	}
	patterns, _ := o["patternProperties"].(map[string]any)
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		if *s.left -= patternCosts; *s.left < 0 || len(pattern) > maxKeyPattern {
			continue
		}
		schema := patterns[pattern]
		if re, err := regexp.Compile(pattern); err == nil && re.MatchString(step.Key) {
			found = append(found, below{schema, false})
		}
	}
	if more, ok := o["additionalProperties"].(map[string]any); ok && len(more) > 0 {
		found = append(found, below{more, false})
	}
	return found
}

// resolve follows a reference inside the schema.
func (s inputSchema) resolve(ref string) any {
	pointer, ok := strings.CutPrefix(ref, "#")
	if *s.left -= len(ref) / 64; !ok || *s.left < 0 {
		return nil
	}
	at := s.root
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch v := at.(type) {
		case map[string]any:
			at = v[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			at = v[i]
		default:
			return nil
		}
	}
	return at
}

// elementsOf returns the elements of a JSON array, none for anything else.
func elementsOf(v any) []any {
	l, _ := v.([]any)
	return l
}
