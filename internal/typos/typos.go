// Package typos finds the word that somebody most likely meant by another one.
package typos

import "strings"

// Nearest gives the known word that a person most likely meant, "" if none is near.
func Nearest(word string, known []string) string {
	best, bestDistance := "", 1+max(1, len(word)/3)
	for _, k := range known {
		// Words that share nothing are not near, however short they are.
		if d := Distance(strings.ToLower(word), strings.ToLower(k)); d < bestDistance && d < len(word) {
			best, bestDistance = k, d
		}
	}
	return best
}

// Distance counts the characters to insert, remove, replace or swap with their neighbour
// to get from a to b.
func Distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	if len(from) > 64 || len(to) > 64 { // nobody misspells that
		return max(len(from), len(to))
	}
	var before, previous []int
	current := make([]int, len(to)+1)
	for j := range current {
		current[j] = j
	}
	for i := range from {
		before, previous, current = previous, current, make([]int, len(to)+1)
		current[0] = i + 1
		for j := range to {
			cost := 1
			if from[i] == to[j] {
				cost = 0
			}
			current[j+1] = min(previous[j+1]+1, current[j]+1, previous[j]+cost)
			if i > 0 && j > 0 && from[i] == to[j-1] && from[i-1] == to[j] {
				current[j+1] = min(current[j+1], before[j-1]+1)
			}
		}
	}
	return current[len(to)]
}
