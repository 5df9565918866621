package analysis

import (
	"strings"
	"unicode/utf8"
)

type kind uint8

const (
	eof      kind = iota
	word          // an identifier or a keyword; it may hold \u escapes
	private       // #name
	number        // 1, .5, 0x1f, 1_000, 1n
	str           // "a" or 'a'
	tmpl          // `a`
	tmplHead      // `a${
	tmplMid       // }a${
	tmplTail      // }a`
	regex         // /a/g
	punct         // operators and brackets, the longest that fits
	bad           // nothing JavaScript knows, or a literal that does not end
)

// A token is one lexical unit, as a range of bytes.
type token struct {
	kind       kind
	newline    bool // a line ended between the token before and this one
	start, end int
}

// A lexer splits JavaScript or TypeScript into tokens. It never fails: what
// it cannot read is one bad token that reaches to the end of the line.
//
// Whether a slash divides or begins a regular expression, and whether a brace
// resumes a template, only the caller can know: see next and resumeTemplate.
type lexer struct {
	src     string
	pos     int
	comment func(start, end int) // called for each comment, if not nil
}

func (l *lexer) text(t token) string { return l.src[t.start:t.end] }

// next returns the next token. operand says that an operand may begin here,
// so that a slash begins a regular expression.
func (l *lexer) next(operand bool) token {
	newline := l.space()
	start := l.pos
	t := token{newline: newline, start: start}
	if start >= len(l.src) {
		t.end = start
		return t
	}
	switch c := l.src[start]; {
	case c == '"' || c == '\'':
		t.kind = l.quoted(c)
	case c == '`':
		l.pos++
		t.kind = l.template(tmpl, tmplHead)
	case isDigit(c), c == '.' && isDigit(l.at(1)):
		t.kind = number
		l.number()
	case c == '#':
		l.pos++
		if t.kind = private; !l.word() {
			t.kind = bad
		}
	case c == '/' && operand:
		t.kind = bad
		if n := regexLen(l.src[start:]); n > 0 {
			l.pos += n
			l.word() // the flags
			t.kind = regex
		} else {
			l.restOfLine()
		}
	case l.word():
		t.kind = word
	default:
		if n := punctLen(l.src[start:]); n > 0 {
			l.pos += n
			t.kind = punct
		} else {
			l.restOfLine()
			t.kind = bad
		}
	}
	t.end = l.pos
	return t
}

// at returns the byte i places on, or 0 behind the end.
func (l *lexer) at(i int) byte {
	if l.pos+i < len(l.src) {
		return l.src[l.pos+i]
	}
	return 0
}

// space skips white space and comments and says whether a line ended.
func (l *lexer) space() (newline bool) {
	for l.pos < len(l.src) {
		switch c := l.src[l.pos]; {
		case c == '\n' || c == '\r':
			newline = true
			l.pos++
		case c == ' ' || c == '\t' || c == '\v' || c == '\f':
			l.pos++
		case c == '/' && l.at(1) == '/':
			l.lineComment()
		case c == '<' && strings.HasPrefix(l.src[l.pos:], "<!--"):
			l.lineComment()
		case c == '-' && (newline || l.pos == 0) && strings.HasPrefix(l.src[l.pos:], "-->"):
			l.lineComment()
		case c == '/' && l.at(1) == '*':
			start := l.pos
			n := strings.Index(l.src[l.pos+2:], "*/")
			if n < 0 {
				return newline // a slash that is no operator: a bad token
			}
			l.pos += 2 + n + 2
			if strings.ContainsAny(l.src[start:l.pos], "\n\r\u2028\u2029") {
				newline = true
			}
			if l.comment != nil {
				l.comment(start, l.pos)
			}
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(l.src[l.pos:])
			if !isSpace(r) {
				return newline
			}
			newline = newline || r == '\u2028' || r == '\u2029'
			l.pos += n
		default:
			return newline
		}
	}
	return newline
}

func (l *lexer) lineComment() {
	start := l.pos
	l.restOfLine()
	if l.comment != nil {
		l.comment(start, l.pos)
	}
}

func (l *lexer) restOfLine() {
	if n := strings.IndexAny(l.src[l.pos:], "\n\r\u2028\u2029"); n >= 0 {
		l.pos += n
	} else {
		l.pos = len(l.src)
	}
}
