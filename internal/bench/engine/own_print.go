package engine

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/codemode-project/codemode/internal/bench/junit"
	"github.com/codemode-project/codemode/internal/bench/printed"
	"github.com/codemode-project/codemode/internal/visible"
)

// Write prints the report in one of [Formats]. A table and markdown list the cases that were not accepted, or all when
// verbose.
func (r *OwnReport) Write(w io.Writer, format string, verbose bool) error {
	var b strings.Builder
	switch format {
	case "json":
		return printed.JSON(w, r)
	case "junit":
		return r.writeJUnit(w)
	case "markdown":
		r.markdown(&b, verbose)
	case "table":
		r.table(&b, verbose)
	default:
		return r.Board.Write(w, format, nil, verbose)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cases are the cells of the failed cases, or of all.
func (r *OwnReport) cases(verbose bool) (rows [][]string) {
	for _, c := range r.Cases {
		mark := "FAIL"
		if c.OK {
			mark = "ok"
		}
		if verbose || !c.OK {
			rows = append(rows, []string{mark, c.File, c.gotFor(), fmt.Sprintf("%.0f", c.MS), c.Detail})
		}
	}
	return rows
}

func (c *OwnCase) gotFor() string {
	if c.Got == c.Expected {
		return c.Got
	}
	return c.Got + " for " + c.Expected
}

// classes are the cells of the classes, and of all of them.
func (s *OwnSummary) classes() (rows [][]string) {
	all := s.ClassSummary
	all.Class = "all"
	for _, c := range append(slices.Clone(s.Classes), all) {
		row := []string{c.Class, strconv.Itoa(c.Cases), strconv.Itoa(c.OK), strconv.Itoa(c.Exact), "", "", "", ""}
		if o := c.Overshoot; o.Runs > 0 {
			row = append(row[:4], fmt.Sprint(o.Runs), fmt.Sprintf("%.1f", o.P50), fmt.Sprintf("%.1f", o.P99),
				fmt.Sprintf("%.1f", o.Max))
		}
		rows = append(rows, row)
	}
	return rows
}

func (r *OwnReport) table(b *strings.Builder, verbose bool) {
	cases := r.cases(verbose)
	for _, row := range cases {
		row[3] += " ms"
	}
	if printed.Table(b, cases); len(cases) > 0 {
		b.WriteByte('\n')
	}
	rows := append([][]string{{"class", "cases", "accepted", "exact", "stopped", "late p50", "p99", "max ms"}},
		r.Summary.classes()...)
	width := 0
	for _, row := range rows {
		width = max(width, len([]rune(row[0])))
	}
	for _, row := range rows {
		visible.Fprintf(b, "%-*s %6s %9s %6s %8s %9s %6s %6s\n", width, row[0], row[1], row[2], row[3], row[4], row[5],
			row[6], row[7])
	}
	b.WriteByte('\n')
	for _, sentence := range r.Summary.sentences() {
		b.WriteString(visible.Line(sentence) + "\n")
	}
}

func (r *OwnReport) markdown(b *strings.Builder, verbose bool) {
	printed.Markdown(b, 7, []string{"class", "cases", "accepted", "exact", "stopped", "late p50 ms", "p99", "max"},
		r.Summary.classes())
	if cases := r.cases(verbose); len(cases) > 0 {
		b.WriteString("\n| | file | outcome | ms | detail |\n|---|---|---|--:|---|\n")
		for _, row := range cases {
			b.WriteString(visible.MarkdownRow(row...))
		}
	}
	var said []string
	for _, sentence := range r.Summary.sentences() {
		said = append(said, visible.Line(sentence))
	}
	fmt.Fprintf(b, "\n%s\n", strings.Join(said, "  \n"))
}

// sentences add what the table does not show.
func (s *OwnSummary) sentences() []string {
	said := []string{fmt.Sprintf("%d of %d cases accepted, %d exact, in %.1f s.", s.OK, s.Cases, s.Exact, s.TotalMS/1000)}
	if s.Unhealthy > 0 {
		said = append(said, fmt.Sprintf("After %d cases a plain program did not answer.", s.Unhealthy))
	}
	if len(s.left) > 0 {
		said = append(said, "Left over: "+strings.Join(s.left, ", ")+".")
	} else {
		var held []string
		for i, more := range []*int{s.Goroutines, s.Files, s.Guests} {
			held = append(held, spares[i].what+" unknown")
			if more != nil {
				held[i] = fmt.Sprintf("%s %+d", spares[i].what, *more)
			}
		}
		said = append(said, "Nothing left over: "+strings.Join(held, ", ")+".")
	}
	if s.PeakKiB > 0 {
		said = append(said, fmt.Sprintf("Memory of the process: %d MiB before, at most %d MiB (in %s), %d MiB after; Go's heap at most %d MiB.",
			s.BeforeKiB>>10, s.PeakKiB>>10, s.PeakCase, s.AfterKiB>>10, s.HeapKiB>>10))
	}
	return said
}

// writeJUnit has a suite for each class, and one for what the processes hold afterwards.
func (r *OwnReport) writeJUnit(w io.Writer) error {
	report := junit.Report{Seconds: r.Summary.TotalMS / 1000, Started: r.Started}
	for _, c := range r.Cases {
		suite := report.Suite(c.Class, c.Started)
		suite.Add(c.File, c.TookMS/1000, c.OK, c.gotFor(), c.Detail)
		if c.Started.Before(suite.Started) {
			suite.Started = c.Started
		}
	}
	report.Suite("process", r.Started).Add("nothing is left over", 0, len(r.Summary.left) == 0,
		"left over: "+strings.Join(r.Summary.left, ", "), "")
	return report.Write(w)
}
