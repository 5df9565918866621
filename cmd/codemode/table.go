package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/visible"
)

// table aligns rows in columns and makes what is in them printable. The first
// row is the heading.
func table(rows [][]string) []string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			row[i] = visible.Line(cell)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	lines := make([]string, len(rows))
	for n, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(cell)
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
		lines[n] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

func printTable(w io.Writer, rows [][]string) {
	for _, line := range table(rows) {
		fmt.Fprintln(w, line)
	}
}
