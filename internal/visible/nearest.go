package visible

import "strings"

// Nearest returns the known word that a person most likely meant, "" if none is near.
func Nearest(word string, known []string) string {
	best, bestDistance := "", 1+max(1, len(word)/3)
	for _, k := range known {
		// Words without a common letter are not near, however short they are.
		if d := Distance(strings.ToLower(word), strings.ToLower(k), bestDistance-1); d < bestDistance && d < len(word) {
			best, bestDistance = k, d
		}
	}
	return best
}

// TooFar is a distance beyond every limit.
const TooFar = 1 << 20

// Distance is the number of single-byte edits, swaps of neighbours included,
// that turn a into b, or TooFar if it is more than limit.
func Distance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || d < -limit {
		return TooFar
	}
	// Row i holds the distances of a[:i] from the prefixes of b. Only a band
	// around the diagonal can be within the limit.
	width := len(b) + 1
	cells := make([]int, 3*width)
	before, last, row := cells[:width], cells[width:2*width], cells[2*width:]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		from, to := max(1, i-limit), min(len(b), i+limit)
		row[from-1] = TooFar
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
			return TooFar
		}
		before, last, row = last, row, before
	}
	if last[len(b)] > limit {
		return TooFar
	}
	return last[len(b)]
}
