package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/codemode-project/codemode/internal/visible"
)

// A LanguageReport says how a build does on test262.
type LanguageReport struct {
	Guest    string         // sha256
	Tests    int            // files that ran
	Runs     int            // of their variants
	Passed   int            // runs
	Skipped  map[string]int // files, by reason
	Failures []Failure
	New      []Failure // failures that the baseline does not list
	Stale    []string  // lines of the baseline that do not fail, with the reason
	Unsaid   []string  // lines of the baseline whose reason is none
	Took     time.Duration

	filter   string
	variants map[string][]string // what ran, by test
}

// A Failure is one variant of a test that did not pass.
type Failure struct {
	Test    string
	Variant string // sloppy or strict
	Detail  string
	Reason  string // what the baseline says
}

func (r *LanguageReport) skip(why string) {
	if r.Skipped == nil {
		r.Skipped = map[string]int{}
	}
	r.Skipped[why]++
}

func (r *LanguageReport) add(t *jsTest, failures []Failure) {
	if r.variants == nil {
		r.variants = map[string][]string{}
	}
	r.variants[t.path] = t.variants()
	r.Tests++
	r.Runs += len(t.variants())
	r.Passed += len(t.variants()) - len(failures)
	r.Failures = append(r.Failures, failures...)
}

// compare sorts the failures into known and new, and the known ones into those
// that fail and those that do not.
func (r *LanguageReport) compare(known *Baseline) {
	failed := map[knownKey]bool{}
	for i := range r.Failures {
		f := &r.Failures[i]
		f.Reason = known.reason(f.Test, f.Variant)
		if f.Reason == "" {
			r.New = append(r.New, *f)
		}
		failed[knownKey{f.Test, f.Variant}] = true
	}
	for _, line := range known.all() {
		if !keeps(r.filter, line.test) {
			continue
		}
		variants, ran := r.variants[line.test]
		switch passing := line.passing(variants, failed); {
		case !ran:
			r.Stale = append(r.Stale, line.String()+" (there is no such test, or it is skipped)")
		case len(passing) > 0:
			r.Stale = append(r.Stale, fmt.Sprintf("%s (it passes: %s)", line, strings.Join(passing, ", ")))
		case strings.HasPrefix(line.reason, unexplained):
			r.Unsaid = append(r.Unsaid, line.String())
		}
	}
}

// Pass reports whether every failure is known, explained, and still one.
func (r *LanguageReport) Pass() bool { return len(r.New)+len(r.Stale)+len(r.Unsaid) == 0 }

// table prints the report.
func (r *LanguageReport) table() string {
	var b strings.Builder
	list := func(title string, lines []string) {
		if len(lines) > 0 {
			for i := range lines {
				lines[i] = visible.Line(lines[i])
			}
			fmt.Fprintf(&b, "%s:\n  %s\n\n", title, strings.Join(lines, "\n  "))
		}
	}
	var fresh []string
	for _, f := range r.New {
		fresh = append(fresh, fmt.Sprintf("%s (%s): %s", f.Test, f.Variant, f.Detail))
	}
	list("Failures that the baseline does not list", fresh)
	list("Lines of the baseline that are out of date", r.Stale)
	list("Lines of the baseline that give no reason", r.Unsaid)

	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "%d\t  tests ran, in %d variants and %.0f s\n%d\t  variants passed\n", r.Tests, r.Runs,
		r.Took.Seconds(), r.Passed)
	reasons := map[string]int{}
	for _, f := range r.Failures {
		if f.Reason == "" {
			f.Reason = "new"
		}
		reasons["failed: "+f.Reason]++
	}
	for why, n := range r.Skipped {
		reasons["tests skipped: "+why] = n
	}
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(t, "%d\t  %s\n", reasons[why], visible.Line(why))
	}
	t.Flush()
	return b.String()
}
