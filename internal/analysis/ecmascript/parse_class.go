package ecmascript

import "strings"

func (p *parser) function(start int, async bool) *Node {
	n := &Node{Op: OpFunc, Start: start}
	p.next()
	generator := p.accept("*")
	if !p.at("(") {
		n.A = p.name()
	}
	p.rest(n, async, generator)
	return p.done(n)
}

// rest reads parameters and body of a function.
func (p *parser) rest(n *Node, async, generator bool) {
	n.B = p.inFunction(async, generator, func() *Node {
		n.List = p.items("(", ")")
		return p.block()
	})
}

func (p *parser) object() *Node {
	n := &Node{Op: OpObject, Start: p.tok.Start}
	p.next()
	for !p.accept("}") {
		if p.at("...") {
			s := &Node{Op: OpSpread, Start: p.tok.Start}
			p.next()
			s.A = p.assignment(false)
			n.List = append(n.List, p.done(s))
		} else {
			n.List = append(n.List, p.property(false))
		}
		if !p.at("}") {
			p.expect(",")
		}
	}
	return p.done(n)
}

// property reads one member of an object or a class.
func (p *parser) property(class bool) *Node {
	n := &Node{Op: OpProperty}
	async, generator := false, false
	for p.tok.Kind == WordToken {
		w := p.text()
		if w != "static" && w != "async" && w != "get" && w != "set" || w == "static" && !class {
			break
		}
		t := p.peek()
		next := p.lex.Text(t)
		if w == "static" && next == "{" {
			p.next()
			return p.inFunction(true, false, p.block)
		}
		if t.Kind == PunctuatorToken && next != "[" && next != "*" {
			break
		}
		async = async || w == "async"
		p.next()
	}
	if p.accept("*") {
		generator = true
	}
	n.Start = p.tok.Start
	short := p.tok.Kind == WordToken
	switch p.tok.Kind {
	case WordToken, PrivateToken, NumericToken:
		n.Name = p.text()
		if whole, big := strings.CutSuffix(n.Name, "n"); p.tok.Kind == NumericToken && big {
			n.Name = whole
		} else if p.tok.Kind == NumericToken {
			n.Name = NumberKey(n.Name)
		}
		p.next()
	case StringToken:
		p.string(n)
		n.Op = OpProperty
		p.next()
	default:
		p.expect("[")
		n.B = p.assignment(false)
		p.expect("]")
	}
	p.done(n)
	switch {
	case p.at("("):
		f := &Node{Op: OpFunc, Start: p.tok.Start}
		p.rest(f, async, generator)
		n.Flags |= FlagMethod
		n.A = p.done(f)
	case class:
		if p.accept("=") {
			n.A = p.inFunction(false, false, func() *Node { return p.assignment(false) })
		}
		p.accept(";")
	case p.accept(":"):
		n.A = p.assignment(false)
	case short:
		n.Flags |= FlagShort
		n.A = &Node{Op: OpName, Start: n.Start, End: n.End, Name: n.Name}
		if p.accept("=") {
			n.A = &Node{Op: OpAssign, Start: n.Start, Name: "=", A: n.A, B: p.assignment(false)}
			p.done(n.A)
		}
	default:
		fail()
	}
	return n
}

func (p *parser) class() *Node {
	n := &Node{Op: OpClass, Start: p.tok.Start}
	p.next()
	if p.tok.Kind == WordToken && !p.at("extends") {
		n.A = p.name()
	}
	if p.accept("extends") {
		n.B = p.suffixed()
	}
	p.expect("{")
	for !p.accept("}") {
		if !p.accept(";") {
			n.List = append(n.List, p.property(true))
		}
	}
	return p.done(n)
}
