package analysis

// expression reads an expression with commas. noIn is for the head of a for
// statement, where "in" is no operator.
func (p *parser) expression(noIn bool) *node {
	n := p.assignment(noIn)
	if !p.at(",") {
		return n
	}
	s := &node{op: opSequence, start: n.start, list: []*node{n}}
	for p.accept(",") {
		s.list = append(s.list, p.assignment(noIn))
	}
	return p.done(s)
}

func (p *parser) assignment(noIn bool) *node {
	p.enter()
	defer p.leave()
	if p.generator && p.at("yield") {
		return p.yield(noIn)
	}
	start := p.tok.start
	if p.at("async") { // async x => ...
		l := p.lex
		x, arrow := l.next(false), l.next(false)
		if x.kind == word && l.text(arrow) == "=>" {
			p.next()
			return p.arrow(start, []*node{p.name()}, true, noIn)
		}
	}
	n := p.conditional(noIn)
	switch {
	case p.at("=>"):
		return p.arrow(start, []*node{n}, false, noIn)
	case p.tok.kind == punct && (p.text() == "=" || assigns(p.text()) && p.text() != "**"):
		a := &node{op: opAssign, start: start, name: p.text(), a: n}
		p.next()
		a.b = p.assignment(noIn)
		return p.done(a)
	}
	return n
}

func (p *parser) yield(noIn bool) *node {
	n := &node{op: opYield, start: p.tok.start}
	p.next()
	p.accept("*")
	if p.tok.kind != eof && !p.tok.newline {
		switch p.text() {
		case ")", "]", "}", ",", ";", ":", "in", "of":
		default:
			n.a = p.assignment(noIn)
		}
	}
	return p.done(n)
}

// arrow reads a function from its arrow on.
func (p *parser) arrow(start int, params []*node, async, noIn bool) *node {
	n := &node{op: opFunc, flags: flagArrow, start: start, list: params}
	p.expect("=>")
	n.b = p.inFunction(async, false, func() *node {
		if p.at("{") {
			return p.block()
		}
		return p.assignment(noIn)
	})
	return p.done(n)
}

func (p *parser) inFunction(async, generator bool, read func() *node) *node {
	a, g := p.async, p.generator
	p.async, p.generator = async, generator
	n := read()
	p.async, p.generator = a, g
	return n
}

func (p *parser) conditional(noIn bool) *node {
	n := p.binary(0, noIn)
	if !p.accept("?") {
		return n
	}
	c := &node{op: opCond, start: n.start, a: n, b: p.assignment(false)}
	p.expect(":")
	c.c = p.assignment(noIn)
	return p.done(c)
}

func precedence(op string) int {
	switch op {
	case "??", "||":
		return 1
	case "&&":
		return 2
	case "|":
		return 3
	case "^":
		return 4
	case "&":
		return 5
	case "==", "!=", "===", "!==":
		return 6
	case "<", ">", "<=", ">=", "instanceof", "in":
		return 7
	case "<<", ">>", ">>>":
		return 8
	case "+", "-":
		return 9
	case "*", "/", "%":
		return 10
	case "**":
		return 11
	}
	return 0
}

func (p *parser) binary(level int, noIn bool) *node {
	p.enter()
	defer p.leave()
	n := p.unary()
	for links := 0; p.tok.kind == punct || p.tok.kind == word; links++ {
		if links > maxParse {
			p.fail()
		}
		op := p.text()
		prec := precedence(op)
		if prec <= level || noIn && op == "in" {
			break
		}
		p.next()
		b := &node{op: opBinary, start: n.start, name: op, a: n}
		if prec <= 2 {
			b.op = opLogic
		}
		if op == "**" {
			b.b = p.binary(prec-1, noIn)
		} else {
			b.b = p.binary(prec, noIn)
		}
		n = p.done(b)
	}
	return n
}

func (p *parser) unary() *node {
	p.enter()
	defer p.leave()
	n := &node{op: opUnary, start: p.tok.start, name: p.text()}
	switch {
	case p.tok.kind != punct && p.tok.kind != word:
	case p.at("!"), p.at("~"), p.at("+"), p.at("-"), p.at("typeof"), p.at("void"), p.at("delete"):
		p.next()
		n.a = p.unary()
		return p.done(n)
	case p.at("++"), p.at("--"):
		p.next()
		n.op, n.a = opUpdate, p.unary()
		return p.done(n)
	case p.async && p.at("await"):
		p.next()
		n.op, n.a = opAwait, p.unary()
		return p.done(n)
	}
	x := p.suffixed()
	if (p.at("++") || p.at("--")) && !p.tok.newline {
		p.next()
		n.op, n.a = opUpdate, x
		return p.done(n)
	}
	return x
}

// suffixed reads an operand and the members, calls and templates behind it.
func (p *parser) suffixed() *node {
	p.enter()
	defer p.leave()
	async := p.at("async")
	n := p.operand()
	for range maxParse {
		s := &node{start: n.start, a: n}
		switch {
		case p.tok.kind == tmpl || p.tok.kind == tmplHead:
			s.op, s.b = opTag, p.template()
		case p.tok.kind != punct:
			return n
		case p.at("."), p.at("?."):
			if p.accept("?.") {
				s.flags = flagOptional
				if p.at("(") || p.at("[") {
					p.suffix(s)
					break
				}
			} else {
				p.next()
			}
			if p.tok.kind != word && p.tok.kind != private {
				p.fail()
			}
			s.op, s.name, s.last = opMember, p.text(), p.tok.start
			p.next()
		case p.at("("), p.at("["):
			p.suffix(s)
			if async && n.op == opName && p.at("=>") {
				return p.arrow(n.start, s.list, true, false)
			}
		default:
			return n
		}
		n = p.done(s)
	}
	p.fail()
	return nil
}

// suffix reads a call's arguments or an index into n.
func (p *parser) suffix(n *node) {
	if p.at("(") {
		n.op, n.list = opCall, p.items("(", ")")
		return
	}
	p.next()
	n.op, n.last = opIndex, p.tok.start
	n.b = p.expression(false)
	p.expect("]")
}
