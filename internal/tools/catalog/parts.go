package catalog

import (
	"maps"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/jsonschema"
)

// Part reports what the declared or the learned type of a tool's results says about a part of one. path has the names
// of members, and - for any element of an array. Known is false where the type leaves it open. Shape is the type of what
// the last name is read from, in short.
func (t *Tool) Part(path []string) (has, known bool, shape string) {
	if len(path) == 0 {
		return false, false, ""
	}
	switch {
	case !t.saysNothing() && t.output != nil:
		return declaredPart(t.compiledOutput(jsonschema.NewRoom()).Root, path)
	case !t.saysNothing() || t.learned == nil:
		return false, false, ""
	}
	return t.learned.shape.Load().part(path)
}

// elementName reports whether a name of a path is an element of an array, or one of JavaScript's own for one.
func elementName(name string) bool {
	return name == "-" || strings.Trim(name, "0123456789") == "" || IsArrayName(name)
}

// IsArrayName reports whether JavaScript's arrays have a property of that name.
func IsArrayName(name string) bool {
	switch name {
	case "length", "at", "concat", "copyWithin", "entries", "every", "fill", "filter", "find", "findIndex", "findLast",
		"findLastIndex", "flat", "flatMap", "forEach", "includes", "indexOf", "join", "keys", "lastIndexOf", "map", "pop",
		"push", "reduce", "reduceRight", "reverse", "shift", "slice", "some", "sort", "splice", "toReversed", "toSorted",
		"toSpliced", "unshift", "values", "with":
		return true
	}
	return false
}

func declaredPart(schema any, path []string) (has, known bool, shape string) {
	s, ok := schema.(map[string]any)
	for _, key := range []string{"$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "if", "patternProperties"} {
		if _, open := s[key]; !ok || open {
			return false, false, ""
		}
	}
	if s["type"] == "array" {
		switch {
		case !elementName(path[0]):
			return false, true, "an array"
		case len(path) == 1 || IsArrayName(path[0]):
			return true, IsArrayName(path[0]), ""
		}
		return declaredPart(s["items"], path[1:])
	}
	members, ok := s["properties"].(map[string]any)
	switch more := s["additionalProperties"].(type) {
	case bool:
		ok = ok && !more
	case map[string]any:
		ok = false
	}
	if kind, isText := s["type"].(string); !ok || isText && kind != "object" {
		return false, false, ""
	}
	next, has := members[path[0]]
	switch {
	case !has:
		return false, true, "{" + strings.Join(slices.Sorted(maps.Keys(members)), ", ") + "}"
	case len(path) == 1:
		return true, true, ""
	}
	return declaredPart(next, path[1:])
}

func (s *shape) part(path []string) (has, known bool, text string) {
	switch {
	case s == nil || s.kinds["any"] || s.dict != nil || len(s.kinds) != 1:
		return false, false, ""
	case s.kinds["array"] && !elementName(path[0]):
		return false, true, "an array"
	case s.kinds["array"] && (len(path) == 1 || IsArrayName(path[0])):
		return true, IsArrayName(path[0]), ""
	case s.kinds["array"]:
		return s.item.part(path[1:])
	case !s.kinds["object"] || len(s.members) == 0:
		return false, false, ""
	}
	next := s.members[path[0]]
	switch {
	case next == nil:
		var names []string
		for _, name := range slices.Sorted(maps.Keys(s.members)) {
			names = append(names, jsonschema.PropertyName(name))
		}
		return false, true, "{" + strings.Join(names, ", ") + "}"
	case len(path) == 1:
		return true, true, ""
	}
	return next.part(path[1:])
}
