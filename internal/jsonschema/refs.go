package jsonschema

import (
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
)

// A linker resolves the references of a schema to places of the schema itself, by JSON Pointer, by anchor or by $id. It
// fetches nothing.
type linker struct {
	c         *Schema
	resources map[string]any // by address: the schemas that have an $id
	anchors   map[string]any // by address and anchor
	notes     []string
}

// addressMax bounds the addresses in a schema, which are joined and looked up often.
const addressMax = 1000

// A place is the base address of references.
type place struct {
	base    *url.URL
	address string // of base
}

// find walks through the schema v, first, with link false, to collect the targets of references, then to resolve the
// references. at is the base address.
func (l *linker) find(v any, at place, link bool) {
	s, ok := v.(map[string]any)
	if !ok {
		return
	}
	ref, isRef := s["$ref"].(string)
	if id, ok := s["$id"].(string); ok && !(isRef && l.c.Draft7) {
		at = l.named(s, id, at)
	}
	if !link {
		if _, taken := l.resources[at.address]; !taken { // the root of a resource comes first
			l.resources[at.address] = s
		}
		for _, key := range []string{"$anchor", "$dynamicAnchor"} {
			if name, ok := s[key].(string); ok && len(name) <= addressMax {
				l.anchors[at.address+"#"+name] = s
			}
		}
	} else if isRef {
		if target, ok := l.target(ref, at); ok {
			l.c.targets[reflect.ValueOf(s).Pointer()] = target
		} else {
			l.notes = append(l.notes, fmt.Sprintf("$ref %q is not in the schema, and nothing is fetched", cut(ref, 60)))
		}
	}
	if link && (s["$dynamicRef"] != nil || s["$recursiveRef"] != nil) {
		l.notes = append(l.notes, "dynamic references are not followed")
	}
	eachSubschema(s, func(sub any) { l.find(sub, at, link) })
}

// named returns the base address inside a schema with an $id.
func (l *linker) named(s map[string]any, id string, at place) place {
	if len(id) > addressMax {
		l.notes = append(l.notes, fmt.Sprintf("$id %q is too long to be used", cut(id, 60)))
		return at
	}
	u, err := at.base.Parse(id)
	if err != nil {
		return at
	}
	whole := u.String()
	id, anchor, _ := strings.Cut(whole, "#")
	if len(whole) > 2*addressMax { // joined with many others
		l.notes = append(l.notes, fmt.Sprintf("$id %q is too long to be used", cut(whole, 60)))
	} else if anchor != "" { // draft-07
		l.anchors[whole] = s
	} else if u, err := url.Parse(id); err == nil {
		return place{u, u.String()}
	}
	return at
}

func (l *linker) target(ref string, at place) (any, bool) {
	if len(ref) > addressMax {
		return nil, false
	}
	if strings.HasPrefix(ref, "#") { // the usual case; base may be empty
		ref = at.address + ref
	} else if u, err := at.base.Parse(ref); err == nil {
		ref = u.String()
	}
	address, fragment, _ := strings.Cut(ref, "#")
	if fragment != "" && !strings.HasPrefix(fragment, "/") {
		found, ok := l.anchors[address+"#"+fragment]
		return found, ok
	}
	resource, ok := l.resources[address]
	if !ok {
		return nil, false
	}
	return pointed(resource, fragment)
}

// referred returns the target of a schema with a $ref.
func (c *Schema) referred(s map[string]any) (any, bool) {
	if target, ok := c.targets[reflect.ValueOf(s).Pointer()]; ok {
		return target, true
	}
	// The schema is at a place that only another reference reaches, and the linker has not seen it.
	ref, _ := s["$ref"].(string)
	pointer, local := strings.CutPrefix(ref, "#")
	if !local || len(ref) > addressMax {
		return nil, false
	}
	return pointed(c.Root, pointer)
}

// pointerText is the inverse of strictjson.EscapeToken.
var pointerText = strings.NewReplacer("~1", "/", "~0", "~")

// pointed returns the schema at a JSON Pointer in URL encoding.
func pointed(root any, pointer string) (any, bool) {
	if pointer == "" {
		return root, true
	}
	if pointer[0] != '/' {
		return nil, false
	}
	at := root
	for _, part := range strings.Split(pointer[1:], "/") {
		if unescaped, err := url.PathUnescape(part); err == nil {
			part = unescaped
		}
		part = pointerText.Replace(part)
		switch v := at.(type) {
		case map[string]any:
			var ok bool
			if at, ok = v[part]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.ParseUint(part, 10, 31)
			if err != nil || int(i) >= len(v) {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	switch at.(type) {
	case map[string]any, bool:
		return at, true
	}
	return nil, false
}

// cutCircles removes the references that lead back to themselves without going into the value: no check of them ends.
// Each round finds one.
func (l *linker) cutCircles(root any) {
	for range circlesMax {
		w := walk{c: l.c, state: map[uintptr]int{}}
		w.each(root)
		if w.circular == nil {
			return
		}
		ref, _ := w.circular["$ref"].(string)
		l.notes = append(l.notes, fmt.Sprintf("$ref %q refers to itself, so it is not checked", cut(ref, 60)))
		l.c.targets[reflect.ValueOf(w.circular).Pointer()] = true
	}
	l.c.Root = nil
	l.notes = append(l.notes, "it has more than 100 references to themselves")
}

const circlesMax = 100

// A walk follows a schema as a check of one value does.
type walk struct {
	c        *Schema
	state    map[uintptr]int // 1 is on the way, 2 is done
	refs     []map[string]any
	circular map[string]any // a schema with a reference in a circle
}

// each starts a walk at every subschema.
func (w *walk) each(v any) {
	if s, ok := v.(map[string]any); ok && w.circular == nil {
		w.from(s)
		eachSubschema(s, w.each)
	}
}

func (w *walk) from(v any) {
	s, ok := v.(map[string]any)
	if !ok || w.circular != nil {
		return
	}
	at := reflect.ValueOf(s).Pointer()
	switch w.state[at] {
	case 1: // each circle has a reference, and the last one on the way is in this one
		w.circular = w.refs[len(w.refs)-1]
		return
	case 2:
		return
	}
	w.state[at] = 1
	if _, isRef := s["$ref"].(string); isRef {
		if target, ok := w.c.referred(s); ok {
			w.refs = append(w.refs, s)
			w.from(target)
			w.refs = w.refs[:len(w.refs)-1]
		}
	}
	for _, key := range []string{"not", "if", "then", "else"} {
		w.from(s[key])
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[key].([]any)
		for _, sub := range list {
			w.from(sub)
		}
	}
	for _, key := range []string{"dependentSchemas", "dependencies"} {
		schemas, _ := s[key].(map[string]any)
		for _, sub := range schemas {
			w.from(sub)
		}
	}
	w.state[at] = 2
}
