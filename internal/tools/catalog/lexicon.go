package catalog

import (
	"maps"
	"slices"
)

// A lexicon maps each stem to its postings in all indexes. It never changes: a new list of one server makes a new
// lexicon, which shares with the old one the terms that the server does not have.
type lexicon struct {
	terms  map[string]*term
	sorted []string // the stems in order, for prefixes
}

// A term has the postings of one stem, and in how many names and texts of tools it occurs.
type term struct {
	spans  []span
	having [fields]int
}

// A span has the postings of a term in one index.
type span struct {
	index    *index
	postings *[fields][]posting
}

// replaced returns a lexicon with the index now instead of before; either may be nil.
func (l lexicon) replaced(before, now *index) lexicon {
	n := lexicon{terms: maps.Clone(l.terms), sorted: l.sorted}
	if n.terms == nil {
		n.terms = map[string]*term{}
	}
	stems := map[string]bool{} // of both indexes
	for _, x := range []*index{before, now} {
		if x != nil {
			for w := range x.terms {
				stems[w] = true
			}
		}
	}
	others := false // whether a stem was added or removed
	for w := range stems {
		had := n.terms[w]
		t := had.replaced(w, before, now)
		others = others || (had == nil) != (t == nil)
		if t == nil {
			delete(n.terms, w)
		} else {
			n.terms[w] = t
		}
	}
	if others {
		n.sorted = slices.Sorted(maps.Keys(n.terms))
	}
	return n
}

// replaced does the same for one stem; nil is a stem without postings.
func (t *term) replaced(w string, before, now *index) *term {
	n := &term{}
	note := func(s span) {
		n.spans = append(n.spans, s)
		for f := range n.having {
			n.having[f] += len(s.postings[f])
		}
	}
	if t != nil {
		for _, s := range t.spans {
			if s.index != before {
				note(s)
			}
		}
	}
	if now != nil && now.terms[w] != nil {
		note(span{now, now.terms[w]})
	}
	if len(n.spans) == 0 {
		return nil
	}
	return n
}
