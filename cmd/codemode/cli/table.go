package cli

import (
	"io"
	"strings"
	"text/tabwriter"

	"github.com/codemode-project/codemode/internal/visible"
)

// Table aligns rows in columns and escapes unprintable characters in the cells. The first row is the heading.
func Table(rows [][]string) []string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				_, _ = io.WriteString(w, "\t")
			}
			_, _ = io.WriteString(w, visible.Line(cell))
		}
		_, _ = io.WriteString(w, "\n")
	}
	_ = w.Flush() // into memory
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}
