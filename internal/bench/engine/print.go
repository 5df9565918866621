package engine

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/bench"
	"github.com/codemode-project/codemode/internal/bench/printed"
	"github.com/codemode-project/codemode/internal/visible"
)

// Formats are the formats that [Scoreboard.Write] supports.
var Formats = []string{"table", "json", "junit", "sarif", "markdown", "badge"}

// Write prints the reports. A table and markdown list each finding; with verbose also cases that were skipped or prove
// nothing.
// Against a baseline they mark the findings that it does not have; nil is none.
func (s *Scoreboard) Write(w io.Writer, format string, baseline *Scoreboard, verbose bool) error {
	var text string
	switch format {
	case "table":
		text = s.table(baseline, verbose)
	case "markdown":
		text = s.markdown(baseline, verbose)
	case "json":
		return printed.JSON(w, s)
	case "junit":
		return s.writeJUnit(w, baseline)
	case "sarif":
		return s.writeSARIF(w, baseline)
	case "badge":
		return s.writeBadge(w, baseline)
	default:
		return printed.Unknown(format)
	}
	_, err := io.WriteString(w, text)
	return err
}

// kinds are the kinds that any of the engines has, in order.
func (s *Scoreboard) kinds() (names []string) {
	for _, r := range s.Engines {
		for _, k := range r.Kinds {
			if !slices.Contains(names, k.Kind) {
				names = append(names, k.Kind)
			}
		}
	}
	return slices.SortedFunc(slices.Values(names), func(a, b string) int {
		return slices.Index(bench.Kinds, a) - slices.Index(bench.Kinds, b)
	})
}

// cell is how many cases of a kind an engine passed, of those that ran and prove something.
func (r *Report) cell(kind string) string {
	for _, k := range r.Kinds {
		if k.Kind == kind {
			return k.Share()
		}
	}
	return "-"
}

// sums adds up the kinds.
func (r *Report) sums() (all Kind) {
	for _, k := range r.Kinds {
		all.Cases, all.Passed = all.Cases+k.Cases, all.Passed+k.Passed
		all.Skipped, all.Unproven = all.Skipped+k.Skipped, all.Unproven+k.Unproven
	}
	return all
}

// counts says how many cases have a finding of each name.
func (r *Report) counts() string {
	n := map[string]int{}
	for _, k := range r.Kinds {
		for name, count := range k.Findings {
			n[name] += count
		}
	}
	var said []string
	for _, name := range slices.Sorted(maps.Keys(n)) {
		said = append(said, fmt.Sprintf("%s %d", name, n[name]))
	}
	if len(said) == 0 {
		return "none"
	}
	return strings.Join(said, ", ")
}

// rows are the cells of the board, a row for each engine, with its head.
func (s *Scoreboard) rows() (head []string, rows [][]string) {
	head = append([]string{"engine", "version"}, s.kinds()...)
	head = append(head, "unproven", "skipped", "findings", "minutes")
	for _, r := range s.Engines {
		row := []string{r.Name, r.Engine.Version}
		for _, kind := range s.kinds() {
			row = append(row, r.cell(kind))
		}
		rows = append(rows, append(row, fmt.Sprint(r.sums().Unproven), fmt.Sprint(r.sums().Skipped), r.counts(),
			fmt.Sprintf("%.1f", r.TotalMS/60000)))
	}
	return head, rows
}

func (s *Scoreboard) table(baseline *Scoreboard, verbose bool) string {
	var b strings.Builder
	for _, r := range s.Engines {
		printed.Table(&b, r.lines(s.isNew(baseline, r)))
		if verbose {
			for _, line := range r.without() {
				b.WriteString(visible.Line(line) + "\n")
			}
		}
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	head, rows := s.rows()
	var columns [][]string // one for each engine, as there are more kinds than engines that are compared
	for i, name := range head {
		cells := []string{name}
		for _, row := range rows {
			cells = append(cells, row[i])
		}
		columns = append(columns, cells)
	}
	printed.Table(&b, columns)
	b.WriteByte('\n')
	for _, sentence := range s.sentences(baseline) {
		b.WriteString(visible.Line(sentence) + "\n")
	}
	return b.String()
}

// isNew reports of a finding of an engine whether the baseline does not have it; nil if there is no baseline.
func (s *Scoreboard) isNew(baseline *Scoreboard, r *Report) func(Finding) bool {
	if baseline == nil {
		return nil
	}
	fresh := (&Scoreboard{Engines: []*Report{r}}).New(baseline)
	return func(f Finding) bool { return slices.Contains(fresh, f) }
}

// lines are the findings of an engine, each as cells.
func (r *Report) lines(isNew func(Finding) bool) (lines [][]string) {
	for _, f := range r.Findings() {
		line := []string{r.Name, f.Severity, f.Kind, f.Finding, f.Case, f.Detail}
		switch {
		case isNew == nil:
		case isNew(f):
			line = append([]string{"NEW"}, line...)
		default:
			line = append([]string{"known"}, line...)
		}
		lines = append(lines, line)
	}
	return lines
}

// without says which cases were skipped or prove nothing, and why.
func (r *Report) without() (said []string) {
	for _, c := range r.Cases {
		switch {
		case len(c.Skipped) > 0:
			said = append(said, "skipped   "+c.Case+": it does not claim "+strings.Join(c.Skipped, ", "))
		case c.Unproven && len(c.Findings) == 0:
			said = append(said, "unproven  "+c.Case+": "+c.Detail)
		}
	}
	return said
}

// sentences add what the board does not show.
func (s *Scoreboard) sentences(baseline *Scoreboard) (said []string) {
	for _, r := range s.Engines {
		all := r.sums()
		line := fmt.Sprintf("The engine %s %s passed %d of %d cases. Unproven: %d. Skipped: %d. Its starts: %d.",
			r.Name, r.Engine.Version, all.Passed, all.Cases, all.Unproven, all.Skipped, r.Starts)
		if r.Failed != "" {
			line = fmt.Sprintf("The engine %s could not be tested: %s", r.Name, r.Failed)
		} else if !r.Measured {
			line += " This system does not tell what its processes hold: memory, processor time and leftovers were not measured."
		}
		if baseline != nil && !baseline.has(r.Name) {
			line += " The baseline has no engine of this name."
		}
		said = append(said, line)
	}
	if baseline != nil {
		all := 0
		for _, r := range s.Engines {
			all += len(r.Findings())
		}
		said = append(said, fmt.Sprintf("Findings: %d. Not in the baseline: %d. In the baseline only: %d.",
			all, len(s.New(baseline)), s.gone(baseline)))
	}
	return said
}

func (s *Scoreboard) markdown(baseline *Scoreboard, verbose bool) string {
	var b strings.Builder
	head, rows := s.rows()
	printed.Markdown(&b, 0, head, rows)
	for _, r := range s.Engines {
		lines := r.lines(s.isNew(baseline, r))
		var without []string
		if verbose {
			without = r.without()
		}
		if len(lines) == 0 && len(without) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", visible.Markdown(r.Name+" "+r.Engine.Version))
		if len(lines) > 0 {
			head := []string{"severity", "kind", "finding", "case", "what was seen"}
			if baseline != nil {
				head = append([]string{"baseline"}, head...)
			}
			for i, line := range lines {
				at := slices.Index(line, r.Name)
				lines[i] = slices.Delete(line, at, at+1)
			}
			printed.Markdown(&b, 0, head, lines)
		}
		for _, line := range without {
			b.WriteString("\n" + visible.Markdown(line) + "\n")
		}
	}
	for _, sentence := range s.sentences(baseline) {
		b.WriteString("\n" + visible.Markdown(sentence) + "\n")
	}
	return b.String()
}
