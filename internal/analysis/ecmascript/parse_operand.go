package ecmascript

import "strings"

// items reads a list of expressions. Some may be spread or missing.
func (p *parser) items(open, end string) []*Node {
	p.expect(open)
	var list []*Node
	for !p.accept(end) {
		switch {
		case p.at(","):
			list = append(list, nil)
		case p.at("..."):
			n := &Node{Op: OpSpread, Start: p.tok.Start}
			p.next()
			n.A = p.assignment(false)
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

func (p *parser) name() *Node {
	if p.tok.Kind != WordToken {
		fail()
	}
	n := &Node{Op: OpName, Start: p.tok.Start, Name: p.text()}
	p.next()
	return p.done(n)
}

func (p *parser) operand() *Node {
	n := &Node{Op: opOther, Start: p.tok.Start, Name: p.text()}
	switch p.tok.Kind {
	case NumericToken:
		if !strings.HasSuffix(n.Name, "n") {
			n.Op = OpNumber
		}
	case StringToken:
		p.string(n)
	case PrivateToken:
	case TemplateToken, TemplateHead:
		return p.template()
	case WordToken:
		return p.wordOperand(n)
	case PunctuatorToken:
		switch p.text() {
		case "(":
			return p.parens()
		case "[":
			n.Op, n.List = OpArray, p.items("[", "]")
			return p.done(n)
		case "{":
			return p.object()
		case "/", "/=":
			p.lex.Pos = p.tok.Start
			p.tok = p.lex.Next(true)
			if p.tok.Kind != RegExpToken {
				fail()
			}
		default:
			fail()
		}
	default:
		fail()
	}
	p.next()
	return p.done(n)
}

func (p *parser) string(n *Node) {
	n.Op = OpString
	raw := p.text()
	var ok bool
	if n.Name, ok = cook(raw[1 : len(raw)-1]); !ok {
		n.Flags = FlagOdd
	}
}

func (p *parser) wordOperand(n *Node) *Node {
	switch n.Name {
	case "function":
		return p.function(n.Start, false)
	case "async":
		if t := p.peek(); p.lex.Text(t) == "function" && !t.Newline {
			p.next()
			return p.function(n.Start, true)
		}
	case "class":
		return p.class()
	case "new":
		return p.new()
	case "this", "super":
		p.next()
		return p.done(n)
	case "null", "true", "false":
		n.Op = OpKeyword
		p.next()
		return p.done(n)
	case "import":
		p.next()
		if p.accept(".") { // import.meta
			n.Op, n.Name = OpImport, p.text()
			p.next()
			return p.done(n)
		}
		n.Op, n.Name, n.List = OpImport, "", p.items("(", ")")
		return p.done(n)
	}
	return p.name()
}

// parens reads a parenthesized expression or the parameters of an arrow function.
func (p *parser) parens() *Node {
	start := p.tok.Start
	list := p.items("(", ")")
	if p.at("=>") {
		return p.arrow(start, list, false, false)
	}
	if len(list) == 1 && list[0] != nil {
		return list[0]
	}
	if len(list) == 0 {
		fail()
	}
	return p.done(&Node{Op: OpSequence, Start: start, List: list})
}

func (p *parser) new() *Node {
	n := &Node{Op: OpNew, Start: p.tok.Start}
	p.next()
	if p.accept(".") { // new.target
		n.Op = opOther
		p.next()
		return p.done(n)
	}
	p.enter()
	x := p.operand()
	for links := 0; ; links++ {
		if links > maxParse {
			fail()
		}
		m := &Node{Start: x.Start, A: x}
		switch {
		case p.at("."):
			p.next()
			m.Op, m.Name, m.Last = OpMember, p.text(), p.tok.Start
			p.next()
		case p.at("["):
			p.suffix(m)
		case p.tok.Kind == TemplateToken || p.tok.Kind == TemplateHead:
			m.Op, m.B = OpTag, p.template()
		default:
			p.leave()
			n.A = x
			if p.at("(") {
				n.List = p.items("(", ")")
			}
			return p.done(n)
		}
		x = p.done(m)
	}
}

func (p *parser) template() *Node {
	n := &Node{Op: OpTemplate, Start: p.tok.Start}
	for {
		t := p.tok
		cut := 1 // a backtick
		if t.Kind == TemplateHead || t.Kind == TemplateMiddle {
			cut = 2 // ${
		}
		s := &Node{Op: OpString, Start: t.Start, End: t.End}
		var ok bool
		if s.Name, ok = cook(p.lex.Src[t.Start+1 : t.End-cut]); !ok {
			s.Flags = FlagOdd
		}
		n.List = append(n.List, s)
		p.next()
		if t.Kind == TemplateToken || t.Kind == TemplateTail {
			return p.done(n)
		}
		n.List = append(n.List, p.expression(false))
		if !p.at("}") {
			fail()
		}
		p.lex.Pos = p.tok.End
		p.tok.Kind = p.lex.ResumeTemplate()
		p.tok.End = p.lex.Pos
		if p.tok.Kind == InvalidToken {
			fail()
		}
	}
}
