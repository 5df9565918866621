package jsonschema

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
)

// reference returns the name of the target's type, and queues that type.
func (w *typeWriter) reference(s map[string]any, ref string, indent int, bare bool) []string {
	target, ok := w.local(ref)
	if !ok { // it is not checked, and what stands beside it is
		rest := maps.Clone(s)
		delete(rest, "$ref")
		return w.alternatives(rest, indent, bare)
	}
	var union []string
	if bare {
		if slices.Contains(w.expanding, ref) {
			return []string{"unknown"}
		}
		w.expanding = append(w.expanding, ref)
		union = w.alternatives(target, indent, true)
		w.expanding = w.expanding[:len(w.expanding)-1]
	} else {
		union = []string{w.nameOf(ref)}
	}
	w.spend(4 * len(s))
	rest := maps.Clone(s) // 2020-12 allows other keywords beside it
	delete(rest, "$ref")
	if rest["properties"] != nil || rest["allOf"] != nil || rest["anyOf"] != nil || rest["oneOf"] != nil {
		return []string{intersect(strings.Join(union, " | "), w.render(rest, indent))}
	}
	return w.nullable(s, union)
}

// local returns the target of a reference by JSON Pointer or anchor. Other references have no type.
func (w *typeWriter) local(ref string) (any, bool) {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok || len(ref) > addressMax {
		return nil, false
	}
	w.spend(20 * len(ref))
	if fragment == "" || fragment[0] == '/' {
		return pointed(w.root, fragment)
	}
	if w.anchors[w.part] == nil {
		w.anchors[w.part] = map[string]any{}
		anchored(w.root, w.anchors[w.part])
	}
	found, ok := w.anchors[w.part][fragment]
	return found, ok
}

// anchored collects the schemas with anchors.
func anchored(v any, into map[string]any) {
	s, isSchema := v.(map[string]any)
	if !isSchema {
		return
	}
	id, _ := s["$id"].(string)
	fragment, _ := strings.CutPrefix(id, "#")
	if fragment == id {
		fragment = ""
	}
	for _, name := range []any{s["$anchor"], s["$dynamicAnchor"], fragment} {
		if name, ok := name.(string); ok && name != "" && into[name] == nil {
			into[name] = s
		}
	}
	eachSubschema(s, func(sub any) { anchored(sub, into) })
}

func (w *typeWriter) nameOf(ref string) string {
	key := w.part + " " + ref
	if name, ok := w.names[key]; ok {
		return name
	}
	last := cmp.Or(ref[strings.LastIndexAny(ref, "/#")+1:], w.part)
	name := typeName(w.tool + "_" + call.Part(last))
	for first := name; w.taken[name] > 0; {
		w.taken[first]++
		name = fmt.Sprintf("%s_%d", first, w.taken[first])
	}
	w.names[key] = name
	w.taken[name]++
	w.queue = append(w.queue, namedType{name: name, part: w.part, ref: ref, root: w.root, order: w.order})
	return name
}

// typeName makes a name an identifier.
func typeName(s string) string {
	if s[0] >= '0' && s[0] <= '9' {
		return "_" + s
	}
	return s
}
