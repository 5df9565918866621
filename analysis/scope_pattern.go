package analysis

// targets calls f for every name that a pattern binds.
func targets(n *node, f func(*node)) {
	if n == nil {
		return
	}
	switch n.op {
	case opName:
		f(n)
	case opAssign, opSpread, opProperty:
		targets(n.a, f)
	case opArray, opObject:
		for _, e := range n.list {
			targets(e, f)
		}
	}
}

// hoist calls f for every name that a function's body declares for the whole
// function: with var, or as a function.
func hoist(n *node, f func(*node)) {
	if n == nil {
		return
	}
	switch n.op {
	case opVar:
		if n.name == "var" {
			for _, b := range n.list {
				targets(b.a, f)
			}
		}
	case opFunc:
		if n.is(flagStmt) && n.a != nil {
			f(n.a)
		}
	case opBlock, opSwitch, opCase:
		for _, s := range n.list {
			hoist(s, f)
		}
	case opIf:
		hoist(n.b, f)
		hoist(n.c, f)
	case opFor, opForIn:
		hoist(n.a, f)
		hoist(n.d, f)
	case opLoop:
		hoist(n.d, f)
	case opLabel:
		hoist(n.a, f)
	case opTry:
		hoist(n.a, f)
		hoist(n.b, f)
		hoist(n.c, f)
	case opCatch:
		hoist(n.b, f)
	}
}

// pattern resolves what is bound, assigned to or both, and remembers what is
// bound to what. value is nil if it cannot be known.
func (r *resolver) pattern(n, value *node) {
	if n == nil {
		return
	}
	switch n.op {
	case opName:
		if n.bind = r.lookup(n.name); n.bind != nil {
			n.bind.writes++
			if n.bind.init = value; value == nil {
				n.bind.unknown = true
			}
		}
	case opAssign: // with a default
		r.visit(n.b)
		r.pattern(n.a, value)
	case opSpread:
		r.pattern(n.a, nil)
	case opArray:
		for _, e := range n.list {
			r.pattern(e, nil)
		}
	case opObject:
		for _, p := range n.list {
			if p.b != nil {
				r.visit(p.b)
			}
			r.pattern(p.a, picked(p, value))
		}
	default:
		r.visit(n)
	}
}

// picked returns what a property of a pattern takes out of a value, as an
// expression that could have been written for it.
func picked(p, value *node) *node {
	if value == nil || p.op != opProperty {
		return nil
	}
	n := &node{op: opMember, flags: flagPattern, start: p.start, end: p.end, last: p.start, name: p.name, a: value}
	if p.b != nil {
		n.op, n.b = opIndex, p.b
	}
	return n
}

// each resolves the target of a for-in or for-of loop.
func (r *resolver) each(n *node) {
	if n.op == opVar {
		for _, b := range n.list {
			r.pattern(b.a, nil)
		}
		return
	}
	r.assigned(n)
	r.pattern(n, nil)
}

// assigned notices that a member of a variable is assigned to.
func (r *resolver) assigned(n *node) {
	for n.op == opMember || n.op == opIndex {
		n = n.a
		if n.op == opName {
			if b := r.lookup(n.name); b != nil {
				b.other++
			}
		}
	}
}

// written resolves a target that is changed in a way that cannot be followed.
func (r *resolver) written(n *node) {
	r.assigned(n)
	r.pattern(n, nil)
}
