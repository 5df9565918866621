package ecmascript

import (
	"strings"
	"unicode/utf8"
)

// Next returns the next token. operand says that an operand may begin here: then a slash begins a regular expression.
func (l *Lexer) Next(operand bool) Token {
	newline := l.space()
	start := l.Pos
	t := Token{Newline: newline, Start: start}
	if start >= len(l.Src) {
		t.End = start
		return t
	}
	switch c := l.Src[start]; {
	case c == '"' || c == '\'':
		t.Kind = l.quoted(c)
	case c == '`':
		l.Pos++
		t.Kind = l.template(TemplateToken, TemplateHead)
	case isDigit(c), c == '.' && isDigit(l.at(1)):
		t.Kind = NumericToken
		l.number()
	case c == '#':
		l.Pos++
		if t.Kind = PrivateToken; !l.word() {
			t.Kind = InvalidToken
		}
	case c == '/' && operand:
		t.Kind = InvalidToken
		if n := regexLen(l.Src[start:]); n > 0 {
			l.Pos += n
			l.word() // the flags
			t.Kind = RegExpToken
		} else {
			l.restOfLine()
		}
	case l.word():
		t.Kind = WordToken
	default:
		if n := punctLen(l.Src[start:]); n > 0 {
			l.Pos += n
			t.Kind = PunctuatorToken
		} else {
			l.restOfLine()
			t.Kind = InvalidToken
		}
	}
	t.End = l.Pos
	return t
}

// space skips white space and comments and reports whether a line ended.
func (l *Lexer) space() (newline bool) {
	for l.Pos < len(l.Src) {
		switch c := l.Src[l.Pos]; {
		case c == '\n' || c == '\r':
			newline = true
			l.Pos++
		case c == ' ' || c == '\t' || c == '\v' || c == '\f':
			l.Pos++
		case c == '/' && l.at(1) == '/':
			l.lineComment()
		case c == '<' && strings.HasPrefix(l.Src[l.Pos:], "<!--"):
			l.lineComment()
		case c == '-' && (newline || l.Pos == 0) && strings.HasPrefix(l.Src[l.Pos:], "-->"):
			l.lineComment()
		case c == '/' && l.at(1) == '*':
			start := l.Pos
			n := strings.Index(l.Src[l.Pos+2:], "*/")
			if n < 0 {
				return newline // a slash that is no operator: a bad token
			}
			l.Pos += 2 + n + 2
			if strings.ContainsAny(l.Src[start:l.Pos], "\n\r\u2028\u2029") {
				newline = true
			}
			if l.Comment != nil {
				l.Comment(start, l.Pos)
			}
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(l.Src[l.Pos:])
			if !isSpace(r) {
				return newline
			}
			newline = newline || r == '\u2028' || r == '\u2029'
			l.Pos += n
		default:
			return newline
		}
	}
	return newline
}

func (l *Lexer) lineComment() {
	start := l.Pos
	l.restOfLine()
	if l.Comment != nil {
		l.Comment(start, l.Pos)
	}
}

func (l *Lexer) restOfLine() {
	if n := strings.IndexAny(l.Src[l.Pos:], "\n\r\u2028\u2029"); n >= 0 {
		l.Pos += n
	} else {
		l.Pos = len(l.Src)
	}
}
