package engine

import (
	"fmt"
	"io"
	"strings"

	"github.com/codemode-project/codemode/internal/bench"
	"github.com/codemode-project/codemode/internal/bench/printed"
	"github.com/codemode-project/codemode/internal/visible"
)

// SpeedFormats are the formats that [SpeedReport.Write] supports.
var SpeedFormats = []string{"table", "json", "markdown"}

// Write prints the report.
func (r *SpeedReport) Write(w io.Writer, format string) error {
	var b strings.Builder
	switch format {
	case "json":
		return printed.JSON(w, r)
	case "table":
		visible.Fprintf(&b, "%s, %d processors; the median, and the range of the middle nine tenths\n\n", r.System, r.CPUs)
		printed.Table(&b, r.rows())
	case "markdown":
		rows := r.rows()
		printed.Markdown(&b, len(rows[0])-2, rows[0], rows[1:])
	default:
		return printed.Unknown(format)
	}
	for _, s := range r.Engines {
		line := visible.Line
		if format == "markdown" {
			line = visible.Markdown
		}
		if s.Failed != "" {
			fmt.Fprintf(&b, "\n%s: %s\n", line(s.Name), line(s.Failed))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// rows are the figures, with their head.
func (r *SpeedReport) rows() [][]string {
	rows := [][]string{{"engine", "version", "start to first outcome, ms", "fresh run, ms", "call, µs",
		"call, many at once, µs", "computing, ms", "resident, MiB"}}
	for _, s := range r.Engines {
		row := []string{s.Name, s.Version}
		for _, f := range s.figures() {
			median, spread := *f.median, s.Spread[f.key]
			if median == nil {
				row = append(row, "-")
				continue
			}
			row = append(row, fmt.Sprintf("%s (%s to %s)", bench.Digits(*median), bench.Digits(spread.Low),
				bench.Digits(spread.High)))
		}
		rows = append(rows, row)
	}
	return rows
}
