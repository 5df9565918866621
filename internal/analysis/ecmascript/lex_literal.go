package ecmascript

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

func (l *Lexer) quoted(quote byte) Kind {
	for i := l.Pos + 1; i < len(l.Src); i++ {
		switch l.Src[i] {
		case quote:
			l.Pos = i + 1
			return StringToken
		case '\\':
			if i++; i+1 < len(l.Src) && l.Src[i] == '\r' && l.Src[i+1] == '\n' {
				i++
			}
		case '\n', '\r':
			l.Pos = i
			return InvalidToken
		}
	}
	l.Pos = len(l.Src)
	return InvalidToken
}

// template reads template text up to its end or the next substitution. It starts after the backtick or brace before
// l.pos.
func (l *Lexer) template(end, more Kind) Kind {
	for i := l.Pos; i < len(l.Src); i++ {
		switch l.Src[i] {
		case '`':
			l.Pos = i + 1
			return end
		case '\\':
			i++
		case '$':
			if i+1 < len(l.Src) && l.Src[i+1] == '{' {
				l.Pos = i + 2
				return more
			}
		}
	}
	l.Pos = len(l.Src)
	return InvalidToken
}

// ResumeTemplate reads the part of a template after a substitution. The previous token is the substitution's closing
// brace.
func (l *Lexer) ResumeTemplate() Kind { return l.template(TemplateTail, TemplateMiddle) }

func (l *Lexer) number() {
	hex := l.Src[l.Pos] == '0' && (l.at(1)|0x20 == 'x' || l.at(1)|0x20 == 'b' || l.at(1)|0x20 == 'o')
	dot := hex
	for i := l.Pos; ; i++ {
		var c byte
		if i < len(l.Src) {
			c = l.Src[i]
		}
		switch {
		case isDigit(c), c == '_':
		case c == '.' && !dot:
			dot = true
		case c == 'n' && !hex, c == 'n' && i > l.Pos+1:
			l.Pos = i + 1
			return
		case !hex && (c == '+' || c == '-') && i > l.Pos && l.Src[i-1]|0x20 == 'e':
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			dot = dot || c|0x20 == 'e'
		default:
			l.Pos = i
			return
		}
	}
}

// word skips an identifier name and reports whether there was one.
func (l *Lexer) word() bool {
	start := l.Pos
	for l.Pos < len(l.Src) {
		c := l.Src[l.Pos]
		switch {
		case isWord(c):
			l.Pos++
		case c == '\\' && l.at(1) == 'u':
			l.Pos += 2
			if l.at(0) == '{' {
				n := strings.IndexByte(l.Src[l.Pos:min(len(l.Src), l.Pos+12)], '}')
				if n < 0 {
					return l.Pos > start
				}
				l.Pos += n + 1
			}
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(l.Src[l.Pos:])
			if isSpace(r) {
				return l.Pos > start
			}
			l.Pos += n
		default:
			return l.Pos > start
		}
	}
	return l.Pos > start
}

// regexLen returns the length of the regular expression at the start of s, without its flags, or 0 if the line ends
// first.
func regexLen(s string) int {
	class := false
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i < len(s) && (s[i] == '\n' || s[i] == '\r') {
				return 0
			}
		case '[':
			class = true
		case ']':
			class = false
		case '\n', '\r':
			return 0
		case '/':
			if !class {
				return i + 1
			}
		}
	}
	return 0
}

// punctLen returns the length of the longest operator at the start of s.
func punctLen(s string) int {
	c := s[0]
	run := func(max int) int { // length of a run of c, plus an equals sign after it
		n := 1
		for n < max && n < len(s) && s[n] == c {
			n++
		}
		if n < len(s) && s[n] == '=' {
			n++
		}
		return n
	}
	switch c {
	case '{', '}', '(', ')', '[', ']', ';', ',', '~', ':', '@':
		return 1
	case '.':
		if strings.HasPrefix(s, "...") {
			return 3
		}
		return 1
	case '?':
		if len(s) > 1 && s[1] == '.' && !(len(s) > 2 && isDigit(s[2])) {
			return 2
		}
		if len(s) > 1 && s[1] == '?' {
			return run(2)
		}
		return 1
	case '+', '-':
		if len(s) > 1 && s[1] == c {
			return 2
		}
		return run(1)
	case '*', '&', '|', '<':
		return run(2)
	case '>':
		return run(3)
	case '%', '^':
		return run(1)
	case '/':
		if strings.HasPrefix(s, "/*") {
			return 0 // a comment without an end
		}
		return run(1)
	case '=':
		if len(s) > 1 && s[1] == '>' {
			return 2
		}
		return min(run(3), 3)
	case '!':
		n := 1
		for n < 3 && n < len(s) && s[n] == '=' {
			n++
		}
		return n
	}
	return 0
}

// RightAssociative reports whether an operator groups to the right: ** and the assignments.
func RightAssociative(op string) bool {
	switch op {
	case "**":
		return true
	case "==", "===", "!=", "!==", "<=", ">=":
		return false
	}
	return strings.HasSuffix(op, "=")
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || isDigit(c) || c == '_' || c == '$'
}

func isSpace(r rune) bool {
	return r == '\u2028' || r == '\u2029' || r == '\ufeff' || unicode.Is(unicode.Zs, r)
}

// ParseNumber returns the value of a number literal.
func ParseNumber(s string) (float64, bool) {
	if len(s) > 1 && s[0] == '0' && !isDigit(s[1]) && s[1] != '.' && s[1]|0x20 != 'e' {
		n, err := strconv.ParseUint(s, 0, 64)
		return float64(n), err == nil
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || math.IsInf(f, 0)
}

// NumberKey returns the property that a number literal names.
func NumberKey(s string) string {
	f, ok := ParseNumber(s)
	if !ok || math.IsInf(f, 0) {
		return s
	}
	return FormatNumber(f)
}

// FormatNumber returns a number as JSON.stringify prints it.
func FormatNumber(f float64) string {
	if f == 0 {
		return "0" // also for -0
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return "null"
	}
	b, _ := json.Marshal(f)
	return string(b)
}
