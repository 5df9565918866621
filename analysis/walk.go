package analysis

import (
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/analysis/ecmascript"
)

// value walks an expression and returns its abstract value. The caller decides what happens to that value.
func (w *walker) value(n *ecmascript.Node) abstractValue {
	if n == nil {
		return abstractValue{}
	}
	switch n.Op {
	case ecmascript.OpName:
		return named(n)
	case ecmascript.OpMember:
		v := w.value(n.A)
		if (v.nature == other || v.free != "") && n.Name == "codemode" { // this.codemode
			w.dynamic = append(w.dynamic, unseen{at: n.Last})
		}
		return w.part(v, n.Name, Member, n.Last)
	case ecmascript.OpIndex:
		return w.index(n)
	case ecmascript.OpCall, ecmascript.OpNew, ecmascript.OpTag:
		return w.call(n)
	case ecmascript.OpAssign:
		return w.assign(n)
	case ecmascript.OpFunc:
		switch {
		case w.holdDeclared(n): // until it is used
		case n == w.moment.program:
			w.function(n, awaited)
		default:
			w.function(n, anytime)
		}
	case ecmascript.OpClass:
		w.value(n.B)
		for _, m := range n.List {
			if m.Op == ecmascript.OpBlock {
				w.statements(m.List)
				continue
			}
			w.value(m.B)
			w.lost(w.value(m.A))
		}
	case ecmascript.OpObject:
		for _, p := range n.List {
			w.value(p.B)
			w.lost(w.value(p.A))
		}
	case ecmascript.OpArray:
		for _, e := range n.List {
			w.lost(w.value(e))
		}
	case ecmascript.OpSpread:
		w.lost(w.value(n.A))
	case ecmascript.OpYield:
		w.lost(w.value(n.A))
		w.moment.waits++
	case ecmascript.OpAwait:
		w.moment.awaited = n.A
		v := w.value(n.A)
		w.moment.waits++
		return v
	case ecmascript.OpCond:
		w.test(w.value(n.A))
		w.lost(w.value(n.B))
		w.lost(w.value(n.C))
	case ecmascript.OpLogic:
		a := w.value(n.A)
		w.test(a)
		b := w.value(n.B)
		if n.Name != "&&" && a.nature != other {
			w.lost(b)
			return a
		}
		return b
	case ecmascript.OpSequence:
		var last abstractValue
		for _, e := range n.List {
			last = w.value(e)
		}
		return last
	case ecmascript.OpImport:
		if n.Name != "" && w.meta == nil {
			w.meta = n
		}
		for _, e := range n.List {
			w.value(e)
		}
	case ecmascript.OpTemplate:
		for _, e := range n.List {
			w.value(e)
		}
	case ecmascript.OpUnary, ecmascript.OpUpdate, ecmascript.OpBinary:
		w.test(w.value(n.A))
		b := w.value(n.B)
		if name, ok := constant(n.A); ok && n.Name == "in" && (b.nature == codemode || b.nature == server) {
			w.test(part(b, name, Computed, n.End))
		}
	case ecmascript.OpVar, ecmascript.OpBlock:
		w.statement(n)
	}
	return abstractValue{}
}

func (w *walker) index(n *ecmascript.Node) abstractValue {
	v := w.value(n.A)
	w.value(n.B)
	key, ok := constant(n.B)
	switch {
	case ok:
		return w.part(v, key, Computed, n.Last)
	case v.nature == codemode || v.nature == server || v.nature == global:
		w.dynamic = append(w.dynamic, unseen{at: v.start, free: v.free})
		w.used(v)
	case v.nature == tool:
		w.lost(v)
	}
	return abstractValue{}
}

func (w *walker) call(n *ecmascript.Node) abstractValue {
	how := called
	if w.moment.awaited == n {
		how = awaited
	}
	w.moment.awaited = nil
	body := w.release(n.A)
	var v abstractValue
	if body == nil && n.Op == ecmascript.OpCall && n.A.Op == ecmascript.OpFunc {
		body = n.A
	} else {
		v = w.value(n.A)
	}
	from := len(w.calls)
	if (n.A.Op == ecmascript.OpMember && n.A.Name == "constructor") && v.nature == other {
		w.dynamic = append(w.dynamic, unseen{at: n.A.Last}) // of a function, it is Function
	}
	list := n.List
	switch v.nature {
	case tool, server:
		if v.nature == server && v.name == backgroundName {
			w.used(v) // it calls nothing
			break
		}
		if v.nature == server && call.IsCaller(v.name, v.free == v.name) {
			w.dispatched(n, v)
			break
		}
		args, outline := w.shown(n, 0)
		w.found(v, v.how, args, outline)
	case bound:
		if v.call == "call" {
			args, outline := w.shown(n, 1)
			w.found(v, v.how, args, outline)
		} else {
			w.found(v, v.how, nil, nothing())
		}
		if len(list) > 0 && list[0] != nil { // the value of this in the call
			w.value(list[0])
			list = list[1:]
		}
	case evaluator:
		w.lost(v)
	}
	own := len(w.calls) > from // the walker found the call itself, which comes after its arguments
	w.value(n.B)
	for i, e := range list {
		w.argument(n, i, e)
	}
	if body != nil {
		w.function(body, how)
	}
	if own && w.calls[from].how != Value {
		w.made(from)
	}
	return resultOf(n, v)
}

// dispatched records a call of a function that takes the name of a tool, as codemode.call("crm__x", arguments),
// ("crm", "x", arguments) or ({name: "crm__x", arguments}).
func (w *walker) dispatched(n *ecmascript.Node, v abstractValue) {
	name, ok := dispatchee(n.List)
	if !ok || n.Op == ecmascript.OpTag {
		w.dynamic = append(w.dynamic, unseen{at: v.start, free: v.free})
		return
	}
	v.name = name
	at, from := 1, n
	if o := n.List[0]; o.Op == ecmascript.OpObject {
		at, from = 0, &ecmascript.Node{Op: ecmascript.OpCall}
		if given := memberOf(o, "arguments", "args", "input", "params", "parameters"); given != nil {
			from.List = []*ecmascript.Node{given}
		}
	} else if len(n.List) > 2 {
		at = 2
	}
	args, outline := w.shown(from, at)
	w.found(v, v.how, args, outline)
}

// argument walks an argument of a call.
func (w *walker) argument(n *ecmascript.Node, i int, e *ecmascript.Node) {
	if !forEach(n, i) || e == nil {
		if e != nil && e.Op == ecmascript.OpFunc && i == 0 {
			w.parameter(n, e)
		}
		w.lost(w.value(e))
		return
	}
	if f := w.release(e); f != nil {
		w.function(f, callback)
		return
	}
	if e.Op == ecmascript.OpFunc {
		w.parameter(n, e)
		w.function(e, callback)
		return
	}
	v, from := w.value(e), len(w.calls)
	w.lost(v)
	if v.nature == tool && len(w.calls) > from {
		w.made(from)
	}
}

// function walks a function that runs at this moment, or at any time.
func (w *walker) function(n *ecmascript.Node, how running) {
	m := &w.moment
	before := *m
	m.awaited = nil
	m.deep++
	w.many++
	switch how {
	case anytime:
		m.anytime++
	case called, callback:
		if m.inside++; m.inside == 1 {
			m.waits = 0
		}
		if how == callback {
			if m.again == 0 {
				m.stage++
			}
			m.again++
		}
	}
	for _, p := range n.List {
		w.defaults(p)
	}
	if n.B.Op == ecmascript.OpBlock {
		w.statements(n.B.List)
	} else {
		m.awaited = n.B
		w.lost(w.value(n.B))
	}
	w.many--
	stage := m.stage
	*m = before
	m.stage = stage
}

func (w *walker) statements(list []*ecmascript.Node) {
	for _, n := range list {
		w.statement(n)
	}
}

func (w *walker) statement(n *ecmascript.Node) {
	if n == nil {
		return
	}
	switch n.Op {
	case ecmascript.OpExpr:
		w.value(n.A)
	case ecmascript.OpVar:
		for _, b := range n.List {
			if b.B == nil {
				w.defaults(b.A)
			} else {
				w.bind(b.A, b.B)
			}
		}
	case ecmascript.OpBlock, ecmascript.OpCase:
		if n.A != nil {
			w.value(n.A)
		}
		w.statements(n.List)
	case ecmascript.OpIf:
		w.test(w.value(n.A))
		w.statement(n.B)
		w.statement(n.C)
	case ecmascript.OpFor:
		w.statement(n.A)
		w.loop(func() {
			w.statement(n.B)
			w.statement(n.C)
			w.statement(n.D)
		})
	case ecmascript.OpForIn:
		if n.A.Op == ecmascript.OpVar {
			w.defaults(n.A.List[0].A)
		} else {
			w.defaults(n.A)
		}
		of := w.value(n.B)
		w.lost(of)
		if n.Name == "of" && n.A.Op == ecmascript.OpVar && of.nature == result {
			of.path += "/-"
			w.holds(n.A.List[0].A, of)
		}
		w.loop(func() {
			if n.Is(ecmascript.FlagAwait) {
				w.moment.waits++
			}
			w.statement(n.D)
		})
	case ecmascript.OpLoop:
		w.loop(func() {
			v := w.value(n.A)
			if n.Name == "with" {
				w.lost(v)
			}
			w.statement(n.D)
		})
	case ecmascript.OpReturn, ecmascript.OpThrow:
		if n.A != nil {
			w.moment.awaited = n.A
			w.lost(w.value(n.A))
		}
	case ecmascript.OpTry:
		w.statement(n.A)
		w.statement(n.B)
		w.statement(n.C)
	case ecmascript.OpCatch:
		w.defaults(n.A)
		w.statement(n.B)
	case ecmascript.OpSwitch:
		w.value(n.A)
		w.statements(n.List)
	case ecmascript.OpLabel:
		w.statement(n.A)
	default:
		w.value(n)
	}
}
