package profiles

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// quoted reads a string. What has no escape in it is not copied.
//
// Text that decoders disagree on (half a surrogate pair, bytes that are not UTF-8) is
// refused: it would not arrive at an upstream as it was decided on.
func (p *treeParser) quoted() string {
	open := p.at
	p.at++
	plain := true // ASCII so far
	for p.at < len(p.src) {
		switch c := p.src[p.at]; {
		case c == '"':
			text := p.src[open+1 : p.at]
			if !plain && !utf8.ValidString(text) {
				p.fail(open, 1, "this text is not UTF-8", "save the file as UTF-8")
				return ""
			}
			p.at++
			return text
		case c == '\\':
			return p.escaped(open)
		case c < ' ':
			p.controlInText(open)
			return ""
		case c >= utf8.RuneSelf:
			plain = false
		}
		p.at++
	}
	p.fail(open, 1, "this text never ends", `close it with "`)
	return ""
}

func (p *treeParser) controlInText(open int) {
	if c := p.src[p.at]; c == '\n' || c == '\r' {
		p.fail(open, 1, "this text does not end on its line", `close it with ", or write \n for a new line`)
		return
	}
	p.fail(p.at, 1, "a control character inside text", `write it as an escape, for example \t or \u0000`)
}

func (p *treeParser) escaped(open int) string {
	var b strings.Builder
	b.WriteString(p.src[open+1 : p.at])
	for p.at < len(p.src) {
		switch c := p.src[p.at]; {
		case c == '"':
			p.at++
			if text := b.String(); utf8.ValidString(text) {
				return text
			}
			p.fail(open, 1, "this text is not UTF-8", "save the file as UTF-8")
			return ""
		case c < ' ':
			p.controlInText(open)
			return ""
		case c != '\\':
			b.WriteByte(c)
			p.at++
		default:
			r, length := p.escape()
			if length == 0 {
				return ""
			}
			b.WriteRune(r)
			p.at += length
		}
	}
	p.fail(open, 1, "this text never ends", `close it with "`)
	return ""
}

// escape decodes the escape at the current place; length is 0 if there is no such escape.
func (p *treeParser) escape() (r rune, length int) {
	rest := p.src[p.at:]
	if len(rest) >= 2 {
		if i := strings.IndexByte(`"\/bfnrt`, rest[1]); i >= 0 {
			return rune("\"\\/\b\f\n\r\t"[i]), 2
		}
	}
	r, ok := hexEscape(rest)
	switch {
	case !ok:
		p.fail(p.at, min(2, len(rest)), "no such escape", `a backslash is written \\; the others are \" \/ \b \f \n \r \t \u0000`)
		return 0, 0
	case !utf16.IsSurrogate(r):
		return r, 6
	}
	low, ok := hexEscape(rest[6:])
	if pair := utf16.DecodeRune(r, low); ok && pair != utf8.RuneError {
		return pair, 12
	}
	p.fail(p.at, 6, "half a surrogate pair", `write both halves, for example \ud83d\ude00, or the character itself`)
	return 0, 0
}

func hexEscape(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range []byte(s[2:6]) {
		r <<= 4
		switch {
		case c >= '0' && c <= '9':
			r |= rune(c - '0')
		case c >= 'a' && c <= 'f':
			r |= rune(c-'a') + 10
		case c >= 'A' && c <= 'F':
			r |= rune(c-'A') + 10
		default:
			return 0, false
		}
	}
	return r, true
}
