package analysis

import (
	"encoding/json"

	"github.com/codemode-project/codemode/internal/analysis/ecmascript"
)

// A walker finds the calls in a program.
type walker struct {
	calls   []found
	dynamic []unseen
	reads   []string
	results []abstractValue  // the parts of results that it reads
	written map[string]bool  // parts of results that it sets
	tested  map[string]bool  // tools that the text looks for: if (codemode.a__b)
	meta    *ecmascript.Node // the first import.meta, or the like
	budget  int              // of the JSON of arguments
	pending []pending
	many    int // loops and functions around the current node
	moment  moment
	held    []*ecmascript.Binding // of functions that are walked where they are used
}

// An unseen place uses tools without showing which, in a program in which nothing declares free or free is "".
type unseen struct {
	at    int
	free  string
	whole bool // codemode or a server
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
	free, via   string
}

// A pending tool has been assigned to a name; it counts as a value if nothing uses the name.
type pending struct {
	abstractValue
	bind *ecmascript.Binding
}

// search finds the calls of a program. calls are all its call expressions, and last is the statement whose value is the
// program's, or nil.
func search(body *ecmascript.Node, calls []*ecmascript.Node, last *ecmascript.Node) *walker {
	w := &walker{budget: maxLiterals}
	for _, n := range calls {
		if glance(n.A).nature == tool {
			for _, e := range n.List {
				ecmascript.MarkCopied(e) // before the tool receives it
			}
		}
	}
	for _, n := range body.List {
		if n != last {
			w.statement(n)
			continue
		}
		w.moment.awaited = n.A
		if f := n.A; f.Op == ecmascript.OpFunc || f.Op == ecmascript.OpCall && f.A.Op == ecmascript.OpFunc {
			w.many-- // it is the program, and runs once
			w.moment.program = f
		}
		w.lost(w.value(n.A)) // its value is the program's
	}
	for len(w.held) > 0 { // nothing uses them, except they themselves
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
			w.found(p.abstractValue, Value, nil, nothing())
		}
	}
	return w
}

// found records a call with its argument: either args or outline is known.
func (w *walker) found(v abstractValue, how string, args json.RawMessage, outline *Outline) {
	w.calls = append(w.calls, found{
		name: v.name, how: how, start: v.start, last: v.last,
		args: args, outline: outline, repeats: w.many > 0 || how == Value, free: v.free, via: v.via,
	})
	w.used(v)
}

// test records that the text asks whether a tool is there: if (codemode.a__b), typeof codemode.a__b.
func (w *walker) test(v abstractValue) {
	if v.nature != tool {
		return
	}
	if w.tested == nil {
		w.tested = map[string]bool{}
	}
	w.tested[v.name] = true
}

func (w *walker) used(v abstractValue) {
	if v.from != nil {
		factsOf(v.from).reported = true
	}
}

// lost records that a value goes where the walker cannot follow it.
func (w *walker) lost(v abstractValue) {
	switch v.nature {
	case codemode, global, evaluator:
		w.dynamic = append(w.dynamic, unseen{v.start, v.free, v.nature == codemode || v.nature == server})
	case tool:
		w.found(v, Value, nil, nothing())
	case server:
		w.found(v, Value, nil, nothing()) // a function of the host, or
		w.dynamic = append(w.dynamic, unseen{v.start, v.free, v.nature == codemode || v.nature == server})
	}
	w.used(v)
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
