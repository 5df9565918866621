package builtin

import (
	"fmt"

	"github.com/bmatcuk/doublestar/v4"
)

// The limits of patterns. doublestar tries every way through the braces: {a,b}{c,d} has four.
const (
	patternsMax   = 100  // of one call
	patternMax    = 1000 // bytes
	patternBraces = 16
	patternWays   = 256 // ways through the braces, by an upper bound
)

// A pattern has the grammar of [doublestar.Match] over a path with slashes: ** as a whole part matches any number of
// parts, including none.
type pattern string

// pathEnd ends patterns and paths, because doublestar misses an empty alternative at the end of a text: without it
// "a{b,}" does not match "a". It is a noncharacter, which no sensible path has.
const pathEnd = "/\ufdd1"

func newPattern(s string) (pattern, error) {
	braces, ways := patternCost(s)
	switch {
	case len(s) > patternMax:
		return "", fmt.Errorf("the pattern has %d bytes, more than %d", len(s), patternMax)
	case s == "" || !doublestar.ValidatePattern(s):
		return "", fmt.Errorf("%q is no pattern: write it like **/*.{md,txt}", s)
	case braces > patternBraces || ways > patternWays:
		return "", fmt.Errorf("the braces of the pattern %q stand for too many patterns: use fewer", s)
	}
	return pattern(s + pathEnd), nil
}

func newPatterns(list []string) ([]pattern, error) {
	if len(list) > patternsMax {
		return nil, fmt.Errorf("%d patterns are more than %d", len(list), patternsMax)
	}
	patterns := make([]pattern, len(list))
	for i, s := range list {
		var err error
		if patterns[i], err = newPattern(s); err != nil {
			return nil, err
		}
	}
	return patterns, nil
}

func (p pattern) match(name string) bool { return doublestar.MatchUnvalidated(string(p), name+pathEnd) }

// patternCost counts the braces of a valid pattern, and bounds the number of ways through them from above: it
// multiplies the numbers of alternatives of all braces, also of those in others.
func patternCost(s string) (braces, ways int) {
	ways = 1
	var open []int // alternatives of the braces around
	for i := 0; i < len(s) && ways <= patternWays; i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case c == '[': // braces and commas in a class are characters
			for i++; i < len(s) && s[i] != ']'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		case c == '{':
			braces++
			open = append(open, 1)
		case c == ',' && len(open) > 0:
			open[len(open)-1]++
		case c == '}' && len(open) > 0:
			ways *= open[len(open)-1]
			open = open[:len(open)-1]
		}
	}
	return braces, ways
}
