package analysis

import "github.com/codemode-project/codemode/internal/analysis/ecmascript"

// When the program makes its calls, as far as the text shows, and whether a call may still follow. A reader of
// Promise.all(list.map(...)) knows that all of its calls come at once. If a loop awaits each call, more may follow.

// maxDeep bounds the nesting of functions that the walker reads where they are used.
const maxDeep = 100

// made records the moment of a call.
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

// loop walks code that runs repeatedly.
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

// holdDeclared is hold for a declaration.
func (w *walker) holdDeclared(n *ecmascript.Node) bool {
	if !n.Is(ecmascript.FlagStmt) || n.A == nil || n.A.Bind == nil {
		return false
	}
	b := n.A.Bind
	return b.Declared == 1 && b.Writes == 0 && w.hold(b, n)
}

// hold delays the walk of a named function that is used in one place until that place.
func (w *walker) hold(b *ecmascript.Binding, n *ecmascript.Node) bool {
	if b == nil || n.Op != ecmascript.OpFunc || !b.UsedOnce() {
		return false
	}
	factsOf(b).body = n
	w.held = append(w.held, b)
	return true
}

// release returns the function that a name stands for, if it was held for this place.
func (w *walker) release(n *ecmascript.Node) *ecmascript.Node {
	if n == nil || n.Op != ecmascript.OpName || n.Bind == nil || w.moment.deep > maxDeep {
		return nil
	}
	f := factsOf(n.Bind)
	body := f.body
	f.body = nil
	return body
}

// eaches are the methods that call a function for each element before they return.
var eaches = map[string]bool{
	"map": true, "forEach": true, "flatMap": true, "filter": true, "find": true, "findIndex": true,
	"some": true, "every": true, "reduce": true, "reduceRight": true,
}

// forEach reports whether argument i of a call is a function that the call runs for each element.
func forEach(n *ecmascript.Node, i int) bool {
	return n.Op == ecmascript.OpCall && n.A.Op == ecmascript.OpMember &&
		(i == 0 && eaches[n.A.Name] || i == 1 && n.A.Name == "from")
}
