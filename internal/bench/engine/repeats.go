package engine

import (
	"fmt"
	"slices"
	"strings"
)

// repeats are the runs of one case, or of one question, which decide together what its findings are.
//
// What was not measured counts if one run has it: it may be what happens once in a thousand times. A measurement
// beyond its limit counts if each run has it. With a baseline it counts if the baseline and one run have it, or if it
// is beyond twice its limit in each run.
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

// add adds a run.
func (r *repeats) add(run CaseResult) {
	run.Findings = slices.DeleteFunc(run.Findings, func(f Finding) bool {
		doubtful := f.near && r.known != nil && !r.knows(f)
		if doubtful {
			run.note(f)
		}
		return doubtful
	})
	r.runs = append(r.runs, run)
}

// decided reports whether another run changes nothing.
func (r *repeats) decided() bool {
	first, seen := r.runs[0], r.names()
	if len(r.runs) >= r.most() || len(first.Skipped) > 0 {
		return true
	}
	for _, name := range seen {
		measured, times := r.measured(name)
		if measured && times == len(r.runs) && !slices.Contains(r.known[first.Case], name) {
			return false
		}
	}
	for _, name := range r.known[first.Case] {
		if !slices.Contains(seen, name) {
			return false
		}
	}
	return true
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
func (r *repeats) knows(f Finding) bool { return slices.Contains(r.known[f.Case], f.Finding) }

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
	if len(r.runs) == 1 {
		return result
	}
	result.Findings = nil
	var details []string
	for _, run := range r.runs {
		if run.Detail != "" && !slices.Contains(details, run.Detail) {
			details = append(details, run.Detail)
		}
	}
	result.Detail = strings.Join(details, "; ")
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
		if measured && times < len(r.runs) && !r.knows(f) {
			result.note(f)
			continue
		}
		result.Findings = append(result.Findings, f)
	}
	return result
}

// note puts a finding that does not count into the detail.
func (r *CaseResult) note(f Finding) {
	r.Detail = strings.TrimPrefix(r.Detail+"; "+f.Finding+" "+f.Detail, "; ")
}
