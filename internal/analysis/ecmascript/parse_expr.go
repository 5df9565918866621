package ecmascript

// expression reads an expression with commas. noIn is for the head of a for
// statement, where "in" is no operator.
func (p *parser) expression(noIn bool) *Node {
	n := p.assignment(noIn)
	if !p.at(",") {
		return n
	}
	s := &Node{Op: OpSequence, Start: n.Start, List: []*Node{n}}
	for p.accept(",") {
		s.List = append(s.List, p.assignment(noIn))
	}
	return p.done(s)
}

func (p *parser) assignment(noIn bool) *Node {
	p.enter()
	defer p.leave()
	if p.generator && p.at("yield") {
		return p.yield(noIn)
	}
	start := p.tok.Start
	if p.at("async") { // async x => ...
		l := p.lex
		x, arrow := l.Next(false), l.Next(false)
		if x.Kind == WordToken && l.Text(arrow) == "=>" {
			p.next()
			return p.arrow(start, []*Node{p.name()}, true, noIn)
		}
	}
	n := p.conditional(noIn)
	switch {
	case p.at("=>"):
		return p.arrow(start, []*Node{n}, false, noIn)
	case p.tok.Kind == PunctuatorToken && (p.text() == "=" || RightAssociative(p.text()) && p.text() != "**"):
		a := &Node{Op: OpAssign, Start: start, Name: p.text(), A: n}
		p.next()
		a.B = p.assignment(noIn)
		return p.done(a)
	}
	return n
}

func (p *parser) yield(noIn bool) *Node {
	n := &Node{Op: OpYield, Start: p.tok.Start}
	p.next()
	p.accept("*")
	if p.tok.Kind != EOF && !p.tok.Newline {
		switch p.text() {
		case ")", "]", "}", ",", ";", ":", "in", "of":
		default:
			n.A = p.assignment(noIn)
		}
	}
	return p.done(n)
}

// arrow reads a function from its arrow on.
func (p *parser) arrow(start int, params []*Node, async, noIn bool) *Node {
	n := &Node{Op: OpFunc, Start: start, List: params}
	p.expect("=>")
	n.B = p.inFunction(async, false, func() *Node {
		if p.at("{") {
			return p.block()
		}
		return p.assignment(noIn)
	})
	return p.done(n)
}

func (p *parser) inFunction(async, generator bool, read func() *Node) *Node {
	a, g := p.async, p.generator
	p.async, p.generator = async, generator
	n := read()
	p.async, p.generator = a, g
	return n
}

func (p *parser) conditional(noIn bool) *Node {
	n := p.binary(0, noIn)
	if !p.accept("?") {
		return n
	}
	c := &Node{Op: OpCond, Start: n.Start, A: n, B: p.assignment(false)}
	p.expect(":")
	c.C = p.assignment(noIn)
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

func (p *parser) binary(level int, noIn bool) *Node {
	p.enter()
	defer p.leave()
	n := p.unary()
	for links := 0; p.tok.Kind == PunctuatorToken || p.tok.Kind == WordToken; links++ {
		if links > maxParse {
			fail()
		}
		op := p.text()
		prec := precedence(op)
		if prec <= level || noIn && op == "in" {
			break
		}
		p.next()
		b := &Node{Op: OpBinary, Start: n.Start, Name: op, A: n}
		if prec <= 2 {
			b.Op = OpLogic
		}
		if op == "**" {
			b.B = p.binary(prec-1, noIn)
		} else {
			b.B = p.binary(prec, noIn)
		}
		n = p.done(b)
	}
	return n
}

func (p *parser) unary() *Node {
	p.enter()
	defer p.leave()
	n := &Node{Op: OpUnary, Start: p.tok.Start, Name: p.text()}
	switch {
	case p.tok.Kind != PunctuatorToken && p.tok.Kind != WordToken:
	case p.at("!"), p.at("~"), p.at("+"), p.at("-"), p.at("typeof"), p.at("void"), p.at("delete"):
		p.next()
		n.A = p.unary()
		return p.done(n)
	case p.at("++"), p.at("--"):
		p.next()
		n.Op, n.A = OpUpdate, p.unary()
		return p.done(n)
	case p.async && p.at("await"):
		p.next()
		n.Op, n.A = OpAwait, p.unary()
		return p.done(n)
	}
	x := p.suffixed()
	if (p.at("++") || p.at("--")) && !p.tok.Newline {
		p.next()
		n.Op, n.A = OpUpdate, x
		return p.done(n)
	}
	return x
}

// suffixed reads an operand and the members, calls and templates behind it.
func (p *parser) suffixed() *Node {
	p.enter()
	defer p.leave()
	async := p.at("async")
	n := p.operand()
	for range maxParse {
		s := &Node{Start: n.Start, A: n}
		switch {
		case p.tok.Kind == TemplateToken || p.tok.Kind == TemplateHead:
			s.Op, s.B = OpTag, p.template()
		case p.tok.Kind != PunctuatorToken:
			return n
		case p.at("."), p.at("?."):
			if p.accept("?.") {
				if p.at("(") || p.at("[") {
					p.suffix(s)
					break
				}
			} else {
				p.next()
			}
			if p.tok.Kind != WordToken && p.tok.Kind != PrivateToken {
				fail()
			}
			s.Op, s.Name, s.Last = OpMember, p.text(), p.tok.Start
			p.next()
		case p.at("("), p.at("["):
			p.suffix(s)
			if async && n.Op == OpName && p.at("=>") {
				return p.arrow(n.Start, s.List, true, false)
			}
		default:
			return n
		}
		n = p.done(s)
	}
	fail()
	return nil
}

// suffix reads a call's arguments or an index into n.
func (p *parser) suffix(n *Node) {
	if p.at("(") {
		n.Op, n.List = OpCall, p.items("(", ")")
		return
	}
	p.next()
	n.Op, n.Last = OpIndex, p.tok.Start
	n.B = p.expression(false)
	p.expect("]")
}
