package analysis

import "encoding/json"

// value looks into an expression and returns its abstract value. The caller
// decides what becomes of that.
func (w *walker) value(n *node) abstractValue {
	if n == nil {
		return abstractValue{}
	}
	switch n.op {
	case opName:
		return named(n)
	case opMember:
		v := w.value(n.a)
		if v.nature == other && n.name == "codemode" { // this.codemode
			w.dynamic = append(w.dynamic, n.last)
		}
		return w.part(v, n.name, Member, n.last)
	case opIndex:
		return w.index(n)
	case opCall, opNew, opTag:
		return w.call(n)
	case opAssign:
		return w.assign(n)
	case opFunc:
		switch {
		case w.holdDeclared(n): // until it is used
		case n == w.moment.program:
			w.function(n, awaited)
		default:
			w.function(n, anytime)
		}
	case opClass:
		w.value(n.b)
		for _, m := range n.list {
			if m.op == opBlock {
				w.statements(m.list)
				continue
			}
			w.value(m.b)
			w.lost(w.value(m.a))
		}
	case opObject:
		for _, p := range n.list {
			w.value(p.b)
			w.lost(w.value(p.a))
		}
	case opArray:
		for _, e := range n.list {
			w.lost(w.value(e))
		}
	case opSpread:
		w.lost(w.value(n.a))
	case opYield:
		w.lost(w.value(n.a))
		w.moment.waits++
	case opAwait:
		w.moment.awaited = n.a
		v := w.value(n.a)
		w.moment.waits++
		return v
	case opCond:
		w.value(n.a)
		w.lost(w.value(n.b))
		w.lost(w.value(n.c))
	case opLogic:
		a := w.value(n.a)
		b := w.value(n.b)
		if n.name != "&&" && a.nature != other {
			w.lost(b)
			return a
		}
		return b
	case opSequence:
		var last abstractValue
		for _, e := range n.list {
			last = w.value(e)
		}
		return last
	case opImport:
		if n.name != "" && w.meta == nil {
			w.meta = n
		}
		for _, e := range n.list {
			w.value(e)
		}
	case opTemplate:
		for _, e := range n.list {
			w.value(e)
		}
	case opUnary, opUpdate, opBinary:
		w.value(n.a)
		w.value(n.b)
	case opVar, opBlock:
		w.statement(n)
	}
	return abstractValue{}
}

func (w *walker) index(n *node) abstractValue {
	v := w.value(n.a)
	w.value(n.b)
	key, ok := constant(n.b)
	switch {
	case ok:
		return w.part(v, key, Computed, n.last)
	case v.nature == codemode || v.nature == server || v.nature == global:
		w.dynamic = append(w.dynamic, v.start)
		w.used(v)
	case v.nature == tool:
		w.lost(v)
	}
	return abstractValue{}
}

func (w *walker) call(n *node) abstractValue {
	how := called
	if w.moment.awaited == n {
		how = awaited
	}
	w.moment.awaited = nil
	body := w.release(n.a)
	var v abstractValue
	if body == nil && n.op == opCall && n.a.op == opFunc {
		body = n.a
	} else {
		v = w.value(n.a)
	}
	from := len(w.calls)
	if (n.a.op == opMember && n.a.name == "constructor") && v.nature == other {
		w.dynamic = append(w.dynamic, n.a.last) // of a function, it is Function
	}
	list := n.list
	switch v.nature {
	case tool, server:
		w.found(v, v.how, w.args(n, 0), func() *Outline { return w.outline(n, 0) })
	case bound:
		var args json.RawMessage
		outline := nothing
		if v.call == "call" {
			args, outline = w.args(n, 1), func() *Outline { return w.outline(n, 1) }
		}
		w.found(v, v.how, args, outline)
		if len(list) > 0 && list[0] != nil { // what will be this
			w.value(list[0])
			list = list[1:]
		}
	case evaluator:
		w.lost(v)
	}
	own := len(w.calls) > from // the call itself was found, and is made after its arguments are known
	w.value(n.b)
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

// argument looks into an argument of a call.
func (w *walker) argument(n *node, i int, e *node) {
	if !forEach(n, i) || e == nil {
		w.lost(w.value(e))
		return
	}
	if f := w.release(e); f != nil {
		w.function(f, callback)
		return
	}
	if e.op == opFunc {
		w.function(e, callback)
		return
	}
	v, from := w.value(e), len(w.calls)
	w.lost(v)
	if v.nature == tool && len(w.calls) > from {
		w.made(from)
	}
}

// args returns the JSON of argument i of a call if the text shows it.
func (w *walker) args(n *node, i int) json.RawMessage {
	if n.op == opTag {
		return nil
	}
	for j, e := range n.list {
		if j <= i && e != nil && e.op == opSpread {
			return nil
		}
	}
	if len(n.list) <= i || undefined(n.list[i]) {
		return json.RawMessage("null")
	}
	var out writer
	ok := w.budget > 0 && out.write(n.list[i]) && len(out.b) <= maxLiteral
	w.budget -= len(out.b)
	if !ok {
		return nil
	}
	return out.b
}
