package analysis

import (
	"encoding/json"
	"slices"

	"github.com/codemode-project/codemode/analysis/ecmascript"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// An Outline is as much of an argument as the text shows, where it does not
// show all of it.
type Outline struct {
	// Shown is the JSON of the argument. Null stands in the place of every
	// value that only the running program knows.
	Shown json.RawMessage `json:"shown"`
	// Unknown are JSON Pointers to those places. There may be any value, or,
	// in an object, none. "" is the argument as a whole.
	Unknown []string `json:"unknown,omitempty"`
	// Open are JSON Pointers to the objects that may have members beside those
	// shown, from a spread or a computed key.
	Open []string `json:"open,omitempty"`
}

// nothing is the outline of an argument of which the text shows nothing.
func nothing() *Outline { return &Outline{Shown: json.RawMessage("null"), Unknown: []string{""}} }

// outline returns what the text shows of argument i of a call that args does
// not know.
func (w *walker) outline(n *ecmascript.Node, i int) *Outline {
	if n.Op == ecmascript.OpTag || len(n.List) <= i || n.List[i] == nil || w.budget <= 0 {
		return nothing()
	}
	for _, e := range n.List[:i+1] {
		if e != nil && e.Op == ecmascript.OpSpread {
			return nothing()
		}
	}
	s := sketch{budget: &w.budget}
	s.value(n.List[i], "", false)
	if len(s.out) > maxLiteral {
		return nothing()
	}
	return &Outline{Shown: s.out, Unknown: s.unknown, Open: s.open}
}

// maxPlaces is how many unknown places of one argument are told apart; with
// more, nothing is known of it.
const maxPlaces = 200

// A sketch writes literals as far as they are literals.
type sketch struct {
	out     []byte
	depth   int
	unknown []string
	open    []string
	budget  *int
}

// value appends the JSON of n, or null if n is not known. at is the pointer to
// it. flat says that what n holds may have been changed inside.
func (s *sketch) value(n *ecmascript.Node, at string, flat bool) {
	if s.literal(n, flat) {
		return
	}
	if n != nil && s.depth < maxDepth && len(s.unknown) < maxPlaces {
		s.depth++
		defer func() { s.depth-- }()
		switch o := object(n); {
		case n.Op == ecmascript.OpObject && !flat:
			if s.object(n, at, false) {
				return
			}
		case o != nil:
			if s.object(o, at, true) {
				return
			}
		case n.Op == ecmascript.OpArray && !flat && !slices.ContainsFunc(n.List, spread):
			s.array(n, at)
			return
		}
	}
	s.out = append(s.out, "null"...)
	s.unknown = append(s.unknown, at)
}

// literal appends the JSON of n if it is a literal through and through.
func (s *sketch) literal(n *ecmascript.Node, flat bool) bool {
	if flat && n != nil && (n.Op == ecmascript.OpObject || n.Op == ecmascript.OpArray) || *s.budget <= 0 {
		return false
	}
	out := writer{depth: s.depth}
	ok := out.write(n)
	*s.budget -= len(out.b)
	if ok && len(s.out)+len(out.b) <= maxLiteral {
		s.out = append(s.out, out.b...)
		return true
	}
	return false
}

func spread(n *ecmascript.Node) bool { return n != nil && n.Op == ecmascript.OpSpread }

func (s *sketch) array(n *ecmascript.Node, at string) {
	s.out = append(s.out, '[')
	for i, e := range n.List {
		if i > 0 {
			s.out = append(s.out, ',')
		}
		if e == nil || undefined(e) {
			s.out = append(s.out, "null"...)
			continue
		}
		s.value(e, at+"/"+ecmascript.FormatNumber(float64(i)), false)
	}
	s.out = append(s.out, ']')
}

// object writes the members that are known to be there. It says no, and has
// written nothing, where even their names cannot be known.
func (s *sketch) object(n *ecmascript.Node, at string, flat bool) bool {
	var names []string
	values := make(map[string]*ecmascript.Node, len(n.List)) // nil: any value
	open := false
	for _, p := range n.List {
		name, known := "", false
		switch {
		case p.Op != ecmascript.OpProperty:
		case p.B != nil:
			name, known = constant(p.B)
		case p.Is(ecmascript.FlagOdd) || p.Name == "__proto__" && !p.Is(ecmascript.FlagShort):
			return false
		default:
			name, known = p.Name, true
		}
		if known && name == "toJSON" && (p.Is(ecmascript.FlagMethod) || !(&sketch{budget: s.budget}).literal(p.A, false)) {
			return false // the program says what is sent
		}
		if !known { // it may set any member anew
			open = true
			for name := range values {
				values[name] = nil
			}
			continue
		}
		if _, ok := values[name]; !ok {
			names = append(names, name)
		}
		values[name] = p.A
		if p.Is(ecmascript.FlagMethod) {
			values[name] = nil
		}
	}
	if open {
		s.open = append(s.open, at)
	}
	slices.SortStableFunc(names, compareKeys)
	s.out = append(s.out, '{')
	first := true
	for _, name := range names {
		v := values[name]
		if v != nil && undefined(v) {
			continue
		}
		if !first {
			s.out = append(s.out, ',')
		}
		first = false
		key := writer{}
		key.string(name)
		s.out = append(append(s.out, key.b...), ':')
		s.value(v, strictjson.AppendToken(at, name), flat)
	}
	s.out = append(s.out, '}')
	return true
}
