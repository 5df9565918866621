package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/codemode-project/codemode/internal/visible"
)

// IsolationFormats are the formats that [IsolationReport.Write] supports.
var IsolationFormats = []string{"table", "json", "junit", "markdown"}

// Write prints the report. A table and markdown list the cases that were not accepted, or all when verbose.
func (r *IsolationReport) Write(w io.Writer, format string, verbose bool) error {
	switch format {
	case "json":
		return writeJSON(w, r)
	case "junit":
		return r.writeJUnit(w)
	case "markdown":
		return r.writeMarkdown(w, verbose)
	case "table":
		return r.writeTable(w, verbose)
	}
	return fmt.Errorf("there is no format %q", format)
}

func writeJSON(w io.Writer, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, visible.JSON(string(raw))+"\n")
	return err
}

// shown returns the cases to list: the failed ones, or all.
func (r *IsolationReport) shown(verbose bool) []CaseResult {
	if verbose {
		return r.Cases
	}
	return r.Failed()
}

func (r *IsolationReport) writeTable(w io.Writer, verbose bool) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, c := range r.shown(verbose) {
		fmt.Fprintf(t, "%s\t%s\t%s\t%.0f ms\t%s\n", mark(c.OK), oneLine(c.File), oneLine(c.got()), c.MS, oneLine(c.Detail))
	}
	t.Flush()
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	rows := append(slices.Clone(r.Summary.Classes), r.Summary.total())
	width := len("class")
	for _, c := range rows {
		width = max(width, len([]rune(c.Class)))
	}
	fmt.Fprintf(&b, "%-*s %6s %9s %6s %8s %9s %6s %6s\n", width, "class", "cases", "accepted", "exact", "stopped",
		"late p50", "p99", "max ms")
	for _, c := range rows {
		fmt.Fprintf(&b, "%-*s %6d %9d %6d", width, oneLine(c.Class), c.Cases, c.OK, c.Exact)
		cells := c.Overshoot.cells()
		fmt.Fprintf(&b, " %8s %9s %6s %6s\n", cells[0], cells[1], cells[2], cells[3])
	}
	fmt.Fprintf(&b, "\n%s\n", oneLines(r.Summary.sentences(), "\n"))
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *IsolationReport) writeMarkdown(w io.Writer, verbose bool) error {
	var b strings.Builder
	b.WriteString("| class | cases | accepted | exact | stopped | late p50 ms | p99 | max |\n|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, c := range append(slices.Clone(r.Summary.Classes), r.Summary.total()) {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %s |\n", visible.Markdown(c.Class), c.Cases, c.OK, c.Exact,
			strings.Join(c.Overshoot.cells(), " | "))
	}
	if shown := r.shown(verbose); len(shown) > 0 {
		b.WriteString("\n| | file | outcome | ms | detail |\n|---|---|---|--:|---|\n")
		for _, c := range shown {
			fmt.Fprintf(&b, "| %s | %s | %s | %.0f | %s |\n", mark(c.OK), visible.Markdown(c.File), visible.Markdown(c.got()),
				c.MS, visible.Markdown(c.Detail))
		}
	}
	fmt.Fprintf(&b, "\n%s\n", oneLines(r.Summary.sentences(), "  \n"))
	_, err := io.WriteString(w, b.String())
	return err
}

func mark(ok bool) string {
	if ok {
		return "ok"
	}
	return "FAIL"
}

func (r *CaseResult) got() string {
	if r.Got == r.Expected {
		return string(r.Got)
	}
	return fmt.Sprintf("%s for %s", r.Got, r.Expected)
}

func (s *IsolationSummary) total() ClassSummary {
	c := s.ClassSummary
	c.Class = "all"
	return c
}

func (o Overshoot) cells() []string {
	if o.Runs == 0 {
		return []string{"", "", "", ""}
	}
	f := func(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }
	return []string{strconv.Itoa(o.Runs), f(o.P50), f(o.P99), f(o.Max)}
}

// sentences add what the table does not show.
func (s *IsolationSummary) sentences() []string {
	said := []string{fmt.Sprintf("%d of %d cases accepted, %d exact, in %.1f s.", s.OK, s.Cases, s.Exact, s.TotalMS/1000)}
	if s.Unhealthy > 0 {
		said = append(said, fmt.Sprintf("After %d cases a plain program did not answer.", s.Unhealthy))
	}
	if leaks := s.Leaks(); len(leaks) > 0 {
		said = append(said, "Left over: "+strings.Join(leaks, ", ")+".")
	} else {
		said = append(said, "Nothing left over: "+strings.Join(s.held(), ", ")+".")
	}
	if s.PeakKiB > 0 {
		said = append(said, fmt.Sprintf("Memory of the process: %d MiB before, at most %d MiB (in %s), %d MiB after; Go's heap at most %d MiB.",
			s.BeforeKiB>>10, s.PeakKiB>>10, s.PeakCase, s.AfterKiB>>10, s.HeapKiB>>10))
	}
	return said
}

func (s *IsolationSummary) held() []string {
	var held []string
	for _, h := range []struct {
		what  string
		delta *int
	}{{"goroutines", s.Goroutines}, {"file descriptors", s.Files}, {"guests", s.Guests}} {
		if h.delta == nil {
			held = append(held, h.what+" unknown")
		} else {
			held = append(held, fmt.Sprintf("%s %+d", h.what, *h.delta))
		}
	}
	return held
}

// oneLine makes text of programs safe for a line of a terminal.
func oneLine(s string) string { return visible.Line(s) }

// oneLines makes lines of programs safe and joins them.
func oneLines(lines []string, end string) string {
	safe := make([]string, len(lines))
	for i, line := range lines {
		safe[i] = oneLine(line)
	}
	return strings.Join(safe, end)
}
