package strictjson

import (
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// quoted reads a string. What has no escape in it is not copied; for others, escaped is where their text is.
//
// Text that readers disagree on (half a surrogate pair, bytes that are not UTF-8) is refused.
func (p *parser) quoted() (escaped int32, ok bool) {
	open := p.at
	src := p.src
	ascii := true
	for i := open + 1; ; i++ {
		i = plainFrom(src, i)
		if i == len(src) {
			p.neverEnds(open)
			return 0, false
		}
		switch c := src[i]; {
		case c == '"':
			p.at = i + 1
			if !ascii && !utf8.ValidString(src[open+1:i]) {
				p.notUTF8(open)
				return 0, false
			}
			return 0, true
		case c == '\\':
			p.at = i
			return p.decode(open)
		case c < ' ':
			p.at = i
			p.controlInText(open)
			return 0, false
		default:
			ascii = false
		}
	}
}

// plainFrom is the index of the first byte from i on that is not simply part of a string: a quote, a backslash, a
// control character, or not ASCII. It looks at eight bytes at once; in each of them the top bit of mask is set if the
// byte is one of those. A byte above a hit may be set too, which does not matter, because the first one counts.
func plainFrom(s string, i int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(s); i += 8 {
		b := s[i : i+8]
		x := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		mask := (x | (x - ones*' ') | ((x ^ ones*'"') - ones) | ((x ^ ones*'\\') - ones)) & tops
		if mask != 0 {
			return i + bits.TrailingZeros64(mask)/8
		}
	}
	for i < len(s) && s[i] >= ' ' && s[i] < utf8.RuneSelf && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}

// decode reads the rest of a string from its first escape on.
func (p *parser) decode(open int) (escaped int32, ok bool) {
	from := p.builder.Len()
	p.builder.Grow(p.roughLength(open))
	p.builder.WriteString(p.src[open+1 : p.at])
	for {
		start := p.at
		p.at = plainFrom(p.src, p.at)
		for p.at < len(p.src) && p.src[p.at] >= utf8.RuneSelf {
			p.at = plainFrom(p.src, p.at+1)
		}
		p.builder.WriteString(p.src[start:p.at])
		if p.at == len(p.src) {
			p.neverEnds(open)
			return 0, false
		}
		switch c := p.src[p.at]; {
		case c == '"':
			p.at++
			return p.keepText(open, from)
		case c < ' ':
			p.controlInText(open)
			return 0, false
		}
		if !p.escape() {
			return 0, false
		}
	}
}

// roughLength is how long a string is up to the first quote without a backslash before it, which is mostly its end.
func (p *parser) roughLength(open int) int {
	for end := open; ; {
		i := strings.IndexByte(p.src[end+1:], '"')
		if end += 1 + i; i < 0 || p.src[end-1] != '\\' {
			return max(end-open, 0)
		}
	}
}

// keepText keeps the text that was decoded from a string.
func (p *parser) keepText(open, from int) (escaped int32, ok bool) {
	p.decoded = p.builder.String()
	if !utf8.ValidString(p.decoded[from:]) {
		p.notUTF8(open)
		return 0, false
	}
	if p.escaped == nil {
		p.escaped = make([]span, 1, 8)
	}
	p.escaped = append(p.escaped, span{int32(from), int32(len(p.decoded))})
	return int32(len(p.escaped) - 1), true
}

// escape decodes the escape at the current place (RFC 8259, section 7).
func (p *parser) escape() bool {
	rest := p.src[p.at:]
	c := byte(0)
	if len(rest) > 1 {
		c = rest[1]
	}
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	default:
		return p.unicodeEscape(rest)
	}
	p.builder.WriteByte(c)
	p.at += 2
	return true
}

func (p *parser) unicodeEscape(rest string) bool {
	r, ok := hexEscape(rest)
	if !ok {
		p.noSuchEscape()
		return false
	}
	p.at += 6
	if utf16.IsSurrogate(r) {
		low, _ := hexEscape(rest[6:])
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			p.at -= 6
			p.halfPair()
			return false
		}
		p.at += 6
	}
	p.builder.WriteRune(r)
	return true
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
