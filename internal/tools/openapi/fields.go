package openapi

import "github.com/codemode-project/codemode/internal/strictjson"

// A field is a member of a body.
type field struct {
	name     string
	schema   strictjson.Value // none if the description only requires it
	required bool
	hidden   bool // the server sets it
}

// members returns the members of a body, without those that the server sets; nil if they are not all known, or if one
// has the name of another argument.
func (c *compiler) members(schema strictjson.Value) []field {
	fields, ok := c.fieldsOf(schema, 0)
	if !ok {
		return nil
	}
	kept := []field{}
	for _, f := range fields {
		if f.hidden {
			continue
		}
		if c.names[f.name] {
			return nil
		}
		kept = append(kept, f)
	}
	return kept
}

// fieldsOf lists the members of an object and of all that it consists of. ok is false if there may be others.
func (c *compiler) fieldsOf(schema strictjson.Value, depth int) (all []field, ok bool) {
	schema, err := c.follow(schema)
	if err != nil || depth > refsMax || !enumerable(schema) {
		return nil, false
	}
	at := map[string]int{}
	add := func(f field) {
		c.looked += 100 // about what it costs
		i, twice := at[f.name]
		if !twice {
			at[f.name] = len(all)
			all = append(all, f)
			return
		}
		if all[i].schema.Kind() == strictjson.Missing {
			all[i].schema = f.schema
		}
		all[i].required, all[i].hidden = all[i].required || f.required, all[i].hidden || f.hidden
	}
	parts, _ := schema.Member("allOf")
	for _, p := range parts.Elements() {
		inner, ok := c.fieldsOf(p, depth+1)
		if !ok {
			return nil, false
		}
		for _, f := range inner {
			add(f)
		}
	}
	properties, known := schema.Member("properties")
	for name, p := range properties.Members() {
		add(field{name: name, schema: p, hidden: c.hides(p)})
	}
	required, _ := schema.Member("required")
	for _, e := range required.Elements() { // another part of the whole may describe it
		if e.Kind() == strictjson.String {
			add(field{name: e.Text(), required: true})
		}
	}
	return all, known || len(all) > 0 || depth > 0
}

// enumerable reports whether an object has no members but those that it, and what it consists of, lists.
func enumerable(schema strictjson.Value) bool {
	for _, key := range []string{"oneOf", "anyOf", "not", "if", "patternProperties"} {
		if _, open := schema.Member(key); open {
			return false
		}
	}
	if more, ok := schema.Member("additionalProperties"); ok && more.Kind() != strictjson.False {
		return false
	}
	kind, said := schema.Member("type")
	return !(said && kind.Text() != "object") && !is(schema, "nullable")
}
