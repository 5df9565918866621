package jsonschema

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// The bounds of regular expressions, which untrusted servers write. The cost of a match is the length of the text
// times the number of instructions, and forty letters such as (a{1000}){1,} can be thousands of instructions.
const (
	patternBytes  = 4 << 10 // of one, as it is written
	patternSize   = 10_000  // instructions of one
	patternsBytes = 64 << 10
	patternsSize  = 50_000  // of all in one schema
	patternsTotal = 500_000 // of all in the schemas of one server
)

// NewRoom is the budget of pattern instructions for the schemas of one server, for [Compile].
func NewRoom() *int {
	room := patternsTotal
	return &room
}

// A pattern is a regular expression of a schema.
type pattern struct {
	re   *regexp.Regexp
	size int // instructions
}

// unicodeEscape is how the regular expressions of schemas write a character by
// its number; those of Go write it differently.
var unicodeEscape = regexp.MustCompile(`\\u([0-9A-Fa-f]{4})`)

// newPattern compiles an expression of at most most instructions. The error is a sentence for a person.
func newPattern(p string, most int) (*pattern, error) {
	if len(p) > patternBytes {
		return nil, fmt.Errorf("pattern %q is too long to be used", cut(p, 60))
	}
	p = unicodeEscape.ReplaceAllString(p, `\x{$1}`)
	tree, err := syntax.Parse(p, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("pattern %q is not in the syntax of RE2", cut(p, 60))
	}
	size := instructions(tree, most)
	if size > most {
		return nil, fmt.Errorf("pattern %q is too large to be used", cut(p, 60))
	}
	re, err := regexp.Compile(p)
	if err != nil {
		return nil, fmt.Errorf("pattern %q is not in the syntax of RE2", cut(p, 60))
	}
	return &pattern{re, size}, nil
}

// instructions estimates the number of instructions of an expression. A repeated part counts as often as it is
// repeated. The result is most+1 for anything larger than most.
func instructions(re *syntax.Regexp, most int) int {
	n := 2
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		if n += instructions(sub, most); n > most {
			return most + 1
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, most+1)
}

// cost is the number of steps to search for the pattern in a text of n bytes.
func (p *pattern) cost(n int) int { return 10 + (n+1)*(p.size+2)/2 }
