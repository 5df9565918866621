package analysis

import (
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/analysis/ecmascript"
)

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

// list adds the walker's findings to the program.
func (p *Program) list(w *walker) {
	o := p.origin
	for _, f := range w.calls {
		from := o.offset(f.start)
		c := Call{
			Name:     f.name,
			Host:     !strings.Contains(f.name, "__"),
			Position: o.whole.position(from),
			Length:   o.reference(from, o.offset(f.last)),
			How:      f.how,
			Args:     f.args,
			Outline:  f.outline,
			Repeats:  f.repeats,
			Tested:   w.tested[f.name],
			Times:    f.times,
			Stage:    f.stage,
			Via:      f.via,
		}
		if f.free == "" {
			p.Calls = append(p.Calls, c)
		} else {
			p.Perhaps = append(p.Perhaps, Perhaps{Free: f.free, Call: &c})
		}
	}
	p.reads(w)
	slices.Sort(w.reads)
	p.Reads = slices.Compact(w.reads)
	slices.SortStableFunc(p.Calls, func(a, b Call) int { return comparePositions(a.Position, b.Position) })
	for _, at := range w.dynamic {
		place := o.whole.position(o.offset(at.at))
		p.Lists = p.Lists || at.whole
		if at.free == "" {
			p.Dynamic = append(p.Dynamic, place)
		} else {
			p.Perhaps = append(p.Perhaps, Perhaps{Free: at.free, At: place})
		}
	}
	slices.SortFunc(p.Dynamic, comparePositions)
	p.Dynamic = slices.Compact(p.Dynamic)
}

// reads lists the reads of results that the walker found.
func (p *Program) reads(w *walker) {
	seen := map[string]bool{}
	for _, v := range w.results {
		key := v.name + "\n" + v.path
		if seen[key] || w.written[key] {
			continue
		}
		seen[key] = true
		p.Results = append(p.Results, ResultRead{Tool: v.name, Free: v.free, Path: v.path,
			Position: p.origin.whole.position(p.origin.offset(v.last))})
	}
}
