package analysis

// A resolver finds the binding of every name.
type resolver struct {
	names map[string][]*binding // the innermost last
	calls []*node
}

// resolve sets the binding of every name of a body, and returns its calls.
func resolve(body *node) (calls []*node) {
	r := &resolver{names: map[string][]*binding{}}
	r.function(nil, nil, body)
	return r.calls
}

// A scope lists what it declares, so that it can be taken back.
type scope []string

func (r *resolver) declare(s *scope, name string, b *binding) {
	r.names[name] = append(r.names[name], b)
	*s = append(*s, name)
}

func (r *resolver) leave(s scope) {
	for _, name := range s {
		r.names[name] = r.names[name][:len(r.names[name])-1]
	}
}

func (r *resolver) lookup(name string) *binding {
	if b := r.names[name]; len(b) > 0 {
		return b[len(b)-1]
	}
	return nil
}

// function resolves a function: its own name, its parameters and its body.
func (r *resolver) function(name *node, params []*node, body *node) {
	var s scope
	if name != nil {
		r.declare(&s, name.name, &binding{unknown: true})
	}
	own := map[string]bool{}
	for _, p := range params {
		targets(p, func(n *node) {
			if !own[n.name] {
				own[n.name] = true
				r.declare(&s, n.name, &binding{unknown: true})
			}
		})
	}
	hoist(body, func(n *node) {
		if !own[n.name] {
			own[n.name] = true
			r.declare(&s, n.name, &binding{})
		}
	})
	for _, p := range params {
		r.pattern(p, nil)
	}
	if body.op == opBlock {
		r.block(body.list, own)
	} else {
		r.visit(body)
	}
	r.leave(s)
}

// block resolves statements that share a scope. own are the names the
// function around has declared already, where block is its body.
func (r *resolver) block(list []*node, own map[string]bool) {
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
func (r *resolver) lexical(s *scope, n *node, own map[string]bool) {
	for n.op == opLabel {
		n = n.a
	}
	switch {
	case n.op == opVar && n.name != "var":
		for _, b := range n.list {
			targets(b.a, func(t *node) { r.declare(s, t.name, &binding{}) })
		}
	case n.op == opClass && n.is(flagStmt) && n.a != nil:
		r.declare(s, n.a.name, &binding{unknown: true})
	case n.op == opFunc && n.is(flagStmt) && n.a != nil:
		if own[n.a.name] {
			n.a.bind = r.lookup(n.a.name)
			n.a.bind.unknown = true
		} else {
			n.a.bind = &binding{unknown: true}
			r.declare(s, n.a.name, n.a.bind)
		}
		n.a.bind.declared++
	}
}

// visit resolves the names in a statement or an expression.
func (r *resolver) visit(n *node) {
	if n == nil {
		return
	}
	switch n.op {
	case opName:
		if n.bind = r.lookup(n.name); n.bind != nil {
			n.bind.other++
		}
		return
	case opMember, opIndex:
		r.visit(n.a)
		if n.a.op == opName && n.a.bind != nil {
			n.a.bind.other-- // only read from
			n.a.bind.reads++
		}
		r.visit(n.b)
		return
	case opAssign:
		if n.name == "=" {
			r.assigned(n.a)
			r.pattern(n.a, n.b)
		} else {
			r.written(n.a)
		}
		r.visit(n.b)
		return
	case opUpdate:
		r.written(n.a)
		return
	case opUnary:
		if n.name == "delete" {
			r.written(n.a)
			return
		}
	case opCall, opTag:
		r.visit(n.a)
		r.calls = append(r.calls, n)
		if m := n.a; (m.op == opMember || m.op == opIndex) && m.a.op == opName && m.a.bind != nil {
			m.a.bind.other++ // a method may change its object
		}
		r.visit(n.b)
		for _, e := range n.list {
			r.visit(e)
		}
		return
	case opVar:
		for _, b := range n.list {
			if b.b == nil { // the value comes later
				targets(b.a, func(t *node) { t.bind = r.lookup(t.name) })
				continue
			}
			r.visit(b.b)
			r.pattern(b.a, b.b)
		}
		return
	case opFunc:
		r.function(own(n), n.list, n.b)
		return
	case opClass:
		var s scope
		if n.a != nil {
			r.declare(&s, n.a.name, &binding{unknown: true})
		}
		r.visit(n.b)
		for _, m := range n.list {
			if m.op == opBlock {
				r.function(nil, nil, m)
			} else {
				r.visit(m)
			}
		}
		r.leave(s)
		return
	case opProperty:
		r.visit(n.b)
		r.visit(n.a)
		return
	case opBlock:
		r.block(n.list, nil)
		return
	case opFor, opForIn:
		var s scope
		if n.a != nil {
			r.lexical(&s, n.a, nil)
		}
		if n.op == opFor {
			r.visit(n.a)
		} else {
			r.each(n.a)
		}
		r.visit(n.b)
		r.visit(n.c)
		r.visit(n.d)
		r.leave(s)
		return
	case opCatch:
		var s scope
		targets(n.a, func(t *node) { r.declare(&s, t.name, &binding{}) })
		r.pattern(n.a, nil)
		r.visit(n.b)
		r.leave(s)
		return
	case opSwitch:
		r.visit(n.a)
		var all []*node
		for _, c := range n.list {
			r.visit(c.a)
			all = append(all, c.list...)
		}
		r.block(all, nil)
		return
	}
	r.visit(n.a)
	r.visit(n.b)
	r.visit(n.c)
	r.visit(n.d)
	for _, e := range n.list {
		r.visit(e)
	}
}

// own returns the name that a function expression has for itself.
func own(n *node) *node {
	if n.is(flagStmt) {
		return nil
	}
	return n.a
}

// copied takes back that names in a literal lose sight of their objects, where
// what the literal becomes is copied.
func copied(n *node) {
	if n == nil {
		return
	}
	switch n.op {
	case opName:
		if n.bind != nil {
			n.bind.other--
		}
	case opObject, opArray:
		for _, e := range n.list {
			copied(e)
		}
	case opProperty:
		copied(n.a)
	}
}
