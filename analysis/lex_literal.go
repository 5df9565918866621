package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

func (l *lexer) quoted(quote byte) kind {
	for i := l.pos + 1; i < len(l.src); i++ {
		switch l.src[i] {
		case quote:
			l.pos = i + 1
			return str
		case '\\':
			if i++; i+1 < len(l.src) && l.src[i] == '\r' && l.src[i+1] == '\n' {
				i++
			}
		case '\n', '\r':
			l.pos = i
			return bad
		}
	}
	l.pos = len(l.src)
	return bad
}

// template reads template text up to its end or to the next substitution,
// from behind the backtick or the brace that l.pos has passed.
func (l *lexer) template(end, more kind) kind {
	for i := l.pos; i < len(l.src); i++ {
		switch l.src[i] {
		case '`':
			l.pos = i + 1
			return end
		case '\\':
			i++
		case '$':
			if i+1 < len(l.src) && l.src[i+1] == '{' {
				l.pos = i + 2
				return more
			}
		}
	}
	l.pos = len(l.src)
	return bad
}

// resumeTemplate reads the piece of a template behind a substitution, whose brace l.pos has passed.
func (l *lexer) resumeTemplate() kind { return l.template(tmplTail, tmplMid) }

func (l *lexer) number() {
	hex := l.src[l.pos] == '0' && (l.at(1)|0x20 == 'x' || l.at(1)|0x20 == 'b' || l.at(1)|0x20 == 'o')
	dot := hex
	for i := l.pos; ; i++ {
		var c byte
		if i < len(l.src) {
			c = l.src[i]
		}
		switch {
		case isDigit(c), c == '_':
		case c == '.' && !dot:
			dot = true
		case c == 'n' && !hex, c == 'n' && i > l.pos+1:
			l.pos = i + 1
			return
		case !hex && (c == '+' || c == '-') && i > l.pos && l.src[i-1]|0x20 == 'e':
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			dot = dot || c|0x20 == 'e'
		default:
			l.pos = i
			return
		}
	}
}

// word passes an identifier name and says whether there was one.
func (l *lexer) word() bool {
	start := l.pos
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		switch {
		case isWord(c):
			l.pos++
		case c == '\\' && l.at(1) == 'u':
			l.pos += 2
			if l.at(0) == '{' {
				n := strings.IndexByte(l.src[l.pos:min(len(l.src), l.pos+12)], '}')
				if n < 0 {
					return l.pos > start
				}
				l.pos += n + 1
			}
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(l.src[l.pos:])
			if isSpace(r) {
				return l.pos > start
			}
			l.pos += n
		default:
			return l.pos > start
		}
	}
	return l.pos > start
}

// regexLen returns the length of the regular expression that s begins with,
// without its flags, or 0 if the line ends before it does.
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

// punctLen returns the length of the longest operator that s begins with.
func punctLen(s string) int {
	c := s[0]
	run := func(max int) int { // how often c is repeated, and an equals sign behind
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

// assigns says whether an operator groups to the right.
func assigns(op string) bool {
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
