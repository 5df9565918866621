package ecmascript

// targets calls f for every name that a pattern binds.
func targets(n *Node, f func(*Node)) {
	if n == nil {
		return
	}
	switch n.Op {
	case OpName:
		f(n)
	case OpAssign, OpSpread, OpProperty:
		targets(n.A, f)
	case OpArray, OpObject:
		for _, e := range n.List {
			targets(e, f)
		}
	}
}

// hoist calls f for every name that a function body declares for the whole function: with var, or as a function.
func hoist(n *Node, f func(*Node)) {
	if n == nil {
		return
	}
	switch n.Op {
	case OpVar:
		if n.Name == "var" {
			for _, b := range n.List {
				targets(b.A, f)
			}
		}
	case OpFunc:
		if n.Is(FlagStmt) && n.A != nil {
			f(n.A)
		}
	case OpBlock, OpSwitch, OpCase:
		for _, s := range n.List {
			hoist(s, f)
		}
	case OpIf:
		hoist(n.B, f)
		hoist(n.C, f)
	case OpFor, OpForIn:
		hoist(n.A, f)
		hoist(n.D, f)
	case OpLoop:
		hoist(n.D, f)
	case OpLabel:
		hoist(n.A, f)
	case OpTry:
		hoist(n.A, f)
		hoist(n.B, f)
		hoist(n.C, f)
	case OpCatch:
		hoist(n.B, f)
	}
}

// pattern resolves a target that is bound, assigned to or both, and records the value of each name. value is nil if it
// is unknown.
func (r *resolver) pattern(n, value *Node) {
	if n == nil {
		return
	}
	switch n.Op {
	case OpName:
		if n.Bind = r.lookup(n.Name); n.Bind != nil {
			n.Bind.Writes++
			if n.Bind.init = value; value == nil {
				n.Bind.unknown = true
			}
		}
	case OpAssign: // with a default
		r.visit(n.B)
		r.pattern(n.A, value)
	case OpSpread:
		r.pattern(n.A, nil)
	case OpArray:
		for _, e := range n.List {
			r.pattern(e, nil)
		}
	case OpObject:
		for _, p := range n.List {
			if p.B != nil {
				r.visit(p.B)
			}
			r.pattern(p.A, picked(p, value))
		}
	default:
		r.visit(n)
	}
}

// picked returns the value that a property of a pattern takes from a value, as an equivalent expression.
func picked(p, value *Node) *Node {
	if value == nil || p.Op != OpProperty {
		return nil
	}
	n := &Node{Op: OpMember, Flags: FlagPattern, Start: p.Start, End: p.End, Last: p.Start, Name: p.Name, A: value}
	if p.B != nil {
		n.Op, n.B = OpIndex, p.B
	}
	return n
}

// each resolves the target of a for-in or for-of loop.
func (r *resolver) each(n *Node) {
	if n.Op == OpVar {
		for _, b := range n.List {
			r.pattern(b.A, nil)
		}
		return
	}
	r.assigned(n)
	r.pattern(n, nil)
}

// assigned records an assignment to a member of a variable.
func (r *resolver) assigned(n *Node) {
	for n.Op == OpMember || n.Op == OpIndex {
		n = n.A
		if n.Op == OpName {
			if b := r.lookup(n.Name); b != nil {
				b.other++
			}
		}
	}
}

// written resolves a target that changes in a way that cannot be followed.
func (r *resolver) written(n *Node) {
	r.assigned(n)
	r.pattern(n, nil)
}
