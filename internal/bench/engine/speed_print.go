package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/codemode-project/codemode/internal/bench"
	"github.com/codemode-project/codemode/internal/visible"
)

// SpeedFormats are the formats that [SpeedReport.Write] supports.
var SpeedFormats = []string{"table", "json", "markdown"}

// Write prints the report.
func (r *SpeedReport) Write(w io.Writer, format string) error {
	var b strings.Builder
	switch format {
	case "json":
		raw, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		b.WriteString(visible.JSON(string(raw)) + "\n")
	case "table":
		visible.Fprintf(&b, "%s, %d processors; the median, and the range of the middle nine tenths\n\n", r.System, r.CPUs)
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, row := range r.rows() {
			for i := range row {
				row[i] = visible.Line(row[i])
			}
			fmt.Fprintln(t, strings.Join(row, "\t"))
		}
		t.Flush()
	case "markdown":
		for i, row := range r.rows() {
			writeRow(&b, row)
			if i == 0 {
				b.WriteString("|---|---|" + strings.Repeat("--:|", len(row)-2) + "\n")
			}
		}
	default:
		return fmt.Errorf("there is no format %q", format)
	}
	for _, s := range r.Engines {
		if s.Failed != "" && format != "json" {
			fmt.Fprintf(&b, "\n%s: %s\n", visible.Line(s.Name), visible.Line(s.Failed))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// rows are the figures, with their head.
func (r *SpeedReport) rows() [][]string {
	rows := [][]string{{"engine", "version", "start to first outcome, ms", "fresh run, ms", "call, µs", "call, many at once, µs",
		"computing, ms", "resident, MiB"}}
	for _, s := range r.Engines {
		row := []string{s.Name, s.Version}
		for _, f := range []struct {
			key   string
			value *float64
		}{
			{"cold_start_ms", s.Cold}, {"fresh_ms", s.Fresh}, {"call_us", s.Call}, {"at_once_us", s.AtOnce},
			{"compute_ms", s.Compute}, {"resident_mib", s.Memory},
		} {
			if f.value == nil {
				row = append(row, "-")
				continue
			}
			spread := s.Spread[f.key]
			row = append(row, fmt.Sprintf("%s (%s to %s)", bench.Digits(*f.value), bench.Digits(spread.Low), bench.Digits(spread.High)))
		}
		rows = append(rows, row)
	}
	return rows
}
