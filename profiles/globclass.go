package profiles

import (
	"strings"
	"unicode/utf8"
)

// class reads a class of characters: [a-z], [^a] or [!a].
func (p *globParser) class() *class {
	open := p.at
	p.at++
	c := &class{}
	if p.at < len(p.src) && (p.src[p.at] == '^' || p.src[p.at] == '!') {
		c.negated = true
		p.at++
	}
	if strings.HasPrefix(p.src[p.at:], "[:") {
		p.fail(open, p.at+2-open, "named character classes are not understood", "write the characters: [a-z]")
		return nil
	}
	for {
		if p.at == len(p.src) {
			p.fail(open, 1, "[ is never closed", `close it with ], or write \[ for the character itself`)
			return nil
		}
		if p.src[p.at] == ']' {
			break
		}
		start := p.at
		low := p.classCharacter()
		high := low
		if p.at+1 < len(p.src) && p.src[p.at] == '-' && p.src[p.at+1] != ']' {
			p.at++
			high = p.classCharacter()
		}
		if high < low && p.err == nil {
			p.fail(start, p.at-start, "a range that runs backwards", "put the lower character first")
		}
		if p.err != nil {
			return nil
		}
		c.ranges = append(c.ranges, characterRange{low, high})
	}
	p.at++
	if len(c.ranges) == 0 {
		p.fail(open, p.at-open, "an empty [ ] matches nothing", `write \[ and \] for the characters themselves`)
		return nil
	}
	return c
}

func (p *globParser) classCharacter() rune {
	if p.src[p.at] == '\\' { // at the very end, the class is not closed either
		p.at++
	}
	r, size := utf8.DecodeRuneInString(p.src[p.at:])
	p.at += size
	return r
}
