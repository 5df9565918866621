package jsonschema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A typeWriter turns the schemas of one tool into TypeScript types.
type typeWriter struct {
	tool  string
	brief bool   // one line, without comments
	part  string // "args" or "result": the part that has the schema root
	root  any
	order keyOrder

	names   map[string]string         // part and reference to the name of its type
	taken   map[string]int            // how many types wanted the name
	anchors map[string]map[string]any // by part and anchor
	queue   []namedType
	types   strings.Builder // the finished named types

	expanding []string // the references that are being written out in place
	steps     int
	work      int // in bytes and members
}

// A namedType is a type with a name that waits in the queue.
type namedType struct {
	name, part, ref string
	root            any
	order           keyOrder
}

// enumMax is how many alternatives a type lists. The others appear by their kind.
const enumMax = 100

// The bounds of the work on one tool: in schemas, and in bytes and members, which a schema can repeat often.
const (
	writeMax = 5000
	workMax  = 1 << 21
)

// spend counts work in advance. It reports whether the work may continue.
func (w *typeWriter) spend(n int) bool {
	w.work += n
	return w.work <= workMax
}

// render writes the type of a schema inside another type. indent is the indentation of further lines.
func (w *typeWriter) render(schema any, indent int) string {
	return strings.Join(w.alternatives(schema, indent, false), " | ")
}

// finish writes the named types, including those that they refer to.
func (w *typeWriter) finish() {
	for len(w.queue) > 0 {
		n := w.queue[0]
		w.queue = w.queue[1:]
		w.root, w.part, w.order = n.root, n.part, n.order
		target, _ := w.local(n.ref)
		w.expanding = []string{n.ref}
		body := strings.Join(w.alternatives(target, 0, true), " | ")
		w.expanding = nil
		if s, ok := target.(map[string]any); ok {
			w.types.WriteString(DocComment(description(s), ""))
		}
		fmt.Fprintf(&w.types, "type %s = %s;\n\n", n.name, body)
	}
}

// alternatives returns the members of the union that the schema is. With bare, they become the right side of a type
// definition. There a reference must be written out, because a type may contain itself but not be itself.
func (w *typeWriter) alternatives(schema any, indent int, bare bool) []string {
	w.steps++
	s, ok := schema.(map[string]any)
	if !w.spend(20) || !ok || w.steps > writeMax {
		if schema == false {
			return []string{"never"}
		}
		return []string{"unknown"}
	}
	if ref, ok := s["$ref"].(string); ok {
		return w.reference(s, ref, indent, bare)
	}
	if c, ok := s["const"]; ok {
		return w.nullable(s, []string{w.literalType(c)})
	}
	if enum, ok := s["enum"].([]any); ok && len(enum) > 0 {
		return w.nullable(s, w.enumTypes(enum))
	}
	own := w.own(s, indent)
	forms := w.forms(s, indent, bare)
	own = w.withAllOf(s, own, indent, bare)
	switch {
	case forms == nil, slices.Equal(forms, []string{"unknown"}) && s["properties"] != nil:
		return w.nullable(s, own)
	case slices.Equal(own, []string{"unknown"}), s["properties"] == nil && s["allOf"] == nil:
		return w.nullable(s, forms)
	}
	return w.nullable(s, []string{intersect(strings.Join(own, " | "), strings.Join(forms, " | "))})
}

// forms returns the union that anyOf and oneOf are; nil without either.
func (w *typeWriter) forms(s map[string]any, indent int, bare bool) (forms []string) {
	for _, key := range []string{"anyOf", "oneOf"} {
		list, _ := s[key].([]any)
		if len(list) == 0 {
			continue
		}
		var union []string
		for i, sub := range list {
			if i == enumMax {
				union = append(union, "unknown")
				break
			}
			union = append(union, w.alternatives(w.inherit(s, sub), indent, bare)...)
		}
		union = w.compact(union)
		if forms == nil {
			forms = union
		} else {
			forms = []string{intersect(strings.Join(forms, " | "), strings.Join(union, " | "))}
		}
	}
	return forms
}

// withAllOf intersects a type with those of allOf.
func (w *typeWriter) withAllOf(s map[string]any, own []string, indent int, bare bool) []string {
	all, _ := s["allOf"].([]any)
	var parts []string
	if len(all) > 0 && !slices.Equal(own, []string{"unknown"}) {
		parts = append(parts, strings.Join(own, " | "))
	}
	for _, sub := range all {
		if !w.spend(len(parts)) {
			break
		}
		part := strings.Join(w.alternatives(sub, indent, bare), " | ")
		if part != "unknown" && !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return own
	}
	return []string{intersect(parts...)}
}

// inherit adds the type beside an anyOf to a form of the anyOf, as authors mean it: {"type": "string", "anyOf":
// [{"minLength": 1}, ...]}.
func (w *typeWriter) inherit(s map[string]any, sub any) any {
	form, ok := sub.(map[string]any)
	if !ok || s["type"] == nil {
		return sub
	}
	for _, key := range []string{"type", "$ref", "const", "enum", "anyOf", "oneOf", "allOf", "properties", "items"} {
		if form[key] != nil {
			return sub
		}
	}
	if s["properties"] != nil {
		return map[string]any{} // it only constrains the object, such as by required
	}
	w.spend(4 * len(form))
	form = maps.Clone(form)
	form["type"] = s["type"]
	return form
}

// nullable adds null for the OpenAPI keyword.
func (w *typeWriter) nullable(s map[string]any, union []string) []string {
	if s["nullable"] == true {
		return w.compact(append(union, "null"))
	}
	return union
}

// own returns the union by the keyword type and the keywords of that type.
func (w *typeWriter) own(s map[string]any, indent int) []string {
	switch t := s["type"].(type) {
	case string:
		return []string{w.byType(t, s, indent)}
	case []any:
		var union []string
		for _, e := range t {
			if !w.spend(20) {
				break
			}
			name, _ := e.(string)
			union = append(union, w.byType(name, s, indent))
		}
		if len(union) > 0 {
			return w.compact(union)
		}
	}
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(k string) bool { return s[k] != nil })
	}
	switch {
	case has("properties", "patternProperties", "required", "propertyNames"):
		return []string{w.object(s, indent)}
	case has("items", "prefixItems", "minItems", "uniqueItems"):
		return []string{w.array(s, indent)}
	case has("minLength", "maxLength", "pattern"):
		return []string{"string"}
	case has("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"):
		return []string{"number"}
	}
	return []string{"unknown"}
}

func (w *typeWriter) byType(t string, s map[string]any, indent int) string {
	switch t {
	case "string", "number", "boolean", "null":
		return t
	case "integer":
		return "number"
	case "array":
		return w.array(s, indent)
	case "object":
		return w.object(s, indent)
	}
	return "unknown"
}

// compact is [Compact] with its cost.
func (w *typeWriter) compact(union []string) []string {
	for _, t := range union {
		w.spend(1 + len(t)/8)
	}
	return Compact(union)
}

// Compact removes duplicates from a union and puts null last.
func Compact(union []string) []string {
	var out []string
	there := make(map[string]bool, len(union))
	for _, t := range union {
		if t == "unknown" {
			return []string{"unknown"}
		}
		if t != "null" && !there[t] {
			there[t] = true
			out = append(out, t)
		}
	}
	if slices.Contains(union, "null") {
		out = append(out, "null")
	}
	return out
}

func intersect(parts ...string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = p
		if !simple(p) {
			out[i] = "(" + p + ")"
		}
	}
	return strings.Join(out, " & ")
}
