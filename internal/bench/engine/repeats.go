package engine

import (
	"fmt"
	"slices"
	"strings"
)

// repeats are the runs of one case, or of one question, which decide together what its findings are.
//
// What was not measured counts if one run has it: it may be what happens once in a thousand times. A measurement beyond
// its limit counts if each run has it, or if the baseline has it and one run has it too.
type repeats struct {
	known knownNames
	runs  []CaseResult
}

// most is how many runs there are at most. A busy machine disturbs only the first. Against a baseline a new finding
// fails somebody's build, so there are more: some engines use twice the time or the memory every few runs.
func (r *repeats) most() int {
	if r.known == nil {
		return 2
	}
	return 6
}

// decided reports whether another run changes nothing.
func (r *repeats) decided() bool {
	if len(r.runs) >= r.most() {
		return true
	}
	last := r.runs[len(r.runs)-1]
	for _, name := range r.names() {
		if measured, times := r.measured(name); measured && times == len(r.runs) && !r.knows(name) {
			return false
		}
	}
	return !slices.ContainsFunc(r.known[last.Case], func(name string) bool { return !slices.Contains(r.names(), name) }) ||
		len(last.Skipped) > 0
}

// names lists the names of the findings of all runs, in the order in which they were seen.
func (r *repeats) names() (names []string) {
	for _, run := range r.runs {
		for _, name := range run.names() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// knows reports whether the baseline has a finding.
func (r *repeats) knows(name string) bool { return slices.Contains(r.known[r.runs[0].Case], name) }

// measured reports of a finding whether it was only measured, and how many runs have it.
func (r *repeats) measured(name string) (measured bool, times int) {
	measured = true
	for _, run := range r.runs {
		if slices.Contains(run.names(), name) {
			times++
		}
		for _, f := range run.Findings {
			measured = measured && (f.Finding != name || f.measured)
		}
	}
	return measured, times
}

// result is the last run with the findings that count; the others are in its detail.
func (r *repeats) result() CaseResult {
	result := r.runs[len(r.runs)-1]
	result.Findings = nil
	for _, name := range r.names() {
		measured, times := r.measured(name)
		var f Finding
		for _, run := range r.runs {
			if i := slices.IndexFunc(run.Findings, func(f Finding) bool { return f.Finding == name }); i >= 0 {
				f = run.Findings[i]
			}
		}
		if times < len(r.runs) {
			f.Detail = fmt.Sprintf("in %d of %d runs: %s", times, len(r.runs), f.Detail)
		}
		if measured && times < len(r.runs) && !r.knows(name) {
			result.Detail = strings.TrimPrefix(result.Detail+"; "+name+" "+f.Detail, "; ")
			continue
		}
		result.Findings = append(result.Findings, f)
	}
	return result
}
