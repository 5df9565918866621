package catalog

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
)

// A Match is a tool that fits a query. Scores of one search can be compared
// with each other, not with those of another search.
type Match struct {
	Tool  *Tool
	Score float64
}

// A tool is two texts: its name, which says most, and everything else. How rare
// a word is counts in each by itself, so that a word that stands in every
// description still tells two names apart.
const (
	inName = iota
	inText
	fields
)

// weights of the fields, and of the words in a tool's text by where they stand.
const (
	weightName      = 1.0
	weightText      = 1.0
	weightTitle     = 2.0
	weightServer    = 2.0
	weightDescribed = 1.0 // in the first sentence of the description
	weightRest      = 0.4 // in what follows it
	weightParameter = 0.6
)

// The usual constants of BM25: how soon a repeated word stops counting, and
// how much a long text counts against its words.
const (
	saturation = 1.2
	lengthBias = 0.5
)

// What a word counts that is not the one asked for: one of the same meaning, and
// one that merely starts alike.
const (
	weightAlike  = 0.55
	weightPrefix = 0.35
)

// weightWhole is how much of a score depends on how many of the asked words a
// tool has at all: two of three are better than a rare one alone.
const weightWhole = 0.5

// An index holds the words of one server's tools. It never changes, so that a
// server's new list costs nothing to the others.
type index struct {
	tools  []*Tool
	sorted []string // the stems of both fields in order, for prefixes
	field  [fields]struct {
		length []float64            // weighted words of each tool
		total  float64              // sum of length
		terms  map[string][]posting // stem to the tools that have it
	}
}

type posting struct {
	tool   int32
	weight float32
}

func newIndex(server string, tools []*Tool) *index {
	x := &index{tools: tools}
	for f := range x.field {
		x.field[f].length = make([]float64, len(tools))
		x.field[f].terms = map[string][]posting{}
	}
	stems := map[string]bool{}
	for i, t := range tools {
		var weights [fields]map[string]float64
		for f := range weights {
			weights[f] = map[string]float64{}
		}
		note := func(field int, text string, weight float64) {
			for _, w := range words(text) {
				weights[field][w] += weight
				stems[w] = true
			}
		}
		note(inName, t.Raw, 1)
		note(inText, t.Title, weightTitle)
		note(inText, server, weightServer)
		first, rest := firstSentence(t.Description)
		note(inText, first, weightDescribed)
		note(inText, rest, weightRest)
		parameters(t.Input, func(name, description string) {
			note(inText, name, weightParameter)
			note(inText, description, weightParameter/2)
		})
		for f := range weights {
			field := &x.field[f]
			for w, weight := range weights[f] {
				field.terms[w] = append(field.terms[w], posting{int32(i), float32(weight)})
				field.length[i] += weight
			}
			field.total += field.length[i]
		}
	}
	x.sorted = slices.Sorted(maps.Keys(stems))
	return x
}

func firstSentence(s string) (first, rest string) {
	for i := 0; i < len(s); i++ {
		if s[i] == '\n' || s[i] == '.' && (i+1 == len(s) || s[i+1] == ' ' || s[i+1] == '\n') {
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// Search returns the tools that fit the query, best first, at most limit of
// them (all if limit is 0 or less). Tools for which visible returns false are
// left out as if they did not exist; nil shows all. An empty query matches
// every tool, in order of names.
func (c *Catalog) Search(query string, limit int, visible func(*Tool) bool) []Match {
	s := c.now.Load()
	var out []Match
	note := func(t *Tool, score float64) {
		if s.byName[t.Name] == t && (visible == nil || visible(t)) { // else it is withheld, or not to be seen
			out = append(out, Match{t, score})
		}
	}
	if strings.TrimSpace(query) == "" {
		for _, t := range s.sorted {
			note(t, 0)
		}
	} else {
		if len(query) > queryMax {
			query = query[:queryMax]
		}
		r := s.rank(query)
		for _, id := range r.found {
			note(r.tools[id], r.scores[id])
		}
		slices.SortFunc(out, func(a, b Match) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Tool.Name, b.Tool.Name))
		})
	}
	if limit > 0 && len(out) > limit {
		out = out[:limit]
	}
	return out
}

// queryMax is how many bytes of a query count.
const queryMax = 1000

// A ranking is one search under way. Tools have numbers: those of the first
// index, then those of the second, and so on.
type ranking struct {
	*state
	tools   []*Tool
	average [fields]float64 // length of a field
	scores  []float64
	having  []int     // how many of the asked words a tool has
	best    []float64 // of one asked word: the word itself or one like it, not both
	touched []int     // the tools in best
	found   []int     // the tools in scores
}

// rank finds out how well each tool fits.
func (s *state) rank(query string) *ranking {
	asked := words(query)
	if len(asked) == 0 {
		asked = []string{strings.ToLower(strings.TrimSpace(query))} // only small words: look for them as they are
	}
	slices.Sort(asked)
	asked = slices.Compact(asked)
	r := &ranking{state: s}
	for _, x := range s.indexes {
		r.tools = append(r.tools, x.tools...)
		for f := range x.field {
			r.average[f] += x.field[f].total
		}
	}
	count := len(r.tools)
	for f := range r.average {
		r.average[f] = max(r.average[f]/max(float64(count), 1), 1)
	}
	r.scores, r.having, r.best = make([]float64, count), make([]int, count), make([]float64, count)
	for _, w := range asked {
		r.term(w, 1)
		for _, other := range alike[w] {
			r.term(other, weightAlike)
		}
		if len(w) >= 3 {
			r.prefix(w)
		}
		for _, id := range r.touched {
			if r.having[id] == 0 {
				r.found = append(r.found, id)
			}
			r.having[id]++
			r.scores[id] += r.best[id]
			r.best[id] = 0
		}
		r.touched = r.touched[:0]
	}
	for _, id := range r.found {
		r.scores[id] *= 1 - weightWhole + weightWhole*float64(r.having[id])/float64(len(asked))
	}
	return r
}

// term notes what the stem w is worth for the tools that have it.
func (r *ranking) term(w string, factor float64) {
	var rarity [fields]float64
	for f := range rarity {
		having := 0
		for _, x := range r.indexes {
			having += len(x.field[f].terms[w])
		}
		rarity[f] = math.Log(1 + (float64(len(r.tools)-having)+0.5)/(float64(having)+0.5))
	}
	first := 0
	for _, x := range r.indexes {
		names, texts := x.field[inName].terms[w], x.field[inText].terms[w]
		for len(names) > 0 || len(texts) > 0 { // both are in order of tools
			var t int32
			v := 0.0
			if len(texts) == 0 || len(names) > 0 && names[0].tool <= texts[0].tool {
				t = names[0].tool
			} else {
				t = texts[0].tool
			}
			if len(names) > 0 && names[0].tool == t {
				v += weightName * rarity[inName] * x.worth(inName, names[0], r.average[inName])
				names = names[1:]
			}
			if len(texts) > 0 && texts[0].tool == t {
				v += weightText * rarity[inText] * x.worth(inText, texts[0], r.average[inText])
				texts = texts[1:]
			}
			id := first + int(t)
			if r.best[id] == 0 {
				r.touched = append(r.touched, id)
			}
			r.best[id] = max(r.best[id], factor*v)
		}
		first += len(x.tools)
	}
}

// prefix does what term does for every stem that starts with w.
func (r *ranking) prefix(w string) {
	longer := map[string]bool{}
	for _, x := range r.indexes {
		at, _ := slices.BinarySearch(x.sorted, w)
		for ; at < len(x.sorted) && strings.HasPrefix(x.sorted[at], w) && len(longer) < prefixMax; at++ {
			if x.sorted[at] != w {
				longer[x.sorted[at]] = true
			}
		}
	}
	for other := range longer {
		r.term(other, weightPrefix)
	}
}

// prefixMax is how many words that start like the one asked for are looked at.
const prefixMax = 20

// worth is how much a posting says about its tool, from 0 to saturation + 1.
func (x *index) worth(f int, p posting, average float64) float64 {
	w := float64(p.weight)
	return w * (saturation + 1) / (w + saturation*(1-lengthBias+lengthBias*x.field[f].length[p.tool]/average))
}
