package jsonschema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The bounds of a description.
const (
	toldSchemas = 300 // described schemas
	toldForms   = 64  // compared alternatives; ten of them are named
	toldName    = 60  // characters of a name
)

// describe says in words what a schema expects.
func (c *Checker) describe(schema any, depth int) string {
	s, ok := schema.(map[string]any)
	if c.told++; !ok || depth > 3 || c.told > toldSchemas {
		if schema == false {
			return "nothing"
		}
		return "a value"
	}
	if _, ok := s["$ref"].(string); ok {
		if target, ok := c.referred(s); ok {
			return c.describe(target, depth+1)
		}
	}
	if constant, ok := s["const"]; ok {
		return literal(constant)
	}
	if enum, ok := s["enum"].([]any); ok && len(enum) > 0 {
		return oneOf(enum, literal)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := s[key].([]any); ok && len(list) > 0 {
			return oneOf(list, func(sub any) string { return c.describe(sub, depth+1) })
		}
	}
	switch t := s["type"].(type) {
	case string:
		return c.describeType(t, s, depth)
	case []any:
		return oneOf(t, func(e any) string {
			name, _ := e.(string)
			return c.describeType(name, s, depth)
		})
	}
	switch {
	case s["properties"] != nil, s["required"] != nil:
		return c.describeType("object", s, depth)
	case s["items"] != nil, s["prefixItems"] != nil:
		return c.describeType("array", s, depth)
	}
	return "a value"
}

func (c *Checker) describeType(t string, s map[string]any, depth int) string {
	limits := func(noun string) string {
		for _, x := range []struct{ key, word string }{
			{"minimum", "at least"}, {"exclusiveMinimum", "more than"},
			{"maximum", "at most"}, {"exclusiveMaximum", "less than"},
		} {
			if s[x.key] != nil {
				noun += fmt.Sprintf(", %s %s", x.word, literal(s[x.key]))
			}
		}
		return noun
	}
	switch t {
	case "string":
		if f, ok := s["format"].(string); ok {
			return "a string (" + cut(f, 30) + ")"
		}
		return "a string"
	case "integer":
		return limits("an integer")
	case "number":
		return limits("a number")
	case "boolean":
		return "true or false"
	case "null":
		return "null"
	case "array":
		if _, rest := tupleOf(s); rest != nil {
			if _, ok := rest.(map[string]any); ok {
				return "an array, each item " + c.describe(rest, depth+1)
			}
		}
		return "an array"
	case "object":
		required, _ := s["required"].([]any)
		var names []string
		for _, r := range required[:min(len(required), 9)] {
			if k, ok := r.(string); ok {
				names = append(names, cut(k, toldName))
			}
		}
		if len(names) > 0 && len(required) <= 8 {
			return "an object with " + strings.Join(names, ", ")
		}
		if p, ok := s["properties"].(map[string]any); ok && len(p) > 0 && len(p) <= 8 {
			names := slices.Sorted(maps.Keys(p))
			for i := range names {
				names[i] = cut(names[i], toldName)
			}
			return "an object that may have " + strings.Join(names, ", ")
		}
		return "an object"
	}
	return "a value"
}

// oneOf joins up to ten alternatives, each once.
func oneOf[T any](list []T, words func(T) string) string {
	var out []string
	for _, e := range list[:min(len(list), toldForms)] {
		if w := words(e); !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	if rest := max(len(list)-toldForms, 0); len(out) > 10 || rest > 0 && len(out) > 0 {
		shown := min(len(out), 10)
		out = append(out[:shown:shown], fmt.Sprintf("one of %d more", len(out)-shown+rest))
	}
	if len(out) == 1 {
		return out[0]
	}
	return strings.Join(out[:len(out)-1], ", ") + " or " + out[len(out)-1]
}

// leadsWithText reports whether the description of a schema begins with a string constant.
func (c *Checker) leadsWithText(schema any) bool {
	for range 4 {
		s, ok := schema.(map[string]any)
		if !ok {
			return false
		}
		c.spend(5)
		if ref, ok := s["$ref"].(string); ok {
			c.lookUp(8 * len(ref))
			if target, ok := c.referred(s); ok {
				schema = target
				continue
			}
		}
		if constant, ok := s["const"]; ok {
			_, text := constant.(string)
			return text
		}
		if enum, ok := s["enum"].([]any); ok && len(enum) > 0 {
			_, text := enum[0].(string)
			return text
		}
		list, _ := s["anyOf"].([]any)
		if len(list) == 0 {
			list, _ = s["oneOf"].([]any)
		}
		if len(list) == 0 {
			return false
		}
		schema = list[0]
	}
	return false
}

// tupleOf returns the schemas of the first items and that of the rest, of
// either draft; nil where there is none.
func tupleOf(s map[string]any) (first []any, rest any) {
	if list, ok := s["items"].([]any); ok { // draft-07
		return list, s["additionalItems"]
	}
	first, _ = s["prefixItems"].([]any)
	return first, s["items"]
}
