package profiles

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxPattern      = 2000 // bytes of one pattern
	maxAlternatives = 256  // after {a,b}{c,d} is written out as ac, ad, bc, bd
)

// A globError says what is wrong with a pattern, and where in it.
type globError struct {
	at, length int // bytes of the pattern
	message    string
	hint       string
}

// nameGlob reads a pattern over tool names.
func nameGlob(pattern string) (*glob, *globError) {
	if i := strings.IndexAny(pattern, "()|"); i >= 0 && !isExtglob(pattern, i) {
		return nil, &globError{i, 1, "( ) and | mean nothing in a pattern", "alternatives are written {a,b}"}
	}
	if i := strings.IndexFunc(pattern, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }); i >= 0 {
		return nil, &globError{i, 1, "a space in a pattern over tool names", "tool names have none: remove it"}
	}
	if strings.HasPrefix(pattern, "!") {
		return nil, &globError{0, 1, "a pattern cannot be negated with !", "name what is meant, in the list that says what to do with it"}
	}
	return textGlob(pattern)
}

// textGlob reads a pattern over any text.
func textGlob(pattern string) (*glob, *globError) {
	if pattern == "" {
		return nil, &globError{0, 1, "an empty pattern matches nothing", `"*" matches everything`}
	}
	if len(pattern) > maxPattern {
		return nil, &globError{0, len(pattern), fmt.Sprintf("a pattern longer than %d bytes", maxPattern), "write several patterns"}
	}
	p := globParser{src: pattern}
	parts := p.alternative(0)
	if p.err == nil && p.at < len(p.src) { // only a stray } ends an alternative early
		p.fail(p.at, 1, "} without {", `write \} for the character itself`)
	}
	if p.err != nil {
		return nil, p.err
	}
	g := &glob{}
	for _, atoms := range parts {
		g.alternatives = append(g.alternatives, newSequence(atoms))
	}
	return g, nil
}

// A part is an atom or a star, before the cut into runs.
type part struct {
	atom
	star bool
}

func newSequence(parts []part) sequence {
	var q sequence
	var atoms []atom
	starred := false
	for _, x := range parts {
		switch {
		case x.star && starred: // ** is *
		case x.star:
			q.runs = append(q.runs, newRun(atoms))
			atoms = nil
		case x.class == nil && len(atoms) > 0 && atoms[len(atoms)-1].class == nil:
			atoms[len(atoms)-1].literal += x.literal
		case x.class != nil || x.literal != "":
			atoms = append(atoms, x.atom)
		}
		starred = x.star
	}
	q.runs = append(q.runs, newRun(atoms))
	return q
}

type globParser struct {
	src string
	at  int
	err *globError
}

func (p *globParser) fail(at, length int, message, hint string) {
	if p.err == nil {
		p.err = &globError{at, length, message, hint}
	}
	p.at = len(p.src)
}

// alternative reads up to the end of the pattern, or inside braces up to the comma or the
// closing brace. The result has one list of parts for each way through the braces in it.
func (p *globParser) alternative(depth int) [][]part {
	ways := [][]part{nil}
	add := func(x part) {
		for i := range ways {
			ways[i] = append(ways[i], x)
		}
	}
	for p.at < len(p.src) {
		c := p.src[p.at]
		switch {
		case isExtglob(p.src, p.at+1):
			p.fail(p.at, 2, "extended globs such as "+string(c)+"(a|b) are not understood", "alternatives are written {a,b}")
		case c == '*':
			add(part{star: true})
			p.at++
		case c == '?':
			add(part{atom: atom{class: &class{negated: true}}})
			p.at++
		case c == '[':
			add(part{atom: atom{class: p.class()}})
		case c == ']':
			p.fail(p.at, 1, "] without [", `write \] for the character itself`)
		case c == '{':
			ways = p.join(ways, p.braces(depth))
		case c == '}', c == ',' && depth > 0:
			return ways
		case c == '\\':
			p.at++
			if p.at == len(p.src) {
				p.fail(p.at-1, 1, `a \ at the end`, `write \\ for the character itself`)
				return nil
			}
			add(part{atom: atom{literal: p.character()}})
		default:
			add(part{atom: atom{literal: p.character()}})
		}
		if p.err != nil {
			return nil
		}
	}
	return ways
}

func (p *globParser) character() string {
	_, size := utf8.DecodeRuneInString(p.src[p.at:])
	text := p.src[p.at : p.at+size]
	p.at += size
	return text
}

func (p *globParser) braces(depth int) [][]part {
	open := p.at
	p.at++
	if close := strings.IndexByte(p.src[p.at:], '}'); close >= 0 && isNumericRange(p.src[p.at:p.at+close]) {
		p.fail(open, close+2, "ranges in braces are not understood", "write the numbers one by one: {1,2,3}")
		return nil
	}
	var ways [][]part
	commas := 0
	for {
		ways = append(ways, p.alternative(depth+1)...)
		switch {
		case p.err != nil:
			return nil
		case p.at == len(p.src):
			p.fail(open, 1, "{ is never closed", `close it with }, or write \{ for the character itself`)
			return nil
		case len(ways) > maxAlternatives:
			p.tooMany()
			return nil
		case p.src[p.at] == ',':
			p.at++
			commas++
			continue
		}
		p.at++
		if commas == 0 {
			p.fail(open, p.at-open, "only one alternative in braces", `write it without the braces, or \{ for the character itself`)
		}
		return ways
	}
}

func (p *globParser) tooMany() {
	p.fail(0, len(p.src), fmt.Sprintf("the braces stand for more than %d patterns", maxAlternatives), "write several patterns")
}

func (p *globParser) join(heads, tails [][]part) [][]part {
	if p.err != nil {
		return nil
	}
	if len(heads)*len(tails) > maxAlternatives {
		p.tooMany()
		return nil
	}
	joined := make([][]part, 0, len(heads)*len(tails))
	for _, head := range heads {
		for _, tail := range tails {
			joined = append(joined, slices.Concat(head, tail))
		}
	}
	return joined
}

// isExtglob reports whether a parenthesis at i follows one of picomatch's operators.
func isExtglob(s string, i int) bool {
	return i > 0 && i < len(s) && s[i] == '(' && strings.IndexByte("@?*+!", s[i-1]) >= 0
}

func isNumericRange(s string) bool {
	low, high, found := strings.Cut(s, "..")
	return found && low != "" && high != "" && !strings.ContainsAny(s, ",{[*?\\")
}
