package analysis

import (
	"slices"

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

// dispatchee returns the name of the tool in the arguments of such a function.
func dispatchee(list []*ecmascript.Node) (name string, ok bool) {
	if len(list) == 0 || slices.ContainsFunc(list, spread) || list[0] == nil {
		return "", false
	}
	if o := list[0]; o.Op == ecmascript.OpObject {
		if slices.ContainsFunc(o.List, func(p *ecmascript.Node) bool { return p.Op != ecmascript.OpProperty || p.B != nil }) {
			return "", false
		}
		server, _ := textOf(o, "server", "serverName", "server_name")
		name, ok = textOf(o, "name", "tool", "toolName", "tool_name")
		if server != "" {
			name = server + call.Separator + name
		}
		return name, ok
	}
	name, ok = constant(list[0])
	if ok && len(list) > 2 {
		tool, is := constant(list[1])
		return name + call.Separator + tool, is
	}
	return name, ok
}

// memberOf returns the first of some members that an object literal has, nil if the text does not show it.
func memberOf(o *ecmascript.Node, names ...string) *ecmascript.Node {
	for _, name := range names {
		for _, p := range o.List {
			if p.Op == ecmascript.OpProperty && p.B == nil && p.Name == name && !p.Is(ecmascript.FlagMethod) {
				return p.A
			}
		}
	}
	return nil
}

func textOf(o *ecmascript.Node, names ...string) (string, bool) {
	m := memberOf(o, names...)
	if m == nil {
		return "", false
	}
	return constant(m)
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
