package analysis

import (
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/analysis/ecmascript"
)

// read compiles the text.
func (c *compiler) read() (*Program, []Problem) {
	var f *fault
	if c.shape, f = prescan(c.text); f != nil {
		if f.limit {
			return c.giveUp(*f)
		}
		return nil, []Problem{c.problem(*f)}
	}
	if c.takeModules(); len(c.problems) == 0 {
		c.compile()
	}
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	if p := c.program; len(p.JS)+len(p.origin.Output.Code)+len(p.origin.Output.Maps) > maxJS {
		return c.giveUp(fault{limit: true, message: "the program becomes too large",
			hint: "use objects with constant members instead of enums"})
	}
	return c.program, nil
}

// maxJS bounds the JavaScript of a text, in bytes. esbuild repeats the members of
// an enum wherever a program uses them.
const maxJS = 2 << 20

// compile tries the possible readings of the text. If none succeeds, it reports the problems of the closest one, which
// is the one with the later mistake.
func (c *compiler) compile() {
	if c.shape.first == "{" && c.value() {
		return
	}
	out := c.inside(bodyWrapper, c.text)
	if len(out.errors) == 0 {
		c.finish(out, asBody)
		return
	}
	if len(out.errors) == 1 { // the parse ended there: another reading may succeed
		if c.shape.first != "{" && c.value() {
			return
		}
		file, mistakes := c.topLevel()
		if file != nil {
			c.finish(*file, asFile)
			return
		}
		if len(mistakes) > 0 { // first, so that it wins a tie: it does not mention a wrapper
			c.mistakes = slices.Insert(c.mistakes, 0, mistakes)
		}
	}
	if len(c.mistakes) == 0 || len(out.errors) > 1 {
		c.mistakes = [][]fault{c.faults(out, 1)}
	}
	c.report(slices.MaxFunc(c.mistakes, func(a, b []fault) int { return a[0].at - b[0].at }))
}

// value compiles the text as an expression, if it is one.
func (c *compiler) value() bool {
	if c.shape.many {
		return false
	}
	out := c.inside(valueWrapper, c.text[:c.shape.end])
	if len(out.errors) == 0 {
		c.finish(out, asValue)
		return true
	}
	if f := c.faults(out, 1); f[0].at < c.shape.end {
		c.mistakes = append(c.mistakes, f)
	}
	return false
}

// inside compiles a text inside a wrapper, and checks with the other wrapper of the pair that it stays inside.
func (c *compiler) inside(pair func() (run, check wrapper), text string) output {
	run, check := pair()
	out := transform(run, text, true)
	if len(out.errors) == 0 {
		out.errors = transform(check, text, false).errors
	}
	return out
}

// finish makes the program from esbuild's output.
func (c *compiler) finish(out output, f form) {
	p := &Program{origin: &origin{Output: out, Start: c.start, whole: c.whole}}
	if out.Patched == "" {
		p.origin.Output.Patched = c.text
	}
	p.JS = out.Code
	if f != asFile { // remove the function around the body, keep what esbuild put before it
		at := strings.Index(out.Code, header)
		p.JS = out.Code[:at] + out.Code[at+len(header):strings.LastIndexByte(out.Code, '}')]
		p.origin.Cut, p.origin.Width = at, len(header)
		p.origin.First = 1
	}
	c.program = p
	tree, calls, err := ecmascript.Parse(p.JS)
	if err != nil {
		p.Dynamic = []Position{c.whole.position(c.start)}
		return
	}
	x := c.exports
	if x.at >= 0 {
		x.at += c.start
	}
	e := p.entry(tree, f, x)
	if e.fn != nil && p.dropParameters(e.fn) {
		if tree, calls, err = ecmascript.Parse(p.JS); err != nil { // it cannot be: blanks are no syntax
			p.Dynamic = []Position{c.whole.position(c.start)}
			return
		}
		e = p.entry(tree, f, x)
	}
	last := trailing(tree, f, p.origin.Cut)
	if e.name != "" || e.value != nil { // that is the program's value
		last = nil
	}
	w := search(tree, calls, last)
	if m := w.meta; m != nil {
		c.report([]fault{{at: p.origin.offset(m.Start) - c.start, len: len("import"),
			message: "there are no modules: import." + m.Name + " cannot be used"}})
		return
	}
	p.list(w)
	p.free(tree)
	p.unawaited(tree, last)
	p.Idle = c.idle(tree, f, e)
	p.result(tree, f, e, last)
}

// result makes the program return the value of its last expression, or, if the text means a function to be called, the
// value of that function.
func (p *Program) result(tree *ecmascript.Node, f form, e entryPoint, last *ecmascript.Node) {
	switch only := single(tree); {
	case e.value != nil && e.fn == nil:
		p.surround(e.value.Start, e.value.End, "(x=>typeof x=='function'?x(codemode):x)(", ")")
	case e.value != nil:
		p.surround(e.fn.Start, e.fn.End, "(", ")"+arguments(e.fn))
	case e.name != "":
		p.surround(len(p.JS), len(p.JS), e.callOf(), "")
		if e.name != "main" {
			p.origin.Declared, p.origin.DeclaredEnd = true, len(p.JS)-p.origin.Inserted
		}
	case f == asValue && e.fn != nil:
		last := tree.List[len(tree.List)-1]
		p.surround(last.Start+len("return"), last.End, "(", ")"+arguments(e.fn))
	case f == asValue:
	case e.whole && only.Op == ecmascript.OpFunc:
		p.surround(only.Start, only.End, "return(", ")"+arguments(e.fn))
		if only.A != nil && only.A.Name != "main" {
			p.origin.Declared, p.origin.DeclaredEnd = true, only.End
		}
	case last != nil && last.A.Op == ecmascript.OpFunc:
		p.surround(last.Start, last.End, "return(", ")"+arguments(last.A))
	case last != nil:
		p.surround(last.Start, last.End, "return(", ")")
	}
}

// trailing returns the statement of a body whose value is the program's: the last one, apart from declarations of
// functions, if it is an expression, and no return gives a value. Where esbuild has put statements before the program,
// that begins at from.
func trailing(tree *ecmascript.Node, f form, from int) *ecmascript.Node {
	if f == asValue {
		return nil
	}
	list := tree.List
	for len(list) > 0 && (list[len(list)-1].Op == ecmascript.OpEmpty || list[len(list)-1].Op == ecmascript.OpFunc) {
		list = list[:len(list)-1]
	}
	if len(list) == 0 {
		return nil
	}
	last := list[len(list)-1]
	if last.Op != ecmascript.OpExpr || last.Start < from {
		return nil
	}
	if single(tree) != last && (quiet(last.A) || slices.ContainsFunc(tree.List, returns)) {
		return nil
	}
	return last
}

func (p *Program) surround(start, end int, before, after string) {
	p.JS = p.JS[:start] + before + p.JS[start:end] + after + p.JS[end:]
	p.origin.Insert, p.origin.Inserted = start, len(before)
}

// giveUp is the result for a text that is beyond a limit.
func giveUp(name, text string, limit fault) (*Program, []Problem) {
	start, end := program(text)
	return newCompiler(name, text, start, text[start:end]).giveUp(limit)
}

// giveUp returns the text as an unread program if it can only be the body of a function.
func (c *compiler) giveUp(limit fault) (*Program, []Problem) {
	l := ecmascript.Lexer{Src: c.text}
	if first := l.Next(true); begins[l.Text(first)] {
		return c.unread(), nil
	}
	return nil, []Problem{c.problem(limit)}
}

// unread makes a program from a text that is too large to read. If it is not JavaScript, the sandbox reports that.
func (c *compiler) unread() *Program {
	return &Program{
		JS: c.text, Unread: true,
		Dynamic: []Position{c.whole.position(c.start)},
		origin:  &origin{Start: c.start, whole: c.whole, Same: true},
	}
}
