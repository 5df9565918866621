package analysis

import "errors"

// A parser reads JavaScript as esbuild prints it. It trusts its input to be
// valid and only wants to understand it: it accepts much that is no JavaScript.
type parser struct {
	lex   lexer
	tok   token
	end   int // of the token before
	depth int

	async, generator bool // of the function around
}

// maxParse bounds the recursion of the parser and of all who walk its tree. It
// is above what maxDepth and maxChain let through.
const maxParse = 8000

var errUnread = errors.New("not understood") // what the parser panics with

// parse reads the body of an async function and finds the binding of every name in it. It returns the calls too. What it
// does not understand gives an error.
func parse(src string) (body *node, calls []*node, err error) {
	p := &parser{lex: lexer{src: src}, async: true}
	defer func() {
		if r := recover(); r != nil {
			if r != errUnread {
				panic(r)
			}
			body, calls, err = nil, nil, errUnread
		}
	}()
	p.next()
	body = &node{op: opBlock}
	for p.tok.kind != eof {
		body.list = append(body.list, p.statement())
	}
	body.end = len(src)
	return body, resolve(body), nil
}

func (p *parser) fail() { panic(errUnread) }

func (p *parser) next() {
	p.end = p.tok.end
	p.tok = p.lex.next(false)
	if p.tok.kind == bad {
		p.fail()
	}
}

func (p *parser) text() string { return p.lex.text(p.tok) }

func (p *parser) at(s string) bool {
	return (p.tok.kind == punct || p.tok.kind == word) && p.text() == s
}

func (p *parser) accept(s string) bool {
	if p.at(s) {
		p.next()
		return true
	}
	return false
}

func (p *parser) expect(s string) {
	if !p.accept(s) {
		p.fail()
	}
}

func (p *parser) enter() {
	if p.depth++; p.depth > maxParse {
		p.fail()
	}
}

func (p *parser) leave() { p.depth-- }

// done ends n at the token before.
func (p *parser) done(n *node) *node {
	n.end = p.end
	return n
}

// peek returns the token behind the current one.
func (p *parser) peek() token {
	l := p.lex
	return l.next(false)
}

func (p *parser) semicolon() {
	if !p.accept(";") && !p.at("}") && p.tok.kind != eof && !p.tok.newline {
		p.fail()
	}
}

func (p *parser) block() *node {
	n := &node{op: opBlock, start: p.tok.start}
	p.expect("{")
	for !p.at("}") {
		n.list = append(n.list, p.statement())
	}
	p.next()
	return p.done(n)
}

func (p *parser) statement() *node {
	p.enter()
	defer p.leave()
	n := &node{start: p.tok.start}
	if p.tok.kind == punct {
		switch p.text() {
		case "{":
			return p.block()
		case ";":
			p.next()
			n.op = opEmpty
			return p.done(n)
		}
	}
	if p.tok.kind == word && p.keyword(n) {
		return p.done(n)
	}
	if p.tok.kind == word && p.peekIs(":") {
		p.next()
		p.next()
		n.op, n.a = opLabel, p.statement()
		return p.done(n)
	}
	n.op, n.a = opExpr, p.expression(false)
	p.done(n)
	p.semicolon()
	return n
}

func (p *parser) peekIs(s string) bool { return p.lex.text(p.peek()) == s }
