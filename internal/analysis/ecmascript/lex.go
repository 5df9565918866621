package ecmascript

import (
	"strings"
	"unicode/utf8"
)

// A Kind says what a token is.
type Kind uint8

const (
	EOF             Kind = iota
	WordToken            // an identifier or a keyword; it may hold \u escapes
	PrivateToken         // #name
	NumericToken         // 1, .5, 0x1f, 1_000, 1n
	StringToken          // "a" or 'a'
	TemplateToken        // `a`
	TemplateHead         // `a${
	TemplateMiddle       // }a${
	TemplateTail         // }a`
	RegExpToken          // /a/g
	PunctuatorToken      // operators and brackets, the longest match
	InvalidToken         // not JavaScript, or a literal without an end
)

// A Token is one lexical unit, as a range of bytes.
type Token struct {
	Kind       Kind
	Newline    bool // a line ended between the token before and this one
	Start, End int
}

// A Lexer splits JavaScript or TypeScript into tokens. It never fails: text that it cannot read is one [InvalidToken]
// up to the end of the line.
//
// Only the caller knows whether a slash divides or begins a regular expression, and whether a brace resumes a template:
// see [Lexer.Next] and [Lexer.ResumeTemplate].
type Lexer struct {
	Src     string
	Pos     int
	Comment func(start, end int) // called for each comment, if not nil
}

// Text returns the text of a token.
func (l *Lexer) Text(t Token) string { return l.Src[t.Start:t.End] }

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

// at returns the byte i places on, or 0 behind the end.
func (l *Lexer) at(i int) byte {
	if l.Pos+i < len(l.Src) {
		return l.Src[l.Pos+i]
	}
	return 0
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
