package analysis

func (w *walker) assign(n *node) abstractValue {
	switch {
	case n.name != "=":
		w.value(n.a)
		w.lost(w.value(n.b))
	case n.a.op == opName || n.a.op == opObject || n.a.op == opArray:
		w.bind(n.a, n.b)
	default:
		w.target(n.a)
		w.lost(w.value(n.b))
	}
	return abstractValue{}
}

// target looks into the expression that is assigned to. Replacing a tool is no
// way to call one.
func (w *walker) target(n *node) {
	switch n.op {
	case opMember:
		w.value(n.a)
	case opIndex:
		w.value(n.a)
		w.value(n.b)
	default:
		w.value(n)
	}
}

// bind looks at a value that gets a name, or is taken apart by a pattern.
func (w *walker) bind(target, n *node) {
	if b := target.bind; target.op == opName && b != nil && b.value() == n && w.hold(b, n) {
		return
	}
	v := w.value(n)
	if target.op == opName {
		if b := target.bind; b != nil && b.value() == n {
			w.name(b, v)
		} else {
			w.lost(v)
		}
		return
	}
	w.unpack(target, v)
}

// name remembers that a variable holds v, and nothing else.
func (w *walker) name(b *binding, v abstractValue) {
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
func (w *walker) unpack(target *node, v abstractValue) {
	switch target.op {
	case opAssign:
		w.lost(w.value(target.b))
		w.unpack(target.a, v)
	case opName:
		if b := target.bind; b != nil && b.value() != nil && v.nature != other {
			w.name(b, v)
		} else {
			w.lost(v)
		}
	case opObject:
		w.used(v)
		for _, p := range target.list {
			if p.op == opSpread {
				w.lost(v)
				w.defaults(p.a)
				continue
			}
			key, ok := p.name, true
			if p.b != nil {
				w.value(p.b)
				key, ok = constant(p.b)
			}
			if !ok {
				w.lost(v)
				w.defaults(p.a)
				continue
			}
			m := part(v, key, Destructured, p.start)
			m.start = p.start
			w.unpack(p.a, m)
		}
	case opArray:
		w.lost(v)
		w.defaults(target)
	default:
		w.target(target)
		w.lost(v)
	}
}

// defaults looks into a pattern whose value is not known.
func (w *walker) defaults(target *node) {
	if target == nil {
		return
	}
	switch target.op {
	case opName:
	case opAssign:
		w.lost(w.value(target.b))
		w.defaults(target.a)
	case opSpread:
		w.defaults(target.a)
	case opProperty:
		w.value(target.b)
		w.defaults(target.a)
	case opArray, opObject:
		for _, e := range target.list {
			w.defaults(e)
		}
	default:
		w.target(target)
	}
}
