package analysis

import "strings"

func (p *parser) function(start int, async bool) *node {
	n := &node{op: opFunc, flags: flagArrow, start: start}
	p.next()
	generator := p.accept("*")
	if !p.at("(") {
		n.a = p.name()
	}
	p.rest(n, async, generator)
	return p.done(n)
}

// rest reads parameters and body of a function.
func (p *parser) rest(n *node, async, generator bool) {
	n.b = p.inFunction(async, generator, func() *node {
		n.list = p.items("(", ")")
		return p.block()
	})
}

func (p *parser) object() *node {
	n := &node{op: opObject, start: p.tok.start}
	p.next()
	for !p.accept("}") {
		if p.at("...") {
			s := &node{op: opSpread, start: p.tok.start}
			p.next()
			s.a = p.assignment(false)
			n.list = append(n.list, p.done(s))
		} else {
			n.list = append(n.list, p.property(false))
		}
		if !p.at("}") {
			p.expect(",")
		}
	}
	return p.done(n)
}

// property reads one member of an object or a class.
func (p *parser) property(class bool) *node {
	n := &node{op: opProperty}
	async, generator := false, false
	for p.tok.kind == word {
		w := p.text()
		if w != "static" && w != "async" && w != "get" && w != "set" || w == "static" && !class {
			break
		}
		t := p.peek()
		next := p.lex.text(t)
		if w == "static" && next == "{" {
			p.next()
			return p.inFunction(true, false, p.block)
		}
		if t.kind == punct && next != "[" && next != "*" {
			break
		}
		async = async || w == "async"
		p.next()
	}
	if p.accept("*") {
		generator = true
	}
	n.start = p.tok.start
	short := p.tok.kind == word
	switch p.tok.kind {
	case word, private, number:
		n.name = p.text()
		if whole, big := strings.CutSuffix(n.name, "n"); p.tok.kind == number && big {
			n.name = whole
		} else if p.tok.kind == number {
			n.name = numberKey(n.name)
		}
		p.next()
	case str:
		p.string(n)
		n.op = opProperty
		p.next()
	default:
		p.expect("[")
		n.b = p.assignment(false)
		p.expect("]")
	}
	p.done(n)
	switch {
	case p.at("("):
		f := &node{op: opFunc, flags: flagArrow, start: p.tok.start}
		p.rest(f, async, generator)
		n.flags |= flagMethod
		n.a = p.done(f)
	case class:
		if p.accept("=") {
			n.a = p.inFunction(false, false, func() *node { return p.assignment(false) })
		}
		p.accept(";")
	case p.accept(":"):
		n.a = p.assignment(false)
	case short:
		n.flags |= flagShort
		n.a = &node{op: opName, start: n.start, end: n.end, name: n.name}
		if p.accept("=") {
			n.a = &node{op: opAssign, start: n.start, name: "=", a: n.a, b: p.assignment(false)}
			p.done(n.a)
		}
	default:
		p.fail()
	}
	return n
}

func (p *parser) class() *node {
	n := &node{op: opClass, start: p.tok.start}
	p.next()
	if p.tok.kind == word && !p.at("extends") {
		n.a = p.name()
	}
	if p.accept("extends") {
		n.b = p.suffixed()
	}
	p.expect("{")
	for !p.accept("}") {
		if !p.accept(";") {
			n.list = append(n.list, p.property(true))
		}
	}
	return p.done(n)
}
