package catalog

import (
	"cmp"
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
	weightAlike  = 0.45
	weightPrefix = 0.2
)

// weightWhole is the part of a score that depends on how many of the query's words a tool has: two of three are better
// than a rare one alone.
const weightWhole = 0.9

// Search returns the tools that match the query, best first, at most limit of them (all if limit is 0 or less). It
// leaves out the tools for which visible returns false; nil shows all. An empty query matches all tools, sorted by
// name. Commas, semicolons and line ends separate queries: Search ranks each by itself, and a tool's score is the sum
// of 1/(rank+5) over them, so that a tool that several wordings find comes first. The best tools of each query come
// before all others: a query that asks for something else than the others has its place.
func (c *Catalog) Search(query string, limit int, visible func(*Tool) bool) []Match {
	query = query[:min(len(query), queryMax)]
	parts := partsOf(query)
	if len(parts) < 2 {
		return c.searchOne(query, limit, visible)
	}
	at, best := map[*Tool]int{}, map[*Tool]bool{}
	var out []Match
	for _, part := range parts {
		for rank, m := range c.searchOne(part, max(limit, fusedMin), visible) {
			i, known := at[m.Tool]
			if !known {
				i = len(out)
				at[m.Tool], out = i, append(out, Match{Tool: m.Tool})
			}
			out[i].Score += 1 / float64(rank+5)
			best[m.Tool] = best[m.Tool] || rank == 0
		}
	}
	slices.SortStableFunc(out, func(a, b Match) int {
		if best[a.Tool] != best[b.Tool] {
			return map[bool]int{true: -1, false: 1}[best[a.Tool]]
		}
		return cmp.Compare(b.Score, a.Score)
	})
	if limit > 0 && len(out) > limit {
		out = out[:limit]
	}
	return out
}

func partsOf(query string) []string {
	parts := strings.FieldsFunc(query, func(r rune) bool { return strings.ContainsRune(",;\n", r) })
	parts = slices.DeleteFunc(parts, func(part string) bool { return strings.TrimSpace(part) == "" })
	return parts[:min(len(parts), partsMax)]
}

// Weak reports whether no tool has half of the words of a part of the query, or words like them.
func (c *Catalog) Weak(query string) bool {
	all := c.now.Load().words()
	for _, part := range partsOf(query[:min(len(query), queryMax)]) {
		r := all.rank(part)
		if slices.ContainsFunc(r.found, func(id int32) bool { return 2*int(r.having[id]) >= r.asked }) {
			return false
		}
	}
	return true
}

// fusedMin is how many results of each query count at least.
const fusedMin = 100

// partsMax is how many queries Search takes from one text.
const partsMax = 12

func (c *Catalog) searchOne(query string, limit int, visible func(*Tool) bool) []Match {
	s := c.now.Load()
	if limit <= 0 {
		limit = math.MaxInt
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
	r := s.words().rank(query)
	heap.Init(r) // a heap, because most callers want only the first few
	for r.Len() > 0 {
		id := heap.Pop(r).(int32)
		if !note(r.tools[id], r.scores[id]) {
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
	*words
	scores  []float64
	having  []int32   // how many of the query's words a tool has
	asked   int       // how many there are
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
func (all *words) rank(query string) *ranking {
	asked := asked(query)
	if len(asked) == 0 {
		asked = []string{strings.ToLower(strings.TrimSpace(query))} // only stop words: search for them as they are
	}
	asked = asked[:min(len(asked), askedMax)]
	slices.Sort(asked)
	asked = slices.Compact(asked)
	count := len(all.tools)
	r := &ranking{words: all, scores: make([]float64, count), having: make([]int32, count), best: make([]float64, count),
		asked: len(asked)}
	for _, w := range asked {
		r.term(w, 1)
		for _, other := range alike()[w] {
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
	t := r.terms[w]
	if t == nil {
		return
	}
	var rarity [fields]float64
	for f, having := range t.having {
		rarity[f] = factor * weightOf[f] * math.Log(1+(float64(len(r.tools)-having)+0.5)/(float64(having)+0.5))
	}
	for _, s := range t.spans {
		lists := *s.postings
		for {
			tool := int32(math.MaxInt32) // the next one that has the word: the lists are sorted by tool
			for f := range lists {
				if len(lists[f]) > 0 {
					tool = min(tool, lists[f][0].tool)
				}
			}
			if tool == math.MaxInt32 {
				break
			}
			v := 0.0
			for f := range lists {
				if len(lists[f]) > 0 && lists[f][0].tool == tool {
					v += rarity[f] * s.index.score(f, lists[f][0], r.average[f])
					lists[f] = lists[f][1:]
				}
			}
			id := s.first + tool
			if r.best[id] == 0 {
				r.touched = append(r.touched, id)
			}
			r.best[id] = max(r.best[id], v)
		}
	}
}

// prefix adds the score of each stem that begins with w.
func (r *ranking) prefix(w string) {
	stems := r.sorted
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
