package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// reference returns the name of the type that is referred to, and sees to it
// that it is written.
func (w *typeWriter) reference(s map[string]any, ref string, indent int, bare bool) []string {
	target, ok := local(w.root, ref)
	if !ok {
		return []string{"unknown"}
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
	rest := maps.Clone(s) // 2020-12 lets other keywords stand beside it
	delete(rest, "$ref")
	if rest["properties"] != nil || rest["allOf"] != nil || rest["anyOf"] != nil || rest["oneOf"] != nil {
		return []string{intersect(join(union, " | "), w.render(rest, indent))}
	}
	return nullable(s, union)
}

// local returns the schema in root that a reference of the plain form, by the
// way from the root or by an anchor, means. Others are not written as types.
func local(root any, ref string) (any, bool) {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	if fragment == "" || fragment[0] == '/' {
		return pointed(root, fragment)
	}
	return anchored(root, fragment)
}

// anchored finds a schema by the name it gives itself.
func anchored(v any, name string) (found any, ok bool) {
	s, isSchema := v.(map[string]any)
	if !isSchema {
		return nil, false
	}
	if s["$anchor"] == name || s["$dynamicAnchor"] == name || s["$id"] == "#"+name {
		return s, true
	}
	eachSubschema(s, func(sub any) {
		if !ok {
			found, ok = anchored(sub, name)
		}
	})
	return found, ok
}

func (w *typeWriter) nameOf(ref string) string {
	key := w.part + " " + ref
	if name, ok := w.names[key]; ok {
		return name
	}
	last := ref[strings.LastIndexAny(ref, "/#")+1:]
	if last == "" {
		last = w.part
	}
	name := typeName(w.tool + "_" + canonical(last))
	for n := 2; w.taken[name]; n++ {
		name = typeName(fmt.Sprintf("%s_%s_%d", w.tool, canonical(last), n))
	}
	w.names[key], w.taken[name] = name, true
	w.queue = append(w.queue, namedType{name: name, part: w.part, ref: ref, root: w.root, order: w.order})
	return name
}

// typeName makes the name one that can stand in a type declaration.
func typeName(s string) string {
	if s[0] >= '0' && s[0] <= '9' {
		return "_" + s
	}
	return s
}
