package analysis

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/analysis/ecmascript"
)

// globals are the names that every program can use; a test compares them with the guest's.
//
//go:embed globals.txt
var globals string

// known holds globals, and names that a function has.
var known = func() map[string]bool {
	m := map[string]bool{"arguments": true}
	for name := range strings.FieldsSeq(globals) {
		m[name] = true
	}
	return m
}()

// InSession returns p as a program of a session in which names are declared. There is a problem for each name that p
// uses, and that nobody declares: the program would fail there. file is the file name in problems. The result says in
// Dynamic where p uses a name of the session, because that may hold tools, or a function that calls some.
//
// A function declaration alone, which is called elsewhere, is only declared here, unless its name is main.
//
// A name is no problem behind typeof, or if p assigns to it. If p can declare names in ways that its text does not show
// (with eval, with, globalThis), no name is a problem.
func (p *Program) InSession(file string, names []string) (*Program, []Problem) {
	declared := make(map[string]bool, len(names))
	for _, name := range names {
		declared[name] = true
	}
	c := compiler{file: file, whole: p.origin.whole}
	in := *p
	in.Dynamic = slices.Clone(p.Dynamic)
	for _, u := range p.Free {
		switch {
		case declared[u.Name]:
			in.Dynamic = append(in.Dynamic, p.origin.whole.position(u.Offset))
		case p.Opaque || len(c.problems) == maxProblems:
		default:
			c.problems = append(c.problems, c.problem(fault{at: u.Offset, len: len(u.Name),
				message: fmt.Sprintf("nothing declares %s", readable(u.Name)), hint: cmp.Or(u.Hint, namesThere(names))}))
		}
	}
	slices.SortFunc(in.Dynamic, comparePositions)
	in.Dynamic = slices.Compact(in.Dynamic)
	in.onlyDeclare()
	return &in, c.problems
}

// At returns the position of an offset in the submitted text.
func (p *Program) At(offset int) Position { return p.origin.whole.position(offset) }

// onlyDeclare takes back the call of a function declaration that is the whole text.
func (p *Program) onlyDeclare() {
	o := p.origin
	if !o.Declared {
		return
	}
	p.JS = p.JS[:o.Insert] + p.JS[o.Insert+o.Inserted:o.DeclaredEnd+o.Inserted] + "\n"
	p.origin = &origin{Output: o.Output, Start: o.Start, Cut: o.Cut, Width: o.Width, First: o.First, whole: o.whole,
		Repaired: o.Repaired}
}

// maxNames is how many names of a session a problem lists.
const maxNames = 30

// namesThere lists what a session has, without the helpers that esbuild declares.
func namesThere(names []string) string {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.HasPrefix(name, "__") })
	if len(names) == 0 {
		return "the session has declared nothing: declare it in this program"
	}
	list := make([]string, 0, maxNames)
	for _, name := range names[max(0, len(names)-maxNames):] {
		list = append(list, readable(name))
	}
	text := "the session has " + strings.Join(list, ", ")
	if more := len(names) - len(list); more > 0 {
		text += fmt.Sprintf(", and %d older names", more)
	}
	return text
}

// uses finds the names that a body uses and does not declare.
type uses struct {
	first    map[string]int // where
	assigned map[string]bool
	opaque   bool
}

// free lists what the body uses and neither it nor every program has.
func (p *Program) free(body *ecmascript.Node) {
	u := uses{first: map[string]int{}, assigned: map[string]bool{}}
	u.walk(body)
	p.Opaque = u.opaque
	for name, at := range u.first {
		if !u.assigned[name] && !known[name] {
			p.Free = append(p.Free, Use{Name: name, Offset: p.origin.offset(at)})
		}
	}
	slices.SortFunc(p.Free, func(a, b Use) int { return a.Offset - b.Offset })
}

func (u *uses) walk(n *ecmascript.Node) {
	if n == nil {
		return
	}
	switch n.Op {
	case ecmascript.OpName:
		u.name(n)
		return
	case ecmascript.OpUnary:
		if n.Name == "typeof" && n.A.Op == ecmascript.OpName {
			return
		}
	case ecmascript.OpAssign:
		if n.Name == "=" {
			u.target(n.A)
			u.walk(n.B)
			return
		}
	case ecmascript.OpForIn:
		u.target(n.A)
		u.walk(n.B)
		u.walk(n.D)
		return
	case ecmascript.OpFunc, ecmascript.OpClass: // A is a declaration
		u.walk(n.B)
		u.list(n.List)
		return
	case ecmascript.OpCatch:
		u.target(n.A)
		u.walk(n.B)
		return
	case ecmascript.OpLoop:
		u.opaque = u.opaque || n.Name == "with"
	}
	u.walk(n.A)
	u.walk(n.B)
	u.walk(n.C)
	u.walk(n.D)
	u.list(n.List)
}

func (u *uses) list(list []*ecmascript.Node) {
	for _, n := range list {
		u.walk(n)
	}
}

func (u *uses) name(n *ecmascript.Node) {
	if n.Bind != nil {
		return
	}
	switch n.Name {
	case "eval", "Function", "globalThis":
		u.opaque = true
	}
	if at, ok := u.first[n.Name]; !ok || n.Start < at {
		u.first[n.Name] = n.Start
	}
}

// target walks what is assigned to: a name there becomes a global if nobody declares it.
func (u *uses) target(n *ecmascript.Node) {
	if n == nil {
		return
	}
	switch n.Op {
	case ecmascript.OpName:
		u.assigned[n.Name] = u.assigned[n.Name] || n.Bind == nil
	case ecmascript.OpAssign:
		u.target(n.A)
		u.walk(n.B)
	case ecmascript.OpArray, ecmascript.OpObject:
		for _, e := range n.List {
			u.target(e)
		}
	case ecmascript.OpProperty:
		u.walk(n.B)
		u.target(n.A)
	case ecmascript.OpSpread:
		u.target(n.A)
	default:
		u.walk(n)
	}
}
