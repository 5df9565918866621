package analysis

import "encoding/json"

// A walker finds the calls in a program.
type walker struct {
	calls   []found
	dynamic []int
	meta    *node // the first import.meta, or the like
	budget  int   // for the JSON of arguments
	pending []pending
	many    int // loops and functions around what is looked at
	moment  moment
	held    []*binding // of functions that are looked at where they are used
}

// A found call has positions in the JavaScript.
type found struct {
	name        string
	how         string
	start, last int
	args        json.RawMessage
	outline     *Outline // when args is nil
	repeats     bool
	times       Times
	stage       int
}

// A pending tool was given a name, and is a value if nobody uses the name.
type pending struct {
	abstractValue
	bind *binding
}

// search finds what a program calls. calls are all its call expressions.
func search(body *node, calls []*node) *walker {
	w := &walker{budget: maxLiterals}
	for _, n := range calls {
		if glance(n.a).nature == tool {
			for _, e := range n.list {
				copied(e) // before it goes to the tool
			}
		}
	}
	if only := single(body); only != nil && only.op == opExpr {
		if f := only.a; f.op == opFunc || f.op == opCall && f.a.op == opFunc {
			w.many-- // it is the program, and runs once
			w.moment.awaited, w.moment.program = f, f
		}
		w.lost(w.value(only.a)) // its value is the program's
	} else {
		w.statements(body.list)
	}
	for len(w.held) > 0 { // nobody uses them, or only they themselves
		b := w.held[0]
		w.held = w.held[1:]
		if f := factsOf(b); f.body != nil {
			n := f.body
			f.body = nil
			w.function(n, anytime)
		}
	}
	for _, p := range w.pending {
		if !factsOf(p.bind).reported {
			w.found(p.abstractValue, Value, nil, nothing)
		}
	}
	return w
}

// found notes a call. outline is asked for what args does not know.
func (w *walker) found(v abstractValue, how string, args json.RawMessage, outline func() *Outline) {
	f := found{name: v.name, how: how, start: v.start, last: v.last, args: args, repeats: w.many > 0 || how == Value}
	if args == nil {
		f.outline = outline()
	}
	w.calls = append(w.calls, f)
	w.used(v)
}

func (w *walker) used(v abstractValue) {
	if v.from != nil {
		factsOf(v.from).reported = true
	}
}

// lost notices that a value goes where it cannot be followed.
func (w *walker) lost(v abstractValue) {
	switch v.nature {
	case codemode, global, evaluator:
		w.dynamic = append(w.dynamic, v.start)
	case tool:
		w.found(v, Value, nil, nothing)
	case server:
		w.found(v, Value, nil, nothing) // a function of the host, or
		w.dynamic = append(w.dynamic, v.start)
	}
	w.used(v)
}

func (w *walker) statements(list []*node) {
	for _, n := range list {
		w.statement(n)
	}
}

func (w *walker) statement(n *node) {
	if n == nil {
		return
	}
	switch n.op {
	case opExpr:
		w.value(n.a)
	case opVar:
		for _, b := range n.list {
			if b.b == nil {
				w.defaults(b.a)
			} else {
				w.bind(b.a, b.b)
			}
		}
	case opBlock, opCase:
		if n.a != nil {
			w.value(n.a)
		}
		w.statements(n.list)
	case opIf:
		w.value(n.a)
		w.statement(n.b)
		w.statement(n.c)
	case opFor:
		w.statement(n.a)
		w.loop(func() {
			w.statement(n.b)
			w.statement(n.c)
			w.statement(n.d)
		})
	case opForIn:
		if n.a.op == opVar {
			w.defaults(n.a.list[0].a)
		} else {
			w.defaults(n.a)
		}
		w.lost(w.value(n.b))
		w.loop(func() {
			if n.is(flagAwait) {
				w.moment.waits++
			}
			w.statement(n.d)
		})
	case opLoop:
		w.loop(func() {
			v := w.value(n.a)
			if n.name == "with" {
				w.lost(v)
			}
			w.statement(n.d)
		})
	case opReturn, opThrow:
		if n.a != nil {
			w.moment.awaited = n.a
			w.lost(w.value(n.a))
		}
	case opTry:
		w.statement(n.a)
		w.statement(n.b)
		w.statement(n.c)
	case opCatch:
		w.defaults(n.a)
		w.statement(n.b)
	case opSwitch:
		w.value(n.a)
		w.statements(n.list)
	case opLabel:
		w.statement(n.a)
	default:
		w.value(n)
	}
}
