package catalog

import (
	"maps"
	"slices"
)

// words has the postings of all lists, for search. It never changes.
type words struct {
	tools   []*Tool // also those that clash, server by server
	average [fields]float64
	terms   map[string]*term
	sorted  []string // the stems in order, for prefixes
}

// A term has the postings of one stem, and in how many fields of tools it occurs.
type term struct {
	spans  []span
	having [fields]int
}

// A span has the postings of a term in one index, whose first tool has that position among all.
type span struct {
	first    int32
	index    *index
	postings *[fields][]posting
}

func newWords(lists []func() *index) *words {
	w := &words{terms: map[string]*term{}}
	for _, list := range lists {
		x := list()
		first := int32(len(w.tools))
		w.tools = append(w.tools, x.tools...)
		for stem, postings := range x.terms {
			t := w.terms[stem]
			if t == nil {
				t = &term{}
				w.terms[stem] = t
			}
			t.spans = append(t.spans, span{first, x, postings})
			for f := range t.having {
				t.having[f] += len(postings[f])
			}
		}
		for f := range w.average {
			w.average[f] += x.field[f].total
		}
	}
	for f := range w.average {
		w.average[f] = max(w.average[f]/max(float64(len(w.tools)), 1), 1)
	}
	w.sorted = slices.Sorted(maps.Keys(w.terms))
	return w
}
