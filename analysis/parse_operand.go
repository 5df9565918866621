package analysis

import "strings"

// items reads a list of expressions, of which some may be spread or missing.
func (p *parser) items(open, end string) []*node {
	p.expect(open)
	var list []*node
	for !p.accept(end) {
		switch {
		case p.at(","):
			list = append(list, nil)
		case p.at("..."):
			n := &node{op: opSpread, start: p.tok.start}
			p.next()
			n.a = p.assignment(false)
			list = append(list, p.done(n))
		default:
			list = append(list, p.assignment(false))
		}
		if !p.at(end) {
			p.expect(",")
		}
	}
	return list
}

func (p *parser) name() *node {
	if p.tok.kind != word {
		p.fail()
	}
	n := &node{op: opName, start: p.tok.start, name: p.text()}
	p.next()
	return p.done(n)
}

func (p *parser) operand() *node {
	n := &node{op: opOther, start: p.tok.start, name: p.text()}
	switch p.tok.kind {
	case number:
		if !strings.HasSuffix(n.name, "n") {
			n.op = opNumber
		}
	case str:
		p.string(n)
	case private:
	case tmpl, tmplHead:
		return p.template()
	case word:
		return p.wordOperand(n)
	case punct:
		switch p.text() {
		case "(":
			return p.parens()
		case "[":
			n.op, n.list = opArray, p.items("[", "]")
			return p.done(n)
		case "{":
			return p.object()
		case "/", "/=":
			p.lex.pos = p.tok.start
			p.tok = p.lex.next(true)
			if p.tok.kind != regex {
				p.fail()
			}
		default:
			p.fail()
		}
	default:
		p.fail()
	}
	p.next()
	return p.done(n)
}

func (p *parser) string(n *node) {
	n.op = opString
	raw := p.text()
	var ok bool
	if n.name, ok = cook(raw[1 : len(raw)-1]); !ok {
		n.flags = flagOdd
	}
}

func (p *parser) wordOperand(n *node) *node {
	switch n.name {
	case "function":
		return p.function(n.start, false)
	case "async":
		if t := p.peek(); p.lex.text(t) == "function" && !t.newline {
			p.next()
			return p.function(n.start, true)
		}
	case "class":
		return p.class()
	case "new":
		return p.new()
	case "this", "super":
		p.next()
		return p.done(n)
	case "null", "true", "false":
		n.op = opKeyword
		p.next()
		return p.done(n)
	case "import":
		p.next()
		if p.accept(".") { // import.meta
			n.op, n.name = opImport, p.text()
			p.next()
			return p.done(n)
		}
		n.op, n.name, n.list = opImport, "", p.items("(", ")")
		return p.done(n)
	}
	return p.name()
}

// parens reads a parenthesized expression or the parameters of an arrow function.
func (p *parser) parens() *node {
	start := p.tok.start
	list := p.items("(", ")")
	if p.at("=>") {
		return p.arrow(start, list, false, false)
	}
	if len(list) == 1 && list[0] != nil {
		return list[0]
	}
	n := &node{op: opSequence, start: start, list: list}
	if len(list) == 0 {
		p.fail()
	}
	return p.done(n)
}

func (p *parser) new() *node {
	n := &node{op: opNew, start: p.tok.start}
	p.next()
	if p.accept(".") { // new.target
		n.op = opOther
		p.next()
		return p.done(n)
	}
	p.enter()
	x := p.operand()
	for links := 0; ; links++ {
		if links > maxParse {
			p.fail()
		}
		m := &node{start: x.start, a: x}
		switch {
		case p.at("."):
			p.next()
			m.op, m.name, m.last = opMember, p.text(), p.tok.start
			p.next()
		case p.at("["):
			p.suffix(m)
		case p.tok.kind == tmpl || p.tok.kind == tmplHead:
			m.op, m.b = opTag, p.template()
		default:
			p.leave()
			n.a = x
			if p.at("(") {
				n.list = p.items("(", ")")
			}
			return p.done(n)
		}
		x = p.done(m)
	}
}

func (p *parser) template() *node {
	n := &node{op: opTemplate, start: p.tok.start}
	for {
		t := p.tok
		cut := 1 // a backtick
		if t.kind == tmplHead || t.kind == tmplMid {
			cut = 2 // ${
		}
		s := &node{op: opString, start: t.start, end: t.end}
		var ok bool
		if s.name, ok = cook(p.lex.src[t.start+1 : t.end-cut]); !ok {
			s.flags = flagOdd
		}
		n.list = append(n.list, s)
		p.next()
		if t.kind == tmpl || t.kind == tmplTail {
			return p.done(n)
		}
		n.list = append(n.list, p.expression(false))
		if !p.at("}") {
			p.fail()
		}
		p.lex.pos = p.tok.end
		p.tok.kind = p.lex.resumeTemplate()
		p.tok.end = p.lex.pos
		if p.tok.kind == bad {
			p.fail()
		}
	}
}
