package analysis

import "github.com/codemode-project/codemode/analysis/ecmascript"

// When calls are made, as far as the text shows: whether one that was not made yet may still come. A reader who sees
// Promise.all(list.map(...)) knows that all of its calls are there at once, and of a loop that awaits each that more
// may follow.

// A moment is where a walker is in the course of the program.
type moment struct {
	stage   int              // the last one that was given away
	again   int              // loops, and functions that are called for each of a list, around what is looked at
	anytime int              // functions around it of which nobody knows when they are called, nor how often
	inside  int              // functions around it that the program does not wait for
	waits   int              // awaits before it, in the innermost functions that the program does not wait for
	awaited *ecmascript.Node // the call that the program waits for
	program *ecmascript.Node // the function that is the program, or its call
	deep    int              // functions around it
}

// maxDeep bounds how deep functions that are looked at where they are used may nest.
const maxDeep = 100

// A running says how a function comes to run.
type running int

const (
	anytime  running = iota // nobody knows
	awaited                 // once, and who calls it waits for its end
	called                  // once, and who calls it goes on
	callback                // for each of a list
)

// made notes at which moment a call is made.
func (w *walker) made(i int) {
	m, f := &w.moment, &w.calls[i]
	late := m.anytime > 0 || m.inside > 0 && m.waits > 0
	switch {
	case m.anytime > 0:
		f.times = Often
	case m.again == 0 && f.how != Value:
		f.times = Once
	case late:
		f.times = Often
	default:
		f.times = Together
	}
	f.stage = 0
	if !late {
		if m.again == 0 {
			m.stage++
		}
		f.stage = m.stage
	}
}

// loop looks at what is done again and again.
func (w *walker) loop(body func()) {
	m := &w.moment
	if m.again == 0 {
		m.stage++
	}
	m.again++
	w.many++
	waits, from := m.waits, len(w.calls)
	body()
	w.many--
	m.again--
	if m.waits > waits {
		for i := range w.calls[from:] {
			if f := &w.calls[from+i]; f.times == Together {
				f.times = Often
			}
		}
	}
}

// function looks into a function that runs at this moment, or at any time.
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

// holdDeclared is hold for a declaration.
func (w *walker) holdDeclared(n *ecmascript.Node) bool {
	if !n.Is(ecmascript.FlagStmt) || n.A == nil || n.A.Bind == nil {
		return false
	}
	b := n.A.Bind
	return b.Declared == 1 && b.Writes == 0 && w.hold(b, n)
}

// hold puts off looking into a function that has a name and is used in one place, until that place.
func (w *walker) hold(b *ecmascript.Binding, n *ecmascript.Node) bool {
	if b == nil || n.Op != ecmascript.OpFunc || !b.UsedOnce() {
		return false
	}
	factsOf(b).body = n
	w.held = append(w.held, b)
	return true
}

// release gives the function that a name stands for, if it was held and this is the place.
func (w *walker) release(n *ecmascript.Node) *ecmascript.Node {
	if n == nil || n.Op != ecmascript.OpName || n.Bind == nil || w.moment.deep > maxDeep {
		return nil
	}
	f := factsOf(n.Bind)
	body := f.body
	f.body = nil
	return body
}

// eaches are the methods that call a function for each of a list before they return.
var eaches = map[string]bool{
	"map": true, "forEach": true, "flatMap": true, "filter": true, "find": true, "findIndex": true,
	"some": true, "every": true, "reduce": true, "reduceRight": true,
}

// forEach reports whether argument i of a call is a function that it calls for each of a list.
func forEach(n *ecmascript.Node, i int) bool {
	return n.Op == ecmascript.OpCall && n.A.Op == ecmascript.OpMember &&
		(i == 0 && eaches[n.A.Name] || i == 1 && n.A.Name == "from")
}
