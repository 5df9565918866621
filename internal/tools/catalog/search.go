package catalog

import (
	"container/heap"
	"math"
	"slices"
	"strings"
)

// A Match is a tool that matches a query. Scores are comparable only within one search.
type Match struct {
	Tool  *Tool
	Score float64
}

// The weight of a synonym of a query word, and of a word that begins with it.
const (
	weightAlike  = 0.55
	weightPrefix = 0.35
)

// weightWhole is the part of a score that depends on how many of the query's words a tool has: two of three are better
// than a rare one alone.
const weightWhole = 0.5

// Search returns the tools that match the query, best first, at most limit of them (all if limit is 0 or less). It
// leaves out the tools for which visible returns false; nil shows all. An empty query matches all tools, sorted by
// name. Commas, semicolons and line ends separate queries: Search ranks each by itself and takes their results in
// turn, so that none fills the whole answer. A score is that of the query that found the tool.
func (c *Catalog) Search(query string, limit int, visible func(*Tool) bool) []Match {
	query = query[:min(len(query), queryMax)]
	parts := strings.FieldsFunc(query, func(r rune) bool { return strings.ContainsRune(",;\n", r) })
	parts = slices.DeleteFunc(parts, func(part string) bool { return strings.TrimSpace(part) == "" })
	if len(parts) < 2 {
		return c.searchOne(query, limit, visible)
	}
	parts = parts[:min(len(parts), partsMax)]
	var found [][]Match
	for _, part := range parts {
		found = append(found, c.searchOne(part, limit, visible))
	}
	var out []Match
	seen := map[*Tool]bool{}
	for turn, more := 0, true; more; turn++ {
		more = false
		for _, list := range found {
			if turn >= len(list) {
				continue
			}
			more = true
			if m := list[turn]; !seen[m.Tool] && (limit <= 0 || len(out) < limit) {
				seen[m.Tool] = true
				out = append(out, m)
			}
		}
	}
	return out
}

// partsMax is how many queries Search takes from one text.
const partsMax = 12

func (c *Catalog) searchOne(query string, limit int, visible func(*Tool) bool) []Match {
	s := c.now.Load()
	if limit <= 0 {
		limit = len(s.tools)
	}
	var out []Match
	note := func(t *Tool, score float64) (more bool) {
		if s.byName[t.Name] == t && (visible == nil || visible(t)) { // otherwise it is withheld, or hidden
			out = append(out, Match{t, score})
		}
		return len(out) < limit
	}
	if strings.TrimSpace(query) == "" {
		for _, t := range s.sorted {
			if !note(t, 0) {
				break
			}
		}
		return out
	}
	r := s.rank(query)
	heap.Init(r) // a heap, because most callers want only the first few
	for r.Len() > 0 {
		id := heap.Pop(r).(int32)
		if !note(s.tools[id], r.scores[id]) {
			break
		}
	}
	return out
}

// queryMax bounds the bytes of a query that count, and askedMax the words.
const (
	queryMax = 1000
	askedMax = 40
)

// A ranking is one search in progress. It identifies tools by their index in [state.tools]. found is a heap with the
// best tool on top.
type ranking struct {
	*state
	scores  []float64
	having  []int32   // how many of the query's words a tool has
	best    []float64 // the score for one query word: of the word or a similar one, not of both
	touched []int32   // the tools in best
	found   []int32   // the tools in scores
}

func (r *ranking) Len() int      { return len(r.found) }
func (r *ranking) Swap(i, j int) { r.found[i], r.found[j] = r.found[j], r.found[i] }
func (r *ranking) Push(any)      { panic("catalog: nothing is added to a ranking that is done") }
func (r *ranking) Less(i, j int) bool {
	a, b := r.found[i], r.found[j]
	if r.scores[a] != r.scores[b] {
		return r.scores[a] > r.scores[b]
	}
	return r.tools[a].Name < r.tools[b].Name
}

func (r *ranking) Pop() any {
	last := r.found[len(r.found)-1]
	r.found = r.found[:len(r.found)-1]
	return last
}

// rank computes the score of each tool that matches.
func (s *state) rank(query string) *ranking {
	asked := asked(query)
	if len(asked) == 0 {
		asked = []string{strings.ToLower(strings.TrimSpace(query))} // only stop words: search for them as they are
	}
	asked = asked[:min(len(asked), askedMax)]
	slices.Sort(asked)
	asked = slices.Compact(asked)
	count := len(s.tools)
	r := &ranking{state: s, scores: make([]float64, count), having: make([]int32, count), best: make([]float64, count)}
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

// term adds the score of the stem w to the tools that have it.
func (r *ranking) term(w string, factor float64) {
	t := r.words.terms[w]
	if t == nil {
		return
	}
	var rarity [fields]float64
	for f, having := range t.having {
		rarity[f] = factor * math.Log(1+(float64(len(r.tools)-having)+0.5)/(float64(having)+0.5))
	}
	for _, s := range t.spans {
		first := r.first[s.index.slot]
		names, texts := s.postings[inName], s.postings[inText]
		for len(names) > 0 || len(texts) > 0 { // both are sorted by tool
			var tool int32
			v := 0.0
			if len(texts) == 0 || len(names) > 0 && names[0].tool <= texts[0].tool {
				tool = names[0].tool
			} else {
				tool = texts[0].tool
			}
			if len(names) > 0 && names[0].tool == tool {
				v += weightName * rarity[inName] * s.index.score(inName, names[0], r.average[inName])
				names = names[1:]
			}
			if len(texts) > 0 && texts[0].tool == tool {
				v += weightText * rarity[inText] * s.index.score(inText, texts[0], r.average[inText])
				texts = texts[1:]
			}
			id := first + tool
			if r.best[id] == 0 {
				r.touched = append(r.touched, id)
			}
			r.best[id] = max(r.best[id], v)
		}
	}
}

// prefix adds the score of each stem that begins with w.
func (r *ranking) prefix(w string) {
	stems := r.words.sorted
	at, _ := slices.BinarySearch(stems, w)
	for n := 0; at < len(stems) && strings.HasPrefix(stems[at], w) && n < prefixMax; at++ {
		if stems[at] != w {
			r.term(stems[at], weightPrefix)
			n++
		}
	}
}

// prefixMax bounds the stems of [ranking.prefix].
const prefixMax = 20
