package analysis

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/codemode-project/codemode/internal/analysis/ecmascript"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// maxPlaces is how many unknown places of one argument are listed separately.
const maxPlaces = 200

// shown returns argument i of a call: as JSON if the text shows all of it, else as an outline.
func (w *walker) shown(n *ecmascript.Node, i int) (json.RawMessage, *Outline) {
	switch {
	case n.Op == ecmascript.OpTag, slices.ContainsFunc(n.List[:min(i+1, len(n.List))], spread):
		return nil, nothing()
	case len(n.List) <= i || n.List[i] == nil || undefined(n.List[i]):
		return json.RawMessage("null"), nil
	case w.budget <= 0:
		return nil, nothing()
	}
	var s sketch
	s.value(n.List[i], "", false)
	w.budget -= len(s.out)
	switch {
	case len(s.out) > maxLiteral:
		return nil, nothing()
	case s.exact():
		return s.out, nil
	}
	return nil, &Outline{Shown: s.out, Unknown: s.unknown, Open: s.open}
}

// A sketch writes values as JSON.stringify does, as far as the text shows them.
type sketch struct {
	out     []byte
	depth   int
	unknown []string
	open    []string
}

// exact reports whether the text shows everything.
func (s *sketch) exact() bool { return len(s.unknown) == 0 && len(s.open) == 0 }

// value appends the JSON of n, or null if n is unknown. at is its pointer. flat says that values inside n may have
// changed.
func (s *sketch) value(n *ecmascript.Node, at string, flat bool) {
	s.depth++
	defer func() { s.depth-- }()
	if n == nil || s.depth > maxDepth || len(s.out) > maxLiteral || !s.scalar(n) && !s.compound(n, at, flat) {
		s.out = append(s.out, "null"...)
		s.unknown = append(s.unknown, at)
	}
}

// scalar appends n if it is a text, a number, true, false or null.
func (s *sketch) scalar(n *ecmascript.Node) bool {
	if infinite(n) {
		s.out = append(s.out, "null"...)
		return true
	}
	switch n.Op {
	case ecmascript.OpNumber:
		return s.number(n.Name, 1)
	case ecmascript.OpKeyword:
		s.out = append(s.out, n.Name...)
		return true
	case ecmascript.OpUnary:
		if n.A.Op != ecmascript.OpNumber {
			return false
		}
		switch n.Name {
		case "+":
			return s.number(n.A.Name, 1)
		case "-":
			return s.number(n.A.Name, -1)
		case "!": // esbuild prints true and false as !0 and !1
			f, ok := ecmascript.ParseNumber(n.A.Name)
			if ok {
				s.out = strconv.AppendBool(s.out, f == 0)
			}
			return ok
		}
	}
	text, ok := constant(n)
	if ok {
		s.out = strictjson.AppendString(s.out, text)
	}
	return ok
}

func (s *sketch) number(literal string, sign float64) bool {
	f, ok := ecmascript.ParseNumber(literal)
	if ok {
		s.out = append(s.out, ecmascript.FormatNumber(sign*f)...)
	}
	return ok
}

// compound appends n if it is an object, an array, or a name of something known.
func (s *sketch) compound(n *ecmascript.Node, at string, flat bool) bool {
	switch {
	case n.Op == ecmascript.OpName && n.Bind != nil:
		v := n.Bind.Value()
		if v == nil {
			return false
		}
		if v.Op != ecmascript.OpObject && v.Op != ecmascript.OpArray || n.Bind.Whole() {
			s.value(v, at, false)
			return true
		}
		o := object(n)
		return o != nil && s.object(o, at, true)
	case flat || len(s.unknown) >= maxPlaces:
		return false
	case n.Op == ecmascript.OpObject:
		return s.object(n, at, false)
	case n.Op == ecmascript.OpArray && !slices.ContainsFunc(n.List, spread):
		s.array(n, at)
		return true
	}
	return false
}

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

// object writes the members that are certainly there, in JavaScript's order: integers by value, then the others in
// source order. The last member of a name counts, at the place of the first. If even the names are unknown, object
// reports false and writes nothing.
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
		if known && name == "toJSON" && (p.Is(ecmascript.FlagMethod) || !new(sketch).scalar(p.A)) {
			return false // the program determines the value sent
		}
		if !known { // it may set any member again
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
		s.out = append(strictjson.AppendString(s.out, name), ':')
		s.value(v, strictjson.AppendToken(at, name), flat)
	}
	s.out = append(s.out, '}')
	return true
}
