package match

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/text/unicode/norm"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/visible"
)

// The bounds of a pattern. doublestar tries every way through the braces: {a,b}{c,d} has four.
const (
	maxPattern      = 2000    // bytes
	maxAlternatives = 256     // ways through the braces
	maxBraces       = 8       // braces in braces
	maxFolded       = 1 << 16 // bytes, after writing out every case of the characters in [ ]
)

// An Error says what is wrong with a pattern, and where.
type Error struct {
	At, Length int // bytes of the pattern
	Message    string
	hint       string
}

// ParseName reads a pattern over tool names, in NFC. Syntax that only other pattern languages understand is an error,
// because such a rule would not mean what its author thinks; after a backslash it is part of a name that a server
// spells so.
func ParseName(pattern string) (*Pattern, *Error) {
	if i := unquoted(pattern, func(r rune) bool { return strings.ContainsRune("()|", r) }); i >= 0 && !isExtglob(pattern, i) {
		return nil, &Error{i, 1, "( ) and | mean nothing in a pattern", "alternatives are written {a,b}"}
	}
	if i := unquoted(pattern, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }); i >= 0 {
		return nil, &Error{i, 1, "a space in a pattern over tool names",
			`names for programs have none: remove it, or write "_" in its place`}
	}
	if i := strings.IndexFunc(pattern, func(r rune) bool { return r != ' ' && !visible.Rune(r) }); i >= 0 {
		_, size := utf8.DecodeRuneInString(pattern[i:])
		return nil, &Error{i, size, fmt.Sprintf("a character that nobody sees, %+q, in a pattern over tool names",
			pattern[i:i+size]), `remove it: no name for programs has one; "_" stands in its place`}
	}
	if strings.HasPrefix(pattern, "!") {
		return nil, &Error{0, 1, "a pattern cannot be negated with !",
			"name what is meant, in the list that says what to do with it"}
	}
	g, bad := readGlob(pattern, false) // as it is written, because problems have places
	if nfc := norm.NFC.String(pattern); bad == nil && nfc != pattern {
		if g, bad = readGlob(nfc, false); bad != nil { // it has become too long
			bad.At, bad.Length = 0, len(pattern)
		}
	}
	return g, bad
}

// unquoted is the index of the first such character that does not follow a backslash, -1 if there is none.
func unquoted(s string, is func(rune) bool) int {
	quoted := false
	for i, r := range s {
		if !quoted && is(r) {
			return i
		}
		quoted = !quoted && r == '\\'
	}
	return -1
}

// ParseText reads a pattern over any text. Deny and ask rules also compare folded text.
func ParseText(pattern string) (*Pattern, *Error) { return readGlob(pattern, true) }

func readGlob(pattern string, folds bool) (*Pattern, *Error) {
	if pattern == "" {
		return nil, &Error{0, 1, "an empty pattern matches nothing", `"*" matches everything`}
	}
	if len(pattern) > maxPattern {
		return nil, &Error{0, len(pattern), fmt.Sprintf("a pattern longer than %d bytes", maxPattern),
			"write several patterns"}
	}
	p := globParser{src: pattern, folds: folds}
	p.alternatives(0)
	if p.err == nil && p.at < len(p.src) { // only a stray } ends an alternative early
		p.fail(p.at, 1, "} without {", `write \} for the character itself`)
	}
	if p.g.braces {
		p.write(textEnd)
	}
	p.g.pattern, p.g.folded = p.exact.String(), p.anyCase.String()
	if p.err == nil && (!doublestar.ValidatePattern(p.g.pattern) || !doublestar.ValidatePattern(p.g.folded)) {
		p.fail(0, len(pattern), "not a pattern", "")
	}
	if p.err == nil && len(p.g.folded) > maxFolded {
		p.fail(0, len(pattern), "too many characters in [ ]", "write several patterns, or fewer characters")
	}
	if p.err != nil {
		return nil, p.err
	}
	return &p.g, nil
}

// A globParser checks a pattern and rewrites it for doublestar, twice: literally, and for folded text.
type globParser struct {
	src     string
	at      int
	err     *Error
	folds   bool // the glob is for folded text too
	g       Pattern
	exact   strings.Builder
	anyCase strings.Builder
	special bool // the pattern so far is not only literal text
}

func (p *globParser) fail(at, length int, message, hint string) {
	if p.err == nil {
		p.err = &Error{at, length, message, hint}
	}
	p.at = len(p.src)
}

// write writes a part that is the same for folded text.
func (p *globParser) write(part string) {
	p.exact.WriteString(part)
	p.anyCase.WriteString(part)
}

var quoted = strings.NewReplacer(
	`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`, `,`, `\,`,
	"/", slash, slash, "\ufffd", textEnd, "\ufffd")

// literal reads the characters that stand for themselves.
func (p *globParser) literal(depth int) {
	var b strings.Builder
	for p.at < len(p.src) && !isExtglob(p.src, p.at+1) {
		c := p.src[p.at]
		if strings.IndexByte("*?[]{}", c) >= 0 || c == ',' && depth > 0 {
			break
		}
		if c == '\\' {
			if p.at++; p.at == len(p.src) {
				p.fail(p.at-1, 1, `a \ at the end`, `write \\ for the character itself`)
				return
			}
		}
		_, size := utf8.DecodeRuneInString(p.src[p.at:])
		b.WriteString(p.src[p.at : p.at+size])
		p.at += size
	}
	text := b.String()
	p.exact.WriteString(quoted.Replace(text))
	if p.folds {
		p.anyCase.WriteString(quoted.Replace(Fold(text)))
	}
	p.g.Words += text
	if depth == 0 {
		p.g.literals = append(p.g.literals, text)
	}
	if !p.special {
		p.g.Head = text
		p.g.Plain = p.at == len(p.src)
	}
	p.special = true
}

// alternatives reads up to the end of the pattern, or inside braces up to the comma or the closing brace. It returns
// the number of ways through the braces in it.
func (p *globParser) alternatives(depth int) int {
	ways := 1
	for p.at < len(p.src) {
		c := p.src[p.at]
		switch {
		case isExtglob(p.src, p.at+1):
			p.fail(p.at, 2, "extended globs such as "+string(c)+"(a|b) are not understood",
				"alternatives are written {a,b}")
		case c == '*':
			p.write("*")
			for p.at < len(p.src) && p.src[p.at] == '*' && !isExtglob(p.src, p.at+1) {
				p.at++
			}
		case c == '?':
			p.write("?")
			p.at++
		case c == '[':
			p.class()
		case c == ']':
			p.fail(p.at, 1, "] without [", `write \] for the character itself`)
		case c == '{':
			if ways *= p.inBraces(depth + 1); ways > maxAlternatives {
				p.fail(0, len(p.src), fmt.Sprintf("the braces stand for more than %d patterns", maxAlternatives),
					"write several patterns")
			}
		case c == '}', c == ',' && depth > 0:
			return ways
		default:
			p.literal(depth)
		}
		p.special = true
	}
	return ways
}

// inBraces reads alternatives in braces and returns the number of ways through them.
func (p *globParser) inBraces(depth int) int {
	open := p.at
	p.at++
	if depth > maxBraces {
		p.fail(open, 1, fmt.Sprintf("more than %d braces in each other", maxBraces), "write several patterns")
	}
	if end := strings.IndexByte(p.src[p.at:], '}'); end >= 0 && isNumericRange(p.src[p.at:p.at+end]) {
		p.fail(open, end+2, "ranges in braces are not understood", "write the numbers one by one: {1,2,3}")
	}
	p.write("{")
	p.g.braces, p.special = true, true
	for ways, commas := 0, 0; ; commas++ {
		ways += p.alternatives(depth)
		if p.at == len(p.src) {
			p.fail(open, 1, "{ is never closed", `close it with }, or write \{ for the character itself`)
			return ways
		}
		c := p.src[p.at]
		p.at++
		p.write(string(c))
		if c == ',' {
			continue
		}
		if commas == 0 {
			p.fail(open, p.at-open, "only one alternative in braces",
				`write it without the braces, or \{ for the character itself`)
		}
		return ways
	}
}

// isExtglob reports whether a parenthesis at i follows one of picomatch's operators.
func isExtglob(s string, i int) bool {
	return i > 0 && i < len(s) && s[i] == '(' && strings.IndexByte("@?*+!", s[i-1]) >= 0
}

func isNumericRange(s string) bool {
	low, high, found := strings.Cut(s, "..")
	return found && low != "" && high != "" && !strings.ContainsAny(s, ",{[*?\\")
}

// class reads a class of characters: [a-z], [^a] or [!a].
func (p *globParser) class() {
	open := p.at
	p.at++
	c := class{}
	if p.at < len(p.src) && (p.src[p.at] == '^' || p.src[p.at] == '!') {
		c.negated = true
		p.at++
	}
	if strings.HasPrefix(p.src[p.at:], "[:") {
		p.fail(open, p.at+2-open, "named character classes are not understood", "write the characters: [a-z]")
		return
	}
	for p.at < len(p.src) && p.src[p.at] != ']' {
		start := p.at
		low := p.classCharacter()
		high := low
		if p.at+1 < len(p.src) && p.src[p.at] == '-' && p.src[p.at+1] != ']' {
			p.at++
			high = p.classCharacter()
		}
		if high < low {
			p.fail(start, p.at-start, "a range that runs backwards", "put the lower character first")
			return
		}
		c.ranges = append(c.ranges, characters{low, high})
	}
	if p.at == len(p.src) {
		p.fail(open, 1, "[ is never closed", `close it with ], or write \[ for the character itself`)
		return
	}
	p.at++
	if len(c.ranges) == 0 {
		p.fail(open, p.at-open, "an empty [ ] matches nothing", `write \[ and \] for the characters themselves`)
		return
	}
	c.write(&p.exact)
	if p.folds {
		c.fold().write(&p.anyCase)
	}
}

func (p *globParser) classCharacter() rune {
	if p.src[p.at] == '\\' { // at the very end, the class is unclosed too
		p.at++
	}
	r, size := utf8.DecodeRuneInString(p.src[p.at:])
	p.at += size
	return r
}

// A class is a set of characters, or all others.
type class struct {
	negated bool
	ranges  []characters
}

type characters struct{ low, high rune }

func (x characters) contains(r rune) bool { return x.low <= r && r <= x.high }

func (c class) contains(r rune) bool {
	return c.negated != slices.ContainsFunc(c.ranges, func(x characters) bool { return x.contains(r) })
}

// write writes the class for doublestar, which sees slash for "/".
func (c class) write(b *strings.Builder) {
	if len(c.ranges) == 0 { // folded, and it contains every character
		b.WriteByte('?')
		return
	}
	b.WriteByte('[')
	if c.negated {
		b.WriteByte('!')
	}
	for _, x := range c.ranges {
		if x.contains('/') {
			b.WriteString(slash)
		}
		b.WriteString(`\` + string(x.low))
		if x.low < x.high {
			b.WriteString(`-\` + string(x.high))
		}
	}
	b.WriteByte(']')
}

// fold adds to the class the other cases of its characters.
func (c class) fold() class {
	f := class{c.negated, slices.Clone(c.ranges)}
	for _, table := range unicode.CaseRanges {
		for r := rune(table.Lo); r <= rune(table.Hi); r++ {
			if c.contains(r) || !c.containsOtherCase(r) {
				continue
			}
			if c.negated {
				f.ranges = withoutRune(f.ranges, r)
			} else {
				f.ranges = append(f.ranges, characters{r, r})
			}
		}
	}
	return f
}

func (c class) containsOtherCase(r rune) bool {
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		if c.contains(other) {
			return true
		}
	}
	return false
}

// withoutRune returns the ranges without one character.
func withoutRune(ranges []characters, r rune) []characters {
	var left []characters
	for _, x := range ranges {
		if !x.contains(r) {
			left = append(left, x)
			continue
		}
		if x.low < r {
			left = append(left, characters{x.low, r - 1})
		}
		if r < x.high {
			left = append(left, characters{r + 1, x.high})
		}
	}
	return left
}

// ReadPattern reads a pattern and reports the position of an error inside it.
func ReadPattern(r *settings.Reader, n strictjson.Value, parse func(string) (*Pattern, *Error)) *Pattern {
	g, bad := parse(n.Text())
	if bad == nil {
		return g
	}
	at := r.Span(n)
	if at.End-at.Start == len(n.Text())+2 { // no escapes: a byte of the pattern is a byte of the file
		at.Start += 1 + bad.At
		at.End = at.Start + bad.Length
	}
	r.Report(at.Start, at.End, bad.hint, "%s", bad.Message)
	return nil
}

// ReadKey reads a pattern over names of tools as the value of a key.
func (p *Pattern) ReadKey(r *settings.Reader, n strictjson.Value, _ string, _ *settings.Spec) {
	if g := ReadPattern(r, n, ParseName); g != nil {
		*p = *g
	}
}
