package ecmascript

// A resolver finds the binding of every name.
type resolver struct {
	names map[string][]*Binding // innermost last
	calls []*Node
}

// resolve sets the binding of every name of a body, and returns its calls.
func resolve(body *Node) (calls []*Node) {
	r := &resolver{names: map[string][]*Binding{}}
	r.function(nil, nil, body)
	return r.calls
}

// A scope lists its declarations, so that they can be removed at its end.
type scope []string

func (r *resolver) declare(s *scope, name string, b *Binding) {
	r.names[name] = append(r.names[name], b)
	*s = append(*s, name)
}

func (r *resolver) leave(s scope) {
	for _, name := range s {
		r.names[name] = r.names[name][:len(r.names[name])-1]
	}
}

func (r *resolver) lookup(name string) *Binding {
	if b := r.names[name]; len(b) > 0 {
		return b[len(b)-1]
	}
	return nil
}

// function resolves a function: its own name, its parameters and its body.
func (r *resolver) function(name *Node, params []*Node, body *Node) {
	var s scope
	if name != nil {
		r.declare(&s, name.Name, &Binding{unknown: true})
	}
	own := map[string]bool{}
	for _, p := range params {
		targets(p, func(n *Node) {
			if !own[n.Name] {
				own[n.Name] = true
				r.declare(&s, n.Name, &Binding{unknown: true})
			}
		})
	}
	hoist(body, func(n *Node) {
		if !own[n.Name] {
			own[n.Name] = true
			r.declare(&s, n.Name, &Binding{})
		}
	})
	for _, p := range params {
		r.pattern(p, nil)
	}
	if body.Op == OpBlock {
		r.block(body.List, own)
	} else {
		r.visit(body)
	}
	r.leave(s)
}

// block resolves statements that share a scope. If block is the body of a function, own holds the names that the
// function has already declared.
func (r *resolver) block(list []*Node, own map[string]bool) {
	var s scope
	for _, n := range list {
		r.lexical(&s, n, own)
	}
	for _, n := range list {
		r.visit(n)
	}
	r.leave(s)
}

// lexical declares what a statement declares in its block.
func (r *resolver) lexical(s *scope, n *Node, own map[string]bool) {
	for n.Op == OpLabel {
		n = n.A
	}
	switch {
	case n.Op == OpVar && n.Name != "var":
		for _, b := range n.List {
			targets(b.A, func(t *Node) { r.declare(s, t.Name, &Binding{}) })
		}
	case n.Op == OpClass && n.Is(FlagStmt) && n.A != nil:
		r.declare(s, n.A.Name, &Binding{unknown: true})
	case n.Op == OpFunc && n.Is(FlagStmt) && n.A != nil:
		if own[n.A.Name] {
			n.A.Bind = r.lookup(n.A.Name)
			n.A.Bind.unknown = true
		} else {
			n.A.Bind = &Binding{unknown: true}
			r.declare(s, n.A.Name, n.A.Bind)
		}
		n.A.Bind.Declared++
	}
}

// visit resolves the names in a statement or an expression.
func (r *resolver) visit(n *Node) {
	if n == nil {
		return
	}
	switch n.Op {
	case OpName:
		if n.Bind = r.lookup(n.Name); n.Bind != nil {
			n.Bind.other++
		}
		return
	case OpMember, OpIndex:
		r.visit(n.A)
		if n.A.Op == OpName && n.A.Bind != nil {
			n.A.Bind.other-- // it is only read
			n.A.Bind.reads++
		}
		r.visit(n.B)
		return
	case OpAssign:
		if n.Name == "=" {
			r.assigned(n.A)
			r.pattern(n.A, n.B)
		} else {
			r.written(n.A)
		}
		r.visit(n.B)
		return
	case OpUpdate:
		r.written(n.A)
		return
	case OpUnary:
		if n.Name == "delete" {
			r.written(n.A)
			return
		}
	case OpCall, OpTag:
		r.visit(n.A)
		r.calls = append(r.calls, n)
		if m := n.A; (m.Op == OpMember || m.Op == OpIndex) && m.A.Op == OpName && m.A.Bind != nil {
			m.A.Bind.other++ // a method may change its object
		}
		r.visit(n.B)
		for _, e := range n.List {
			r.visit(e)
		}
		return
	case OpVar:
		for _, b := range n.List {
			if b.B == nil { // the value is assigned later
				targets(b.A, func(t *Node) { t.Bind = r.lookup(t.Name) })
				continue
			}
			r.visit(b.B)
			r.pattern(b.A, b.B)
		}
		return
	case OpFunc:
		r.function(own(n), n.List, n.B)
		return
	case OpClass:
		r.class(n)
		return
	case OpProperty:
		r.visit(n.B)
		r.visit(n.A)
		return
	case OpBlock:
		r.block(n.List, nil)
		return
	case OpFor, OpForIn:
		r.loop(n)
		return
	case OpCatch:
		var s scope
		targets(n.A, func(t *Node) { r.declare(&s, t.Name, &Binding{}) })
		r.pattern(n.A, nil)
		r.visit(n.B)
		r.leave(s)
		return
	case OpSwitch:
		r.visit(n.A)
		var all []*Node
		for _, c := range n.List {
			r.visit(c.A)
			all = append(all, c.List...)
		}
		r.block(all, nil)
		return
	}
	r.visit(n.A)
	r.visit(n.B)
	r.visit(n.C)
	r.visit(n.D)
	for _, e := range n.List {
		r.visit(e)
	}
}

func (r *resolver) class(n *Node) {
	var s scope
	if n.A != nil {
		r.declare(&s, n.A.Name, &Binding{unknown: true})
	}
	r.visit(n.B)
	for _, m := range n.List {
		if m.Op == OpBlock {
			r.function(nil, nil, m)
		} else {
			r.visit(m)
		}
	}
	r.leave(s)
}

func (r *resolver) loop(n *Node) {
	var s scope
	if n.A != nil {
		r.lexical(&s, n.A, nil)
	}
	if n.Op == OpFor {
		r.visit(n.A)
	} else {
		r.each(n.A)
	}
	r.visit(n.B)
	r.visit(n.C)
	r.visit(n.D)
	r.leave(s)
}

// own returns the name that a function expression gives itself.
func own(n *Node) *Node {
	if n.Is(FlagStmt) {
		return nil
	}
	return n.A
}

// MarkCopied says that the receiver of n, an argument, gets a copy: objects that are named in n stay unchanged. Call it
// at most once for n.
func MarkCopied(n *Node) {
	if n == nil {
		return
	}
	switch n.Op {
	case OpName:
		if n.Bind != nil {
			n.Bind.other--
		}
	case OpObject, OpArray:
		for _, e := range n.List {
			MarkCopied(e)
		}
	case OpProperty:
		MarkCopied(n.A)
	}
}
