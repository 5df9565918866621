package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/analysis/ecmascript"
)

// maxUnawaited is how many of them a program lists.
const maxUnawaited = 50

// maxPromise bounds how far an expression is followed to tell whether its value is a promise.
const maxPromise = 20

// An unawaited walker finds what nobody awaits.
type unawaited struct {
	js     string
	result *ecmascript.Node                 // the statement that gives the program's value, or nil
	async  map[*ecmascript.Binding]bool     // of async functions that the text declares
	uses   map[*ecmascript.Binding]int      // of names, with their declarations
	found  []found                          // start, and the text as name
	wrong  map[int]bool                     // by start
	read   map[*ecmascript.Node]promiseKind // what is known already
}

// A promiseKind says what an expression gives: "" if it is no promise, or none that somebody should await.
type promiseKind struct {
	what    string // in words: the call of crm__send_email
	start   int
	handled bool // its failure is
}

// unawaited lists what nobody awaits. result is the statement that gives the program's value, or nil.
func (p *Program) unawaited(tree, result *ecmascript.Node) {
	u := unawaited{js: p.JS, result: result, async: map[*ecmascript.Binding]bool{}, uses: map[*ecmascript.Binding]int{},
		wrong: map[int]bool{}, read: map[*ecmascript.Node]promiseKind{}}
	u.declared(tree)
	u.walk(tree)
	slices.SortStableFunc(u.found, func(a, b found) int { return a.start - b.start })
	for _, f := range u.found[:min(len(u.found), maxUnawaited)] {
		p.Unawaited = append(p.Unawaited, Unawaited{Position: p.origin.whole.position(p.origin.offset(f.start)),
			Text: f.name, Wrong: u.wrong[f.start]})
	}
}

// declared finds the async functions, and counts the uses of names.
func (u *unawaited) declared(n *ecmascript.Node) {
	if n == nil {
		return
	}
	if n.Op == ecmascript.OpFunc && n.Is(ecmascript.FlagStmt) && n.A != nil && n.A.Bind != nil && u.isAsync(n) {
		u.async[n.A.Bind] = true
	}
	if n.Op == ecmascript.OpName && n.Bind != nil {
		u.uses[n.Bind]++
	}
	u.children(n, u.declared)
}

func (u *unawaited) children(n *ecmascript.Node, visit func(*ecmascript.Node)) {
	for _, c := range [...]*ecmascript.Node{n.A, n.B, n.C, n.D} {
		if c != nil {
			visit(c)
		}
	}
	for _, c := range n.List {
		if c != nil {
			visit(c)
		}
	}
}

func (u *unawaited) isAsync(n *ecmascript.Node) bool {
	return n.Op == ecmascript.OpFunc && strings.HasPrefix(u.js[n.Start:], "async")
}

func (u *unawaited) report(start int, wrong bool, format string, args ...any) {
	u.found = append(u.found, found{start: start, name: fmt.Sprintf(format, args...)})
	u.wrong[start] = wrong
}

func (u *unawaited) walk(n *ecmascript.Node) {
	switch n.Op {
	case ecmascript.OpExpr:
		if n != u.result {
			u.dropped(n.A)
		}
	case ecmascript.OpVar:
		for _, b := range n.List {
			if b.A.Op == ecmascript.OpName && u.uses[b.A.Bind] == 1 && b.B != nil {
				u.dropped(b.B)
			}
		}
	case ecmascript.OpCall:
		u.arguments(n)
	case ecmascript.OpMember:
		if p := u.promise(n.A, 0); p.what != "" && n.Name != "then" && n.Name != "catch" && n.Name != "finally" {
			u.report(n.Last, true, "%s is read of a promise, that of %s: write await, as in (await …).%s", readable(n.Name),
				p.what, readable(n.Name))
		}
	case ecmascript.OpTemplate:
		for _, e := range n.List {
			if p := u.promise(e, 0); p.what != "" {
				u.report(p.start, true, "a promise is put into a text, that of %s: write await in front of it", p.what)
			}
		}
	}
	u.children(n, u.walk)
}

// dropped reports an expression whose value nobody uses.
func (u *unawaited) dropped(n *ecmascript.Node) {
	switch n.Op {
	case ecmascript.OpCond:
		u.dropped(n.B)
		u.dropped(n.C)
		return
	case ecmascript.OpLogic:
		u.dropped(n.B)
		return
	case ecmascript.OpSequence:
		u.dropped(n.List[len(n.List)-1])
		return
	case ecmascript.OpUnary:
		if n.Name == "void" {
			u.dropped(n.A)
		}
		return
	}
	if p := u.promise(n, 0); p.what != "" {
		if !p.handled {
			u.report(p.start, false, "nobody awaits %s: write await in front of it, or codemode.background(…) around it if "+
				"its failure is to end nothing", p.what)
		}
		return
	}
	if n.Op != ecmascript.OpCall || len(n.List) == 0 || n.List[0] == nil || !u.makes(n.List[0], 0) {
		return
	}
	switch name := n.A.Name; {
	case n.A.Op == ecmascript.OpMember && name == "forEach":
		u.report(n.A.Last, false, "forEach does not wait for an async function: write for (const x of …) { await … }, or "+
			"await Promise.all(….map(…))")
	case n.A.Op == ecmascript.OpMember && (name == "map" || name == "flatMap"):
		u.report(n.A.Last, false, "nobody awaits the promises of this %s: write await Promise.all(…) around it", name)
	case n.A.Op == ecmascript.OpName && n.A.Bind == nil && (name == "setTimeout" || name == "setInterval" ||
		name == "queueMicrotask"):
		u.report(n.A.Start, false, "nobody awaits what this function of %s does: write await new Promise(done => "+
			"setTimeout(done, …)), and then await it", name)
	}
}

// tests are the methods that take what a function returns for true or false, or for a number.
var tests = map[string]bool{"filter": true, "some": true, "every": true, "find": true, "findIndex": true,
	"findLast": true, "findLastIndex": true, "sort": true}

// arguments reports promises among the arguments of a call that takes data.
func (u *unawaited) arguments(n *ecmascript.Node) {
	v := glance(n.A)
	text := n.A.Op == ecmascript.OpMember && n.A.Name == "stringify" && n.A.A.Op == ecmascript.OpName &&
		n.A.A.Name == "JSON"
	if n.A.Op == ecmascript.OpMember && tests[n.A.Name] && len(n.List) > 0 && n.List[0] != nil && u.isAsync(n.List[0]) {
		u.report(n.A.Last, true, "%s takes the promise of an async function for its value: await the values first",
			n.A.Name)
	}
	if v.nature != tool && (v.nature != server || v.name == backgroundName) && !text {
		return
	}
	for _, e := range n.List {
		u.data(e, 0)
	}
}

// data reports the promises inside data.
func (u *unawaited) data(n *ecmascript.Node, depth int) {
	if n == nil || depth > maxPromise {
		return
	}
	if p := u.promise(n, 0); p.what != "" {
		u.report(p.start, true, "a promise is in the arguments, that of %s: write await in front of it", p.what)
		return
	}
	switch n.Op {
	case ecmascript.OpObject, ecmascript.OpArray:
		for _, e := range n.List {
			u.data(e, depth+1)
		}
	case ecmascript.OpProperty, ecmascript.OpSpread:
		u.data(n.A, depth+1)
	}
}

// backgroundName is the function that says that nobody awaits a promise.
const backgroundName = "background"

// promise says whether the value of an expression is a promise of work that the program has started.
func (u *unawaited) promise(n *ecmascript.Node, depth int) promiseKind {
	if n == nil || depth > maxPromise {
		return promiseKind{}
	}
	if p, ok := u.read[n]; ok {
		return p
	}
	u.read[n] = promiseKind{} // it may refer to itself
	p := u.kind(n, depth)
	u.read[n] = p
	return p
}

func (u *unawaited) kind(n *ecmascript.Node, depth int) promiseKind {
	if n.Op == ecmascript.OpName && n.Bind != nil {
		p := u.promise(n.Bind.Value(), depth+1)
		p.start = n.Start
		return p
	}
	if n.Op != ecmascript.OpCall {
		return promiseKind{}
	}
	switch v := glance(n.A); {
	case v.nature == tool, v.nature == server && v.name != backgroundName:
		return promiseKind{what: "the call of " + readable(v.name), start: v.start}
	case n.A.Op == ecmascript.OpName && u.makes(n.A, depth+1):
		return promiseKind{what: "the call of " + readable(n.A.Name), start: n.Start}
	case u.isAsync(n.A):
		return promiseKind{what: "this async function", start: n.Start}
	case n.A.Op != ecmascript.OpMember:
		return promiseKind{}
	}
	switch n.A.Name {
	case "then", "catch", "finally":
		p := u.promise(n.A.A, depth+1)
		p.handled = p.handled && n.A.Name != "then" || n.A.Name == "catch" && len(n.List) > 0 ||
			n.A.Name == "then" && len(n.List) > 1
		return p
	case "all", "allSettled", "race", "any":
		if n.A.A.Op == ecmascript.OpName && n.A.A.Name == "Promise" && n.A.A.Bind == nil {
			return promiseKind{what: "this Promise." + n.A.Name, start: n.Start}
		}
	}
	return promiseKind{}
}

// makes reports whether a function gives a promise.
func (u *unawaited) makes(n *ecmascript.Node, depth int) bool {
	switch {
	case n == nil || depth > maxPromise:
		return false
	case n.Op == ecmascript.OpName && n.Bind != nil:
		return u.async[n.Bind] && n.Bind.Writes == 0 || u.makes(n.Bind.Value(), depth+1)
	case n.Op == ecmascript.OpFunc && n.B.Op != ecmascript.OpBlock:
		return u.isAsync(n) || u.promise(n.B, depth+1).what != ""
	}
	v := glance(n)
	return u.isAsync(n) || v.nature == tool
}
