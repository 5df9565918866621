package jsonschema

import (
	"maps"
	"slices"
	"strings"
)

func (w *typeWriter) array(s map[string]any, indent int) string {
	first, rest := tupleOf(s)
	if len(first) > 0 {
		var parts []string
		for _, e := range first {
			if !w.spend(10) {
				break
			}
			parts = append(parts, w.render(e, indent))
		}
		if r, ok := rest.(map[string]any); ok {
			parts = append(parts, "..."+ArrayOf(w.render(r, indent)))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	if rest == nil {
		return "unknown[]"
	}
	return ArrayOf(w.render(rest, indent))
}

// ArrayOf is the type of arrays of item.
func ArrayOf(item string) string {
	if simple(item) {
		return item + "[]"
	}
	return "(" + item + ")[]"
}

// simple reports whether a type needs no parentheses before [] or in an intersection.
func simple(t string) bool {
	depth := 0
	inString := false
	for i := 0; i < len(t); i++ {
		switch c := t[i]; {
		case inString:
			if c == '\\' {
				i++
			} else if c == '"' {
				inString = false
			}
		case c == '"':
			inString = true
		case strings.HasPrefix(t[i:], "/*"): // a server's words, which may contain brackets and quotes
			length := strings.Index(t[i:], "*/")
			if length < 0 {
				return false
			}
			i += length + 1
		case c == '{' || c == '(' || c == '[':
			depth++
		case c == '}' || c == ')' || c == ']':
			depth--
		case depth == 0 && (c == '|' || c == '&'):
			return false
		}
	}
	return true
}

func (w *typeWriter) object(s map[string]any, indent int) string {
	properties, _ := s["properties"].(map[string]any)
	required := map[string]bool{}
	list, _ := s["required"].([]any)
	w.spend(len(list))
	for _, r := range list {
		if k, ok := r.(string); ok {
			required[k] = true
		}
	}
	members, long := w.members(properties, required, indent)
	index := w.index(s, indent)
	if len(members) == 0 {
		if index == "" {
			return "{ [key: string]: unknown }"
		}
		if index == "none" {
			return "{}"
		}
		return "{ [key: string]: " + index + " }"
	}
	for _, m := range members {
		w.spend(len(m))
	}
	body := "{ " + strings.Join(members, "; ") + " }"
	if !w.brief && (long || len(body) > 70+len("{  }") || strings.Contains(body, "\n")) {
		pad := strings.Repeat("  ", indent+1)
		body = "{\n" + pad + strings.Join(members, ";\n"+pad) + ";\n" + strings.Repeat("  ", indent) + "}"
	}
	if index != "" && index != "none" {
		return intersect(body, "{ [key: string]: "+index+" }")
	}
	return body
}

// members writes the properties, and the required ones that have no schema. long says that one of them has a comment.
func (w *typeWriter) members(
	properties map[string]any, required map[string]bool, indent int,
) (members []string, long bool) {
	pad := strings.Repeat("  ", indent+1)
	for _, k := range w.keys(properties) {
		if !w.spend(10 + len(k)) {
			break
		}
		sub := properties[k]
		var about string
		if m, ok := sub.(map[string]any); ok && !w.brief {
			about = propertyComment(m)
		}
		mark := "?"
		if required[k] {
			mark = ""
		}
		text := PropertyName(k) + mark + ": " + w.render(sub, indent+1)
		if about != "" {
			text = strings.TrimPrefix(DocComment(about, pad)+pad+text, pad)
			long = true
		}
		members = append(members, text)
	}
	if !w.spend(20 * len(required)) {
		return members, long
	}
	for _, r := range slices.Sorted(maps.Keys(required)) {
		if !w.spend(10 + len(r)) {
			break
		}
		if _, ok := properties[r]; !ok {
			members = append(members, PropertyName(r)+": unknown")
		}
	}
	return members, long
}

// index returns the type of the additional properties: "" if the schema does not mention them, "none" if it forbids
// them.
func (w *typeWriter) index(s map[string]any, indent int) string {
	var union []string
	patterns, _ := s["patternProperties"].(map[string]any)
	w.spend(20 * len(patterns))
	for _, p := range slices.Sorted(maps.Keys(patterns)) {
		if !w.spend(len(p)) {
			break
		}
		union = append(union, w.render(patterns[p], indent))
	}
	switch extra := s["additionalProperties"].(type) {
	case bool:
		if extra {
			union = append(union, "unknown")
		} else if len(union) == 0 {
			return "none"
		}
	case map[string]any:
		union = append(union, w.render(extra, indent))
	}
	if slices.Contains(union, "unknown") {
		return "unknown"
	}
	return strings.Join(w.compact(union), " | ")
}

// keys returns the keys of an object of the schema in the order of the text.
func (w *typeWriter) keys(m map[string]any) []string {
	if !w.spend(20 * len(m)) {
		return nil
	}
	return w.order.Keys(m)
}

// PropertyName quotes a name that is not an identifier.
func PropertyName(name string) string {
	for i, r := range name {
		if r == '_' || r == '$' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || i > 0 && '0' <= r && r <= '9' {
			continue
		}
		return string(mustMarshal(name))
	}
	if name == "" {
		return `""`
	}
	return name
}
