package catalog

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/codemode-project/codemode/internal/jsonschema"
)

// The bounds of learned types. Learn ignores a larger result, and cuts a longer type at a lower depth.
const (
	learnBytes = 1 << 20 // of a result
	learnedMax = 2 << 10 // of the type as text
	learnDepth = 6
	learnItems = 50 // items of an array
	learnKeys  = 40 // members of an object; one with more is a map
	learnKey   = 40 // bytes of a key; a longer key is data
)

// A learned type is the shape of the first two results of one form of a tool without an output schema: names of members
// and types, without values.
type learned struct {
	text  atomic.Pointer[string]
	shape atomic.Pointer[shape]

	mu     sync.Mutex
	before *shape // of the latest result, while there were no two of one form
}

// learn notes a result, unless it is too large.
func (l *learned) learn(result json.RawMessage) {
	if len(result) > learnBytes || l.text.Load() != nil {
		return
	}
	v, err := jsonschema.Decode(result)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := shapeOf(v, learnDepth)
	if l.before == nil || l.before.form() != s.form() {
		l.before = s
		return
	}
	s, l.before = l.before, nil
	s.add(v, learnDepth)
	for depth := learnDepth; depth >= 0; depth-- {
		if text := s.typed(depth); len(text) <= learnedMax {
			l.shape.Store(s)
			l.text.CompareAndSwap(nil, &text)
			return
		}
	}
}

// form is equal for results that are alike: of the same kind, with the same members, or with elements that are alike.
func (s *shape) form() string {
	switch {
	case s == nil:
		return ""
	case s.kinds["array"]:
		return "[" + s.item.form() + "]"
	case len(s.members) > 0:
		return strings.Join(slices.Sorted(maps.Keys(s.members)), "\n")
	}
	return strings.Join(slices.Sorted(maps.Keys(s.kinds)), " ")
}

// A shape is the union of the values at one place.
type shape struct {
	kinds   map[string]bool // string, number, boolean, null, array, object, any
	seen    int             // objects
	members map[string]*shape
	present map[string]int // in how many of the objects
	dict    *shape         // of the values of maps
	item    *shape
}

func shapeOf(v any, depth int) *shape {
	s := &shape{kinds: map[string]bool{}}
	s.add(v, depth)
	return s
}

func (s *shape) add(v any, depth int) {
	switch v := v.(type) {
	case nil:
		s.kinds["null"] = true
	case bool:
		s.kinds["boolean"] = true
	case json.Number:
		s.kinds["number"] = true
	case string:
		s.kinds["string"] = true
	case []any:
		s.kinds["array"] = true
		for _, e := range v[:min(len(v), learnItems)] {
			s.item = s.item.with(e, depth-1)
		}
	case map[string]any:
		s.kinds["object"] = true
		if depth > 0 && isDict(v) {
			for _, k := range slices.Sorted(maps.Keys(v))[:min(len(v), learnItems)] {
				s.dict = s.dict.with(v[k], depth-1)
			}
			return
		}
		s.seen++
		if depth <= 0 {
			return
		}
		if s.members == nil {
			s.members, s.present = map[string]*shape{}, map[string]int{}
		}
		for k, e := range v {
			s.members[k] = s.members[k].with(e, depth-1)
			s.present[k]++
		}
	}
}

// with adds a value to a shape, which may be nil.
func (s *shape) with(v any, depth int) *shape {
	if s == nil {
		s = &shape{kinds: map[string]bool{}}
	}
	if depth < 0 {
		s.kinds["any"] = true
	} else {
		s.add(v, depth)
	}
	return s
}

// isDict reports whether an object is a map, with data as keys, and not a record with named members.
func isDict(v map[string]any) bool {
	var first map[string]any
	alike := true // all members are objects with the same keys
	for k, e := range v {
		if len(k) > learnKey || !isName(k) {
			return true
		}
		o, _ := e.(map[string]any)
		if first == nil {
			first = o
		}
		alike = alike && len(o) > 0 && maps.EqualFunc(o, first, func(any, any) bool { return true })
	}
	return len(v) > learnKeys || len(v) > 1 && alike
}

// isName reports whether a key looks like a programmer's choice.
func isName(k string) bool {
	for i, r := range k {
		switch {
		case r == '_', r == '$', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z':
		case i > 0 && (r == '-' || '0' <= r && r <= '9'):
		default:
			return false
		}
	}
	return k != ""
}

// typed writes the shape as a TypeScript type, on one line. Objects at that depth have no members.
func (s *shape) typed(depth int) string {
	if s == nil || s.kinds["any"] || depth < 0 {
		return "unknown"
	}
	var union []string
	for _, kind := range []string{"string", "number", "boolean"} {
		if s.kinds[kind] {
			union = append(union, kind)
		}
	}
	if s.kinds["array"] {
		union = append(union, jsonschema.ArrayOf(s.item.typed(depth-1)))
	}
	if s.kinds["object"] {
		union = append(union, s.object(depth))
	}
	if len(union) == 0 {
		return "unknown" // null alone says little about the next result
	}
	if s.kinds["null"] {
		union = append(union, "null")
	}
	return strings.Join(jsonschema.Compact(union), " | ")
}

func (s *shape) object(depth int) string {
	var parts []string
	if len(s.members) > 0 && depth > 0 {
		var members []string
		for _, k := range slices.Sorted(maps.Keys(s.members)) {
			mark := ""
			if s.present[k] < s.seen {
				mark = "?"
			}
			members = append(members, jsonschema.PropertyName(k)+mark+": "+s.members[k].typed(depth-1))
		}
		parts = append(parts, "{ "+strings.Join(members, "; ")+" }")
	}
	if s.dict != nil && depth > 0 {
		parts = append(parts, "{ [key: string]: "+s.dict.typed(depth-1)+" }")
	}
	if len(parts) == 0 {
		return "{ [key: string]: unknown }"
	}
	return strings.Join(parts, " | ")
}
