package catalog

import (
	"maps"
	"slices"
)

// A lexicon is where every word of every index stands. It never changes either:
// another list of one server makes another lexicon, which shares with the old
// one all that the server does not touch.
type lexicon struct {
	terms  map[string]*term
	sorted []string // the stems in order, for prefixes
}

// A term is one stem: where it stands, and in how many tools' names and texts.
type term struct {
	spans  []span
	having [fields]int
}

// A span is what one index has of a term.
type span struct {
	index    *index
	postings *[fields][]posting
}

// replaced returns the lexicon with the index now in the place of before; either may be nil.
func (l lexicon) replaced(before, now *index) lexicon {
	n := lexicon{terms: maps.Clone(l.terms), sorted: l.sorted}
	if n.terms == nil {
		n.terms = map[string]*term{}
	}
	stems := map[string]bool{} // those of either
	for _, x := range []*index{before, now} {
		if x != nil {
			for w := range x.terms {
				stems[w] = true
			}
		}
	}
	others := false // whether there are other stems now
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

// replaced does the same for one stem; nil is one that stands nowhere.
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
