package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// row is one line of the table.
type row struct {
	mutants, killed, timedOut, alive, unreached, equivalent int
	outcomes, seen                                          int
}

func (r *row) add(s *site) {
	r.mutants++
	switch {
	case s.outcome == killed:
		r.killed++
	case s.outcome == timedOut:
		r.timedOut++
	case s.equivalent != nil:
		r.equivalent++
	case s.outcome == unreached:
		r.unreached++
	default:
		r.alive++
	}
}

func (r *row) rate() float64 {
	if r.mutants == r.equivalent {
		return 100
	}
	return 100 * float64(r.killed+r.timedOut) / float64(r.mutants-r.equivalent)
}

// report prints what lives and the table, and reports whether the thresholds hold.
func report(w io.Writer, o options, all, tried []*site, known reasons) bool {
	ok := true
	rows, kinds, total := map[string]*row{}, map[string]*row{}, &row{}
	at := func(rows map[string]*row, name string) *row {
		if rows[name] == nil {
			rows[name] = &row{}
		}
		return rows[name]
	}
	for _, s := range tried {
		for _, r := range []*row{at(rows, s.file), at(kinds, s.kind), total} {
			r.add(s)
		}
		if s.equivalent == nil && (s.outcome == alive || s.outcome == unreached) {
			fmt.Fprintf(w, "%s %s:%d:%d %s %d: %s\n", s.outcome, s.file, s.line, s.col, s.kind, s.nth, s.text)
		}
		if s.equivalent != nil && (s.outcome == killed || s.outcome == timedOut) {
			fmt.Fprintf(w, "listed without need: %s %s %d: %s: %s by %s\n", s.file, s.kind, s.nth, s.text, s.outcome, s.killer)
		}
	}
	for _, s := range all {
		if !s.condition || !o.files.MatchString(s.file) {
			continue
		}
		for _, r := range []*row{at(rows, s.file), total} {
			r.outcomes += 2
			r.seen += count(s.sawTrue) + count(s.sawFalse)
		}
		if must := o.branches.MatchString(s.file); must && !(s.sawTrue && s.sawFalse) {
			fmt.Fprintf(w, "%s:%d:%d: this condition is always %t in the tests: %s\n", s.file, s.line, s.col, s.sawTrue, s.text)
			ok = false
		}
	}
	if o.files.String() == "" && len(o.kinds) == len(allKinds) {
		for _, r := range known {
			if r.used == 0 {
				fmt.Fprintf(w, "%s:%d: there is no such mutant: %s %s %s: %s\n", o.equivalent, r.line, r.file, r.kind, r.nth, r.text)
				ok = false
			}
		}
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\t mutants\t killed\t timed out\t alive\t unreached\t no difference\t rate\t outcomes seen\t")
	line := func(name string, r *row) {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f %%\t%d of %d\t\n",
			name, r.mutants, r.killed, r.timedOut, r.alive, r.unreached, r.equivalent, r.rate(), r.seen, r.outcomes)
	}
	for _, rows := range []map[string]*row{rows, kinds} {
		names := []string{}
		for name := range rows {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			line(name, rows[name])
		}
		fmt.Fprintln(table, "\t\t\t\t\t\t\t\t\t")
	}
	line("all", total)
	table.Flush()
	if total.rate() < o.threshold {
		fmt.Fprintf(w, "%.1f %% of the mutants are killed, %.1f %% are wanted\n", total.rate(), o.threshold)
		ok = false
	}
	return ok
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
