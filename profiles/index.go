package profiles

import (
	"slices"

	"github.com/codemode-project/codemode/internal/profiles/match"
)

// An index finds the rules with a pattern that may match a name, without trying all rules.
//
// The index files each pattern under one gram: up to three neighbouring bytes of its literal text outside braces. Every
// matching name contains that gram. The index takes the pattern's rarest gram, so that a common part of a thousand
// patterns (a server's name) does not yield a thousand candidates.
type index struct {
	rules []*Rule
	grams map[match.Gram][]int32 // rule numbers, ascending
	any   []int32                // rules with a pattern without such text
}

// indexFrom is the least number of rules that justifies an index. Below it, every rule is a candidate.
const indexFrom = 24

func newIndex(rules []*Rule) *index {
	x := &index{rules: rules}
	if len(rules) < indexFrom {
		for i := range rules {
			x.any = append(x.any, int32(i))
		}
		return x
	}
	common := map[match.Gram]int{}
	for _, r := range rules {
		for _, p := range r.Globs {
			for _, g := range p.Grams() {
				common[g]++
			}
		}
	}
	x.grams = map[match.Gram][]int32{}
	for i, r := range rules {
		for _, p := range r.Globs {
			grams := p.Grams()
			if len(grams) == 0 {
				x.any = append(x.any, int32(i))
				continue
			}
			best := slices.MinFunc(grams, func(a, b match.Gram) int { return common[a] - common[b] })
			if filed := x.grams[best]; len(filed) == 0 || filed[len(filed)-1] != int32(i) {
				x.grams[best] = append(filed, int32(i))
			}
		}
	}
	x.any = slices.Compact(x.any)
	return x
}

// candidates appends to found the numbers of all rules that may match the name, in
// ascending order, each once.
func (x *index) candidates(found []int32, name string) []int32 {
	found = append(found, x.any...)
	if x.grams == nil {
		return found
	}
	sorted := true
	for i := range len(name) {
		for size := 1; size <= match.GramLength && i+size <= len(name); size++ {
			for _, n := range x.grams[match.NewGram(name[i:i+size])] {
				sorted = sorted && (len(found) == 0 || found[len(found)-1] < n)
				found = append(found, n)
			}
		}
	}
	if !sorted {
		slices.Sort(found)
		found = slices.Compact(found)
	}
	return found
}

// about appends to found the numbers of all rules that may be about a tool, in ascending order, each once.
func (x *index) about(found []int32, n *names) []int32 {
	found = x.candidates(found, n.canonical)
	if n.raw == "" {
		return found
	}
	for _, name := range []string{n.raw, n.half, n.base} {
		found = x.candidates(found, name)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// covering returns a rule that certainly matches everything that a pattern matches.
func (x *index) covering(g *match.Pattern) *Rule {
	sample := g.Sample()
	for _, i := range x.candidates(nil, sample) {
		if x.rules[i].covers(g, sample) {
			return x.rules[i]
		}
	}
	return nil
}

// covers reports whether a pattern of the rule certainly matches everything that other matches; sample is a name that
// other matches.
func (r *Rule) covers(other *match.Pattern, sample string) bool {
	return slices.ContainsFunc(r.Globs, func(g *match.Pattern) bool { return g.Covers(other, sample) })
}
