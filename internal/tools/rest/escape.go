package rest

import (
	"encoding/hex"
	"strings"
)

// The signs besides letters, digits and -._~ that may stand in the literal text of a path and of a query.
const (
	pathSigns  = "/!$&'()*+,;=:@"
	querySigns = pathSigns + "?"
)

// escape escapes every sign that means something anywhere in a URL.
func escape(s string) string { return escapeBut(s, "") }

// literal escapes the text of a description. What is escaped in it stays.
func literal(s, signs string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if _, ok := escaped(s[i:]); ok {
			b.WriteString(s[i : i+3])
			i += 2
			continue
		}
		b.WriteString(escapeBut(s[i:i+1], signs))
	}
	return b.String()
}

func escapeBut(s, signs string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~", c) >= 0,
			strings.IndexByte(signs, c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', upperHex[c>>4], upperHex[c&15]})
		}
	}
	return b.String()
}

const upperHex = "0123456789ABCDEF"

// escaped decodes the escape with which a text begins.
func escaped(s string) (byte, bool) {
	if len(s) < 3 || s[0] != '%' {
		return 0, false
	}
	c, err := hex.DecodeString(s[1:3])
	if err != nil {
		return 0, false
	}
	return c[0], true
}

// unescape decodes what is escaped and keeps the rest, as careless servers do.
func unescape(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if c, ok := escaped(s[i:]); ok {
			b = append(b, c)
			i += 2
			continue
		}
		b = append(b, s[i])
	}
	return string(b)
}

// decodings is how often a path may be decoded on its way: by a proxy, by a server, by its framework.
const decodings = 5

// climbs reports whether anybody may read a segment of a path as . or .., also after decoding it more than once. Some
// servers cut a segment at a semicolon.
func climbs(s string) bool {
	for range decodings {
		for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '/' || r == '\\' }) {
			if part, _, _ = strings.Cut(part, ";"); part == "." || part == ".." {
				return true
			}
		}
		plain := unescape(s)
		if plain == s {
			return false
		}
		s = plain
	}
	return true
}
