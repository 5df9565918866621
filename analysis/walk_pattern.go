package analysis

import "github.com/codemode-project/codemode/internal/analysis/ecmascript"

func (w *walker) assign(n *ecmascript.Node) abstractValue {
	switch {
	case n.Name != "=":
		w.value(n.A)
		w.lost(w.value(n.B))
	case n.A.Op == ecmascript.OpName || n.A.Op == ecmascript.OpObject || n.A.Op == ecmascript.OpArray:
		w.bind(n.A, n.B)
	default:
		w.target(n.A)
		w.lost(w.value(n.B))
	}
	return abstractValue{}
}

// target walks an assignment target. Replacing a tool does not call it.
func (w *walker) target(n *ecmascript.Node) {
	switch n.Op {
	case ecmascript.OpMember:
		w.writes(part(w.value(n.A), n.Name, Member, n.Last))
	case ecmascript.OpIndex:
		w.value(n.A)
		w.value(n.B)
	default:
		w.value(n)
	}
}

// bind handles a value that is assigned to a name, or destructured by a pattern.
func (w *walker) bind(target, n *ecmascript.Node) {
	if b := target.Bind; target.Op == ecmascript.OpName && b != nil && b.Value() == n && w.hold(b, n) {
		return
	}
	v := w.value(n)
	if target.Op == ecmascript.OpName {
		if b := target.Bind; b != nil && b.Value() == n {
			w.name(b, v)
		} else {
			w.lost(v)
		}
		return
	}
	w.unpack(target, v)
}

// name records that a variable holds v, and nothing else.
func (w *walker) name(b *ecmascript.Binding, v abstractValue) {
	if known := evaluated(b).value; known.nature != v.nature || known.name != v.name {
		w.lost(v)
		return
	}
	w.used(v)
	if v.nature == tool {
		w.pending = append(w.pending, pending{v, b})
	}
}

// unpack follows a value into a pattern.
func (w *walker) unpack(target *ecmascript.Node, v abstractValue) {
	switch target.Op {
	case ecmascript.OpAssign:
		w.lost(w.value(target.B))
		w.unpack(target.A, v)
	case ecmascript.OpName:
		if b := target.Bind; b != nil && b.Value() != nil && v.nature != other {
			w.name(b, v)
		} else {
			w.lost(v)
		}
	case ecmascript.OpObject:
		w.used(v)
		for _, p := range target.List {
			if p.Op == ecmascript.OpSpread {
				w.lost(v)
				w.defaults(p.A)
				continue
			}
			key, ok := p.Name, true
			if p.B != nil {
				w.value(p.B)
				key, ok = constant(p.B)
			}
			if !ok {
				w.lost(v)
				w.defaults(p.A)
				continue
			}
			m := part(v, key, Destructured, p.Start)
			m.start = p.Start
			w.read(m)
			w.unpack(p.A, m)
		}
	case ecmascript.OpArray:
		w.lost(v)
		w.defaults(target)
	default:
		w.target(target)
		w.lost(v)
	}
}

// defaults walks a pattern for an unknown value.
func (w *walker) defaults(target *ecmascript.Node) {
	if target == nil {
		return
	}
	switch target.Op {
	case ecmascript.OpName:
	case ecmascript.OpAssign:
		w.lost(w.value(target.B))
		w.defaults(target.A)
	case ecmascript.OpSpread:
		w.defaults(target.A)
	case ecmascript.OpProperty:
		w.value(target.B)
		w.defaults(target.A)
	case ecmascript.OpArray, ecmascript.OpObject:
		for _, e := range target.List {
			w.defaults(e)
		}
	default:
		w.target(target)
	}
}
