package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/analysis/ecmascript"
)

// An entryPoint is the function that a text means to be called, where the text itself does not call it.
type entryPoint struct {
	fn    *ecmascript.Node // a function literal or declaration; nil if name or value says what to call
	name  string           // a declared function, called at the end of the text
	value *ecmascript.Node // of a default export
	whole bool             // fn is the whole text
}

// entry finds the function to call: a literal or a declaration that is the whole text, what the text exports, a
// function main, or the only function of a text that does nothing else. It is zero if the text calls it.
func (p *Program) entry(tree *ecmascript.Node, f form, x exports) (e entryPoint) {
	if f == asValue {
		if last := tree.List[len(tree.List)-1]; last.A.Op == ecmascript.OpFunc {
			e.fn, e.whole = last.A, true
		}
		return e
	}
	if x.at >= 0 {
		for _, n := range tree.List {
			if n.Op == ecmascript.OpReturn && n.A != nil && p.origin.offset(n.Start) == x.at {
				e = entryPoint{value: n.A}
				if n.A.Op == ecmascript.OpFunc {
					e.fn = n.A
				}
			}
		}
		return e
	}
	if only := single(tree); only != nil {
		if only.Op == ecmascript.OpFunc {
			e.fn, e.whole = only, true
		} else if only.Op == ecmascript.OpExpr && only.A.Op == ecmascript.OpFunc {
			e.fn, e.whole = only.A, true
		}
		if e.fn != nil {
			return e
		}
	}
	if slices.ContainsFunc(tree.List, returns) {
		return e
	}
	uncalled := functions(tree)
	for _, fn := range uncalled {
		if fn.name == "main" || slices.Contains(x.names, fn.name) && e.name == "" {
			e = entryPoint{fn: fn.node, name: fn.name}
		}
	}
	if e.name == "" && len(uncalled) == 1 && !slices.ContainsFunc(tree.List, acts) {
		e = entryPoint{fn: uncalled[0].node, name: uncalled[0].name}
	}
	return e
}

type namedFunction struct {
	name string
	node *ecmascript.Node
}

// functions returns the functions that the top level declares and that nothing outside of them mentions.
func functions(tree *ecmascript.Node) (all []namedFunction) {
	for _, n := range tree.List {
		switch {
		case n.Op == ecmascript.OpFunc && n.A != nil:
			all = append(all, namedFunction{n.A.Name, n})
		case n.Op == ecmascript.OpVar:
			for _, d := range n.List {
				if d.B != nil && d.B.Op == ecmascript.OpFunc && d.A.Op == ecmascript.OpName {
					all = append(all, namedFunction{d.A.Name, d.B})
				}
			}
		}
	}
	used := map[string]int{}
	countNames(tree, used)
	return slices.DeleteFunc(all, func(f namedFunction) bool {
		inside := map[string]int{}
		countNames(f.node, inside)
		if !f.node.Is(ecmascript.FlagStmt) {
			inside[f.name]++ // the name is before the literal
		}
		return used[f.name] > inside[f.name]
	})
}

// countNames counts the uses of each name, with those that declare it.
func countNames(n *ecmascript.Node, to map[string]int) {
	if n == nil {
		return
	}
	if n.Op == ecmascript.OpName {
		to[n.Name]++
	}
	for _, below := range []*ecmascript.Node{n.A, n.B, n.C, n.D} {
		countNames(below, to)
	}
	for _, below := range n.List {
		countNames(below, to)
	}
}

// acts reports whether a statement does more than declare. Only a call, an assignment and the like do something.
func acts(n *ecmascript.Node) bool {
	switch n.Op {
	case ecmascript.OpEmpty, ecmascript.OpFunc, ecmascript.OpClass:
		return false
	case ecmascript.OpVar:
		return slices.ContainsFunc(n.List, func(d *ecmascript.Node) bool { return works(d.B) })
	case ecmascript.OpExpr:
		return !isLiteral(n.A)
	case ecmascript.OpLabel:
		return acts(n.A)
	case ecmascript.OpBlock:
		return slices.ContainsFunc(n.List, acts)
	}
	return true
}

// works reports whether evaluating an expression may have an effect.
func works(n *ecmascript.Node) bool {
	if n == nil {
		return false
	}
	switch n.Op {
	case ecmascript.OpFunc:
		return false
	case ecmascript.OpCall, ecmascript.OpNew, ecmascript.OpAwait, ecmascript.OpYield, ecmascript.OpTag,
		ecmascript.OpAssign, ecmascript.OpUpdate, ecmascript.OpImport, ecmascript.OpClass:
		return true
	case ecmascript.OpName:
		return n.Bind == nil && !known[n.Name] // it may be missing
	}
	return works(n.A) || works(n.B) || works(n.C) || works(n.D) || slices.ContainsFunc(n.List, works)
}

// isLiteral reports whether an expression is written out as a value, as JSON is.
func isLiteral(n *ecmascript.Node) bool {
	if n == nil {
		return true // a hole in an array
	}
	switch n.Op {
	case ecmascript.OpString, ecmascript.OpNumber, ecmascript.OpKeyword:
		return true
	case ecmascript.OpTemplate, ecmascript.OpArray:
		return !slices.ContainsFunc(n.List, func(e *ecmascript.Node) bool { return !isLiteral(e) })
	case ecmascript.OpObject:
		return !slices.ContainsFunc(n.List, func(m *ecmascript.Node) bool {
			return m.Op != ecmascript.OpProperty || m.B != nil || m.Is(ecmascript.FlagMethod) || !isLiteral(m.A)
		})
	case ecmascript.OpUnary:
		return n.Name == "-" && n.A.Op == ecmascript.OpNumber
	}
	return false
}

// given are the globals that a function may also take as parameters, under their own names.
var given = map[string]bool{"codemode": true, "input": true, "console": true, "tools": true}

// dropParameters blanks the parameters of the entry if they are globals, alone or taken from an object, so that the
// body means the globals themselves. It reports whether it did.
func (p *Program) dropParameters(fn *ecmascript.Node) bool {
	if len(fn.List) == 0 || !slices.ContainsFunc(fn.List, func(n *ecmascript.Node) bool { return givenIn(n) }) ||
		slices.ContainsFunc(fn.List, func(n *ecmascript.Node) bool { return !givenIn(n) }) {
		return false
	}
	start, end := fn.List[0].Start, fn.List[len(fn.List)-1].End
	blank := strings.Repeat(" ", end-start)
	if !strings.HasSuffix(strings.TrimRight(p.JS[:start], " "), "(") { // codemode => ...
		blank = "()" + blank[2:]
	}
	p.JS = p.JS[:start] + blank + p.JS[end:]
	return true
}

// givenIn reports whether a parameter is a global, or an object with globals alone.
func givenIn(n *ecmascript.Node) bool {
	switch n.Op {
	case ecmascript.OpName:
		return given[n.Name]
	case ecmascript.OpObject:
		return len(n.List) > 0 && !slices.ContainsFunc(n.List, func(m *ecmascript.Node) bool {
			return m.Op != ecmascript.OpProperty || !m.Is(ecmascript.FlagShort) || !given[m.Name] ||
				m.A.Op != ecmascript.OpName
		})
	}
	return false
}

// arguments are what the call of a function passes for parameters that dropParameters could not drop: the globals, by
// the names of the parameters.
func arguments(fn *ecmascript.Node) string {
	var args []string
	for _, n := range fn.List {
		switch {
		case n.Op == ecmascript.OpName && given[n.Name]:
			args = append(args, n.Name)
		case n.Op == ecmascript.OpObject && slices.ContainsFunc(n.List,
			func(m *ecmascript.Node) bool { return given[m.Name] }):
			args = append(args, "{codemode,input,console}")
		default:
			args = append(args, "undefined")
		}
	}
	for len(args) > 0 && args[len(args)-1] == "undefined" {
		args = args[:len(args)-1]
	}
	return "(" + strings.Join(args, ",") + ")"
}

// callOf returns a call of the entry, by its name.
func (e *entryPoint) callOf() string { return "\nreturn " + e.name + arguments(e.fn) }

// idle says what a text is that does nothing when it runs; nil if it does something.
func (c *compiler) idle(tree *ecmascript.Node, f form, e entryPoint) *Idle {
	trimmed := c.text[:min(c.shape.end, len(c.text))]
	if what, hint := opaque(trimmed); what != "" {
		return &Idle{Message: what, Hint: hint}
	}
	if e.fn != nil || e.value != nil {
		return nil
	}
	value := (*ecmascript.Node)(nil)
	if only := single(tree); only != nil && (f == asValue || only.Op == ecmascript.OpExpr) {
		value = only.A
	}
	switch {
	case value == nil:
	case value.Op == ecmascript.OpName && value.Bind == nil && !known[value.Name]:
		return &Idle{Message: "this is one word, and no program", Hint: oneLine(c.text), Declares: true}
	case isLiteral(value):
		what, hint := valueText(trimmed)
		return &Idle{Message: what, Hint: hint}
	}
	if slices.ContainsFunc(tree.List, acts) {
		return nil
	}
	if len(tree.List) == 0 && (c.shape.first == "" || typeWords[c.shape.first]) {
		return &Idle{Message: c.nothing(), Hint: oneLine("")}
	}
	declares := slices.ContainsFunc(tree.List, func(n *ecmascript.Node) bool {
		return n.Op == ecmascript.OpVar || n.Op == ecmascript.OpFunc || n.Op == ecmascript.OpClass
	})
	if !declares {
		what, hint := valueText(trimmed)
		return &Idle{Message: what, Hint: hint}
	}
	hint := "return the value that is meant"
	var names []string
	for _, fn := range functions(tree) {
		names = append(names, fn.name)
	}
	if len(names) > 0 {
		hint = fmt.Sprintf("call what should run: return await %s()", names[len(names)-1])
	}
	return &Idle{Message: "this only declares, and does nothing", Hint: hint, Declares: true}
}

// typeWords begin declarations that leave nothing to run.
var typeWords = map[string]bool{"interface": true, "type": true, "declare": true, "export": true,
	"import": true, "abstract": true}

// nothing names a text without a statement.
func (c *compiler) nothing() string {
	switch {
	case c.shape.first != "":
		return "there are only types, and no program"
	case strings.TrimSpace(c.whole.text) == "":
		return "the program is empty"
	case strings.TrimSpace(c.text) == "":
		return "there is nothing in it but what surrounds a program"
	}
	return "there is only a comment, and no program"
}

// Nothing returns the problem that a program would do nothing: it is empty, a comment, a value without a computation,
// or text of another kind. In a session, a program may only declare. file is the file name in problems.
func (p *Program) Nothing(file string, session bool) []Problem {
	if p.Idle == nil || session && p.Idle.Declares {
		return nil
	}
	c := compiler{file: file, whole: p.origin.whole, start: p.origin.Start}
	return []Problem{c.problem(fault{message: p.Idle.Message, hint: p.Idle.Hint})}
}

// single returns the only statement of a body, if there is no other.
func single(tree *ecmascript.Node) *ecmascript.Node {
	var only *ecmascript.Node
	for _, n := range tree.List {
		if n.Op == ecmascript.OpEmpty {
			continue
		}
		if only != nil {
			return nil
		}
		only = n
	}
	return only
}

// returns reports whether a statement may return a value from its function.
func returns(n *ecmascript.Node) bool {
	if n == nil {
		return false
	}
	switch n.Op {
	case ecmascript.OpReturn:
		return n.A != nil
	case ecmascript.OpBlock, ecmascript.OpCase, ecmascript.OpSwitch:
		return slices.ContainsFunc(n.List, returns)
	case ecmascript.OpIf, ecmascript.OpTry:
		return n.Op == ecmascript.OpIf && (returns(n.B) || returns(n.C)) || n.Op == ecmascript.OpTry && (returns(n.A) ||
			returns(n.B) || returns(n.C))
	case ecmascript.OpCatch:
		return returns(n.B)
	case ecmascript.OpLabel:
		return returns(n.A)
	case ecmascript.OpFor, ecmascript.OpForIn, ecmascript.OpLoop:
		return returns(n.D)
	}
	return false
}

// quiet reports whether an expression is likely to be there for its side effects.
func quiet(n *ecmascript.Node) bool {
	switch n.Op {
	case ecmascript.OpAssign, ecmascript.OpUpdate:
		return true
	case ecmascript.OpUnary:
		return n.Name == "delete"
	case ecmascript.OpSequence:
		return n.List[len(n.List)-1] != nil && quiet(n.List[len(n.List)-1])
	case ecmascript.OpLogic:
		return quiet(n.B)
	case ecmascript.OpCall:
	default:
		return false
	}
	f := n.A
	switch f.Name {
	case "setTimeout", "setInterval":
		return f.Op == ecmascript.OpName
	case "push", "unshift": // their value is a length
		return f.Op == ecmascript.OpMember && glance(f.A).nature == other
	}
	return f.Op == ecmascript.OpMember && f.A.Op == ecmascript.OpName && f.A.Name == "console"
}
