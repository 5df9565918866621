package ecmascript

func (p *parser) block() *Node {
	n := &Node{Op: OpBlock, Start: p.tok.Start}
	p.expect("{")
	for !p.at("}") {
		n.List = append(n.List, p.statement())
	}
	p.next()
	return p.done(n)
}

func (p *parser) statement() *Node {
	p.enter()
	defer p.leave()
	n := &Node{Start: p.tok.Start}
	if p.tok.Kind == PunctuatorToken {
		switch p.text() {
		case "{":
			return p.block()
		case ";":
			p.next()
			n.Op = OpEmpty
			return p.done(n)
		}
	}
	if p.tok.Kind == WordToken && p.keyword(n) {
		return p.done(n)
	}
	if p.tok.Kind == WordToken && p.lex.Text(p.peek()) == ":" {
		p.next()
		p.next()
		n.Op, n.A = OpLabel, p.statement()
		return p.done(n)
	}
	n.Op, n.A = OpExpr, p.expression(false)
	p.done(n)
	p.semicolon()
	return n
}

// keyword reads a statement that begins with a keyword into n.
func (p *parser) keyword(n *Node) bool {
	switch w := p.text(); w {
	case "var", "const", "let", "using", "await":
		if !p.declares(w) {
			return false
		}
		p.declaration(n, false)
		p.semicolon()
	case "function":
		*n = *p.function(n.Start, false)
		n.Flags = FlagStmt
	case "async":
		if p.lex.Text(p.peek()) != "function" {
			return false
		}
		p.next()
		*n = *p.function(n.Start, true)
		n.Flags = FlagStmt
	case "class":
		*n = *p.class()
		n.Flags = FlagStmt
	case "if":
		n.Op = OpIf
		n.A = p.header()
		n.B = p.statement()
		if p.accept("else") {
			n.C = p.statement()
		}
	case "for":
		p.loop(n)
	case "while", "with":
		n.Op, n.A, n.Name = OpLoop, p.header(), w
		n.D = p.statement()
	case "do":
		p.next()
		n.Op, n.Name, n.D = OpLoop, w, p.statement()
		n.A = p.header()
		p.accept(";")
	case "return", "throw":
		p.next()
		n.Op = OpReturn
		if w == "throw" {
			n.Op = OpThrow
		}
		if !p.at(";") && !p.at("}") && p.tok.Kind != EOF {
			n.A = p.expression(false)
		}
		p.semicolon()
	case "break", "continue", "debugger":
		p.next()
		if p.tok.Kind == WordToken && !p.tok.Newline {
			p.next()
		}
		n.Op = opJump
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

// declares reports whether w, the current word, begins a declaration.
func (p *parser) declares(w string) bool {
	t := p.peek()
	text := p.lex.Text(t)
	switch w {
	case "var", "const":
		return true
	case "let":
		return t.Kind == WordToken && text != "in" && text != "instanceof" && text != "of" || text == "[" || text == "{"
	case "using":
		return t.Kind == WordToken && !t.Newline && text != "in" && text != "instanceof" && text != "of"
	}
	if text != "using" || t.Newline { // await using x
		return false
	}
	l := p.lex
	l.Next(false)
	t = l.Next(false)
	return t.Kind == WordToken && !t.Newline && l.Text(t) != "in" && l.Text(t) != "instanceof"
}

func (p *parser) declaration(n *Node, noIn bool) {
	n.Op, n.Name = OpVar, p.text()
	if p.accept("await") {
		n.Name = "using"
	}
	p.next()
	for {
		b := &Node{Op: opBind, Start: p.tok.Start, A: p.suffixed()}
		if p.accept("=") {
			b.B = p.assignment(noIn)
		}
		n.List = append(n.List, p.done(b))
		if !p.accept(",") {
			break
		}
	}
	p.done(n)
}

// header reads a keyword and the condition in parentheses behind it.
func (p *parser) header() *Node {
	p.next()
	p.expect("(")
	n := p.expression(false)
	p.expect(")")
	return n
}

func (p *parser) loop(n *Node) {
	p.next()
	if p.accept("await") {
		n.Flags |= FlagAwait
	}
	p.expect("(")
	n.Op = OpFor
	switch {
	case p.at(";"):
	case p.tok.Kind == WordToken && p.declares(p.text()):
		n.A = &Node{Start: p.tok.Start}
		p.declaration(n.A, true)
	default:
		n.A = p.expression(true)
	}
	if w := p.text(); w == "in" || w == "of" {
		p.next()
		n.Op, n.Name, n.B = OpForIn, w, p.expression(false)
	} else {
		p.expect(";")
		if !p.at(";") {
			n.B = p.expression(false)
		}
		p.expect(";")
		if !p.at(")") {
			n.C = p.expression(false)
		}
	}
	p.expect(")")
	n.D = p.statement()
}

func (p *parser) try(n *Node) {
	p.next()
	n.Op, n.A = OpTry, p.block()
	if p.at("catch") {
		n.B = &Node{Op: OpCatch, Start: p.tok.Start}
		p.next()
		if p.accept("(") {
			n.B.A = p.suffixed()
			p.expect(")")
		}
		n.B.B = p.block()
		p.done(n.B)
	}
	if p.accept("finally") {
		n.C = p.block()
	}
}

func (p *parser) cases(n *Node) {
	n.Op, n.A = OpSwitch, p.header()
	p.expect("{")
	for !p.accept("}") {
		c := &Node{Op: OpCase, Start: p.tok.Start}
		if !p.accept("default") {
			p.expect("case")
			c.A = p.expression(false)
		}
		p.expect(":")
		for !p.at("case") && !p.at("default") && !p.at("}") {
			c.List = append(c.List, p.statement())
		}
		n.List = append(n.List, p.done(c))
	}
}

// Parse reads the body of an async function and resolves the names in it. calls are its calls and tagged templates. It
// fails where it does not understand src.
func Parse(src string) (body *Node, calls []*Node, err error) {
	p := &parser{cursor: cursor{lex: Lexer{Src: src}}, async: true}
	defer func() {
		if r := recover(); r != nil {
			if r != errUnread {
				panic(r)
			}
			body, calls, err = nil, nil, errUnread
		}
	}()
	p.next()
	body = &Node{Op: OpBlock}
	for p.tok.Kind != EOF {
		body.List = append(body.List, p.statement())
	}
	body.End = len(src)
	return body, resolve(body), nil
}
