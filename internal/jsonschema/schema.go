package jsonschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
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

// Compile reads a schema of draft-07 or 2020-12. It fetches nothing. It ignores the parts of a schema that it cannot
// use, and says so in Note. It takes the instructions of the patterns from room.
func Compile(raw json.RawMessage, room *int) *Schema { return compile(raw, room, false) }

// CompileArguments is [Compile] for a schema of arguments, which are an object.
func CompileArguments(raw json.RawMessage, room *int) *Schema { return compile(raw, room, true) }

func compile(raw json.RawMessage, room *int, args bool) *Schema {
	c := new(Schema)
	c.compile(raw, room, args)
	return c
}

func (c *Schema) compile(raw json.RawMessage, room *int, args bool) {
	if len(raw) == 0 {
		return
	}
	if len(raw) > schemaBytes {
		c.Note = fmt.Sprintf("%d bytes long, more than %d", len(raw), schemaBytes)
		return
	}
	root, err := Decode(raw)
	if err != nil {
		c.Note = fmt.Sprintf("not JSON: %v", err)
		return
	}
	s, ok := root.(map[string]any)
	switch {
	case root == true, root == false: // false would make a tool that nobody can call
		return
	case !ok:
		c.Note = "neither an object nor true"
		return
	case deep(s, schemaDepth):
		c.Note = fmt.Sprintf("nested more than %d deep", schemaDepth)
		return
	}
	root, notes := Repair(root, args)
	c.Root, c.targets, c.patterns = root, map[uintptr]any{}, map[string]*pattern{}
	version, _ := s["$schema"].(string)
	switch {
	case strings.Contains(version, "draft-07"):
		c.Draft7 = true
	case version != "" && !strings.Contains(version, "2020-12"):
		c.Draft7 = strings.Contains(version, "draft-0")
		notes = append(notes, fmt.Sprintf("version %q is unknown and read as the nearest that is known", Cut(version, 60)))
	}
	g := gatherer{c: c, room: room}
	g.gather(root)
	l := linker{c: c, resources: map[string]any{}, anchors: map[string]any{}}
	l.find(root, place{base: new(url.URL)}, false)
	l.find(root, place{base: new(url.URL)}, true)
	l.cutCircles(root)
	c.Note = strings.Join(listed(slices.Concat(notes, g.notes, l.notes)), "; ")
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

// EachSubschema visits the direct subschemas of a schema.
func EachSubschema(s map[string]any, visit func(any)) {
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

// MustMarshal encodes what was decoded from JSON.
func MustMarshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("jsonschema: encoding decoded JSON: " + err.Error())
	}
	return b
}
