// Package printed writes reports of benchmarks: as JSON, as tables for a terminal, and as tables in Markdown. Their
// texts may come from programs, engines and servers: no character stays invisible.
package printed

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/codemode-project/codemode/internal/visible"
)

// JSON writes a value with indents.
func JSON(w io.Writer, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, visible.JSON(string(raw))+"\n")
	return err
}

// Table aligns the cells of rows in columns.
func Table(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = visible.Line(cell)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	t.Flush()
}

// Markdown writes a table with a head. So many of its columns, the last ones, are of numbers.
func Markdown(b *strings.Builder, numbers int, head []string, rows [][]string) {
	b.WriteString(visible.MarkdownRow(head...))
	b.WriteString("|" + strings.Repeat("---|", len(head)-numbers) + strings.Repeat("--:|", numbers) + "\n")
	for _, row := range rows {
		b.WriteString(visible.MarkdownRow(row...))
	}
}

// Unknown is the error of a form of a report that there is not.
func Unknown(format string) error { return fmt.Errorf("there is no format %q", format) }
