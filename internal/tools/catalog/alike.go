package catalog

import (
	_ "embed"
	"strings"
	"sync"
)

// lexiconText has words that people use for each other. A line is a group, each word of which is asked for with any
// other, or has ">" between words and what they also ask for. Lines that begin with # are comments.
//
//go:embed lexicon.txt
var lexiconText string

// alike maps a stem to those that a query with it also searches for, at a lower weight.
var alike = sync.OnceValue(func() map[string][]string {
	m := map[string][]string{}
	add := func(from, to []string) {
		for _, w := range from {
			for _, other := range to {
				if other != w {
					m[w] = append(m[w], other)
				}
			}
		}
	}
	for line := range strings.Lines(lexiconText) {
		left, right, oneWay := strings.Cut(strings.TrimSpace(line), " > ")
		switch from, to := stems(left), stems(right); {
		case strings.HasPrefix(line, "#"):
		case oneWay:
			add(from, to)
		default:
			add(from, from)
		}
	}
	return m
})

func stems(text string) []string {
	all := strings.Fields(text)
	for i, w := range all {
		all[i] = stem(w)
	}
	return all
}
