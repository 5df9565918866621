package rules

import (
	"fmt"
	"strings"
)

// BOM is a byte order mark, which some editors write.
const BOM = "\ufeff"

// A Line is a line of two texts.
type Line struct {
	Sign string `json:"sign"` // "-" is only in the old text, "+" only in the new one, " " in both
	Text string `json:"text"`
	Old  int    `json:"old,omitempty"` // its number there, from 1; 0 is not there
	New  int    `json:"new,omitempty"`
}

// Numbers are the numbers of the line in both texts, in columns; one that is not there is blank.
func (l Line) Numbers() string {
	column := func(n int) string {
		if n == 0 {
			return "    "
		}
		return fmt.Sprintf("%4d", n)
	}
	return column(l.Old) + " " + column(l.New)
}

// Plain is a text with one kind of line end and without a byte order mark, as people compare it. A carriage return
// alone is no line end for the reader of the file, and stays.
func Plain(text string) string {
	return strings.ReplaceAll(strings.TrimPrefix(text, BOM), "\r\n", "\n")
}

// mostCompared bounds the compared lines of each text: the comparison takes the product of both. Beyond it everything
// between the first and the last difference counts as changed.
const mostCompared = 3000

// Diff compares two texts line by line. It returns the lines that differ, with some lines around them; around < 0
// returns all lines.
func Diff(before, after string, around int) []Line {
	old, now := strings.Split(before, "\n"), strings.Split(after, "\n")
	first := 0
	for first < min(len(old), len(now)) && old[first] == now[first] {
		first++
	}
	last := 0
	for last < min(len(old), len(now))-first && old[len(old)-1-last] == now[len(now)-1-last] {
		last++
	}
	var all []Line
	both := func(i, j int) { all = append(all, Line{" ", old[i], i + 1, j + 1}) }
	for i := range first {
		both(i, i)
	}
	all = append(all, middle(old[first:len(old)-last], now[first:len(now)-last], first)...)
	for i := range last {
		both(len(old)-last+i, len(now)-last+i)
	}
	if around < 0 {
		return all
	}
	return near(all, around)
}

// middle compares lines by their longest common subsequence. Both texts have the same number of lines before them.
func middle(old, now []string, before int) (all []Line) {
	var common [][]uint16 // by i and j: how many lines old[i:] and now[j:] have in common
	if len(old) <= mostCompared && len(now) <= mostCompared {
		common = make([][]uint16, len(old)+1)
		for i := range common {
			common[i] = make([]uint16, len(now)+1)
		}
		for i := len(old) - 1; i >= 0; i-- {
			for j := len(now) - 1; j >= 0; j-- {
				if common[i][j] = max(common[i+1][j], common[i][j+1]); old[i] == now[j] {
					common[i][j] = common[i+1][j+1] + 1
				}
			}
		}
	}
	i, j := 0, 0
	for i < len(old) || j < len(now) {
		switch {
		case common != nil && i < len(old) && j < len(now) && old[i] == now[j]:
			all = append(all, Line{" ", old[i], before + i + 1, before + j + 1})
			i, j = i+1, j+1
		case i < len(old) && (common == nil || j == len(now) || common[i+1][j] >= common[i][j+1]):
			all = append(all, Line{Sign: "-", Text: old[i], Old: before + i + 1})
			i++
		default:
			all = append(all, Line{Sign: "+", Text: now[j], New: before + j + 1})
			j++
		}
	}
	return all
}

// near keeps changed lines and those around them.
func near(all []Line, around int) []Line {
	kept := []Line{}
	until := -1 // index of the last line that a change before it keeps
	for i, line := range all {
		if line.Sign != " " {
			for j := max(until+1, i-around); j <= i; j++ {
				kept = append(kept, all[j])
			}
			until = max(until, i)
			for j := i + 1; j <= min(i+around, len(all)-1) && all[j].Sign == " "; j++ {
				if j > until {
					kept, until = append(kept, all[j]), j
				}
			}
		}
	}
	return kept
}
