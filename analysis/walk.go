package analysis

import (
	"github.com/codemode-project/codemode/analysis/ecmascript"
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
		if v.nature == other && n.Name == "codemode" { // this.codemode
			w.dynamic = append(w.dynamic, n.Last)
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
		w.value(n.A)
		w.lost(w.value(n.B))
		w.lost(w.value(n.C))
	case ecmascript.OpLogic:
		a := w.value(n.A)
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
		w.value(n.A)
		w.value(n.B)
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
		w.dynamic = append(w.dynamic, v.start)
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
		w.dynamic = append(w.dynamic, n.A.Last) // of a function, it is Function
	}
	list := n.List
	switch v.nature {
	case tool, server:
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
	return abstractValue{}
}

// argument walks an argument of a call.
func (w *walker) argument(n *ecmascript.Node, i int, e *ecmascript.Node) {
	if !forEach(n, i) || e == nil {
		w.lost(w.value(e))
		return
	}
	if f := w.release(e); f != nil {
		w.function(f, callback)
		return
	}
	if e.Op == ecmascript.OpFunc {
		w.function(e, callback)
		return
	}
	v, from := w.value(e), len(w.calls)
	w.lost(v)
	if v.nature == tool && len(w.calls) > from {
		w.made(from)
	}
}
