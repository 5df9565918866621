package analysis

// keyword reads a statement that begins with a keyword into n.
func (p *parser) keyword(n *node) bool {
	switch w := p.text(); w {
	case "var", "const", "let", "using", "await":
		if !p.declares(w) {
			return false
		}
		p.declaration(n, false)
		p.semicolon()
	case "function":
		*n = *p.function(n.start, false)
		n.flags = flagStmt
	case "async":
		if !p.peekIs("function") {
			return false
		}
		p.next()
		*n = *p.function(n.start, true)
		n.flags = flagStmt
	case "class":
		*n = *p.class()
		n.flags = flagStmt
	case "if":
		n.op = opIf
		n.a = p.header()
		n.b = p.statement()
		if p.accept("else") {
			n.c = p.statement()
		}
	case "for":
		p.loop(n)
	case "while", "with":
		n.op, n.a, n.name = opLoop, p.header(), w
		n.d = p.statement()
	case "do":
		p.next()
		n.op, n.name, n.d = opLoop, w, p.statement()
		n.a = p.header()
		p.accept(";")
	case "return", "throw":
		p.next()
		n.op = opReturn
		if w == "throw" {
			n.op = opThrow
		}
		if !p.at(";") && !p.at("}") && p.tok.kind != eof {
			n.a = p.expression(false)
		}
		p.semicolon()
	case "break", "continue", "debugger":
		p.next()
		if p.tok.kind == word && !p.tok.newline {
			p.next()
		}
		n.op = opJump
		p.semicolon()
	case "try":
		p.try(n)
	case "switch":
		p.cases(n)
	default:
		return false
	}
	return true
}

// declares says whether w, the current word, begins a declaration.
func (p *parser) declares(w string) bool {
	t := p.peek()
	text := p.lex.text(t)
	switch w {
	case "var", "const":
		return true
	case "let":
		return t.kind == word && text != "in" && text != "instanceof" && text != "of" || text == "[" || text == "{"
	case "using":
		return t.kind == word && !t.newline && text != "in" && text != "instanceof" && text != "of"
	}
	if text != "using" || t.newline { // await using x
		return false
	}
	l := p.lex
	l.next(false)
	t = l.next(false)
	return t.kind == word && !t.newline && l.text(t) != "in" && l.text(t) != "instanceof"
}

func (p *parser) declaration(n *node, noIn bool) {
	n.op, n.name = opVar, p.text()
	if p.accept("await") {
		n.name = "using"
	}
	p.next()
	for {
		b := &node{op: opBind, start: p.tok.start, a: p.suffixed()}
		if p.accept("=") {
			b.b = p.assignment(noIn)
		}
		n.list = append(n.list, p.done(b))
		if !p.accept(",") {
			break
		}
	}
	p.done(n)
}

// header reads a keyword and the condition in parentheses behind it.
func (p *parser) header() *node {
	p.next()
	p.expect("(")
	n := p.expression(false)
	p.expect(")")
	return n
}

func (p *parser) loop(n *node) {
	p.next()
	if p.accept("await") {
		n.flags |= flagAwait
	}
	p.expect("(")
	n.op = opFor
	switch {
	case p.at(";"):
	case p.tok.kind == word && p.declares(p.text()):
		n.a = &node{start: p.tok.start}
		p.declaration(n.a, true)
	default:
		n.a = p.expression(true)
	}
	if w := p.text(); w == "in" || w == "of" {
		p.next()
		n.op, n.name, n.b = opForIn, w, p.expression(false)
	} else {
		p.expect(";")
		if !p.at(";") {
			n.b = p.expression(false)
		}
		p.expect(";")
		if !p.at(")") {
			n.c = p.expression(false)
		}
	}
	p.expect(")")
	n.d = p.statement()
}

func (p *parser) try(n *node) {
	p.next()
	n.op, n.a = opTry, p.block()
	if p.at("catch") {
		n.b = &node{op: opCatch, start: p.tok.start}
		p.next()
		if p.accept("(") {
			n.b.a = p.suffixed()
			p.expect(")")
		}
		n.b.b = p.block()
		p.done(n.b)
	}
	if p.accept("finally") {
		n.c = p.block()
	}
}

func (p *parser) cases(n *node) {
	n.op, n.a = opSwitch, p.header()
	p.expect("{")
	for !p.accept("}") {
		c := &node{op: opCase, start: p.tok.start}
		if !p.accept("default") {
			p.expect("case")
			c.a = p.expression(false)
		}
		p.expect(":")
		for !p.at("case") && !p.at("default") && !p.at("}") {
			c.list = append(c.list, p.statement())
		}
		n.list = append(n.list, p.done(c))
	}
}
