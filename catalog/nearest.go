package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
)

// nearestMax is how many names an error offers; more would be noise to a model.
const nearestMax = 3

// nearestCells bounds the comparing of letters for one error: a server can list thousands of long names.
const nearestCells = 5_000_000

// nearest returns the names a person or a model most likely meant, best first.
func (s *state) nearest(name string) []string {
	if len(name) > 200 { // nobody meant that
		return nil
	}
	wanted := strings.ToLower(call.Part(name))
	_, wantedTool, hasServer := strings.Cut(wanted, call.Separator)
	if !hasServer {
		wantedTool = wanted
	}
	type candidate struct {
		name string
		far  int
	}
	var found []candidate
	cells := 0
	for _, t := range s.sorted {
		whole := strings.ToLower(t.Name)
		_, tool, _ := strings.Cut(whole, call.Separator)
		limit := 1 + len(wanted)/4
		if cells += len(wanted) * (2*limit + 1); cells > nearestCells {
			break
		}
		far := distance(wanted, whole, limit)
		if tool == wantedTool { // the right tool, asked of the wrong server or of none
			far = min(far, 1)
		} else {
			far = min(far, 1+distance(wantedTool, tool, 1+len(wantedTool)/5))
		}
		if far <= limit || len(wantedTool) >= 4 && strings.Contains(tool, wantedTool) {
			found = append(found, candidate{t.Name, far})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.name, b.name))
	})
	var out []string
	for _, c := range found[:min(len(found), nearestMax)] {
		out = append(out, c.name)
	}
	return out
}

// tooFar is a distance beyond every limit.
const tooFar = 1 << 20

// distance is the number of single-byte edits, swaps of neighbours included,
// that turn a into b, or tooFar if it is more than limit.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || d < -limit {
		return tooFar
	}
	// Row i holds the distances of a[:i] from the beginnings of b. Only a band
	// of them around the diagonal can be within the limit.
	width := len(b) + 1
	cells := make([]int, 3*width)
	before, last, row := cells[:width], cells[width:2*width], cells[2*width:]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		from, to := max(1, i-limit), min(len(b), i+limit)
		row[from-1] = tooFar
		if from == 1 {
			row[0] = i
		}
		best := row[from-1]
		for j := from; j <= to; j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j-1]+change, row[j-1]+1)
			if j < i+limit {
				row[j] = min(row[j], last[j]+1)
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			best = min(best, row[j])
		}
		if best > limit {
			return tooFar
		}
		before, last, row = last, row, before
	}
	if last[len(b)] > limit {
		return tooFar
	}
	return last[len(b)]
}
