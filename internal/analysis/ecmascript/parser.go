package ecmascript

import "errors"

// A cursor is at one token of a text that a parser reads.
type cursor struct {
	lex Lexer // behind tok
	tok Token
	end int // of the token before
}

var errUnread = errors.New("not understood") // the parser's panic value

// fail ends the parsing; [Parse] returns the error.
func fail() { panic(errUnread) }

func (c *cursor) next() {
	c.end = c.tok.End
	c.tok = c.lex.Next(false)
	if c.tok.Kind == InvalidToken {
		fail()
	}
}

func (c *cursor) text() string { return c.lex.Text(c.tok) }

func (c *cursor) at(s string) bool {
	return (c.tok.Kind == PunctuatorToken || c.tok.Kind == WordToken) && c.text() == s
}

func (c *cursor) accept(s string) bool {
	if c.at(s) {
		c.next()
		return true
	}
	return false
}

func (c *cursor) expect(s string) {
	if !c.accept(s) {
		fail()
	}
}

// done ends n at the token before.
func (c *cursor) done(n *Node) *Node {
	n.End = c.end
	return n
}

// peek returns the token behind the current one.
func (c *cursor) peek() Token {
	l := c.lex
	return l.Next(false)
}

func (c *cursor) semicolon() {
	if !c.accept(";") && !c.at("}") && c.tok.Kind != EOF && !c.tok.Newline {
		fail()
	}
}

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

func (p *parser) enter() {
	if p.depth++; p.depth > maxParse {
		fail()
	}
}

func (p *parser) leave() { p.depth-- }
