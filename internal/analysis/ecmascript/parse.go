package ecmascript

// A parser reads JavaScript as esbuild prints it. It assumes valid input and only has to understand it: it accepts much
// that is not JavaScript.
type parser struct {
	cursor
	depth int

	async, generator bool // of the function around
}

// maxParse bounds the recursion of the parser and of all code that walks its tree. It exceeds what the prescan of
// package analysis accepts.
const maxParse = 8000

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

func (p *parser) enter() {
	if p.depth++; p.depth > maxParse {
		fail()
	}
}

func (p *parser) leave() { p.depth-- }

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
