package prompt

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
)

// Names of the fields of a form.
const (
	decisionField = "decision"
	allField      = "same_for_all"
	refuseField   = "refuse"
	reasonField   = "reason"
)

const (
	denyValue  = "deny"
	allowValue = "allow_once"
	scopeValue = "allow_" // plus a scope: this once, and the calls of the grant
	planValue  = scopeValue + string(call.ForPlan)
)

// A field is one decision of a form.
type field struct {
	name    string
	calls   []int
	offered []choice
	partial []int // the calls that it can only refuse: they are not shown whole, or their risk is too high
}

func fields(calls []*Request, shown *View) []field {
	var all []field
	for i, share := range decisions(calls) {
		f := field{name: decisionField, calls: share}
		if len(calls) > 1 {
			f.name = fmt.Sprintf("%s_%d", decisionField, i+1)
		}
		var those []*Request
		for _, c := range share {
			if r := calls[c]; r.Inquiry == nil && r.Risk.FormSuffices() && shown.each[c] {
				those = append(those, r)
			} else {
				f.partial = append(f.partial, c)
			}
		}
		f.offered = choices(len(share), those)
		all = append(all, f)
	}
	if len(calls) > 1 && len(all) == 1 && len(all[0].offered) > 1 { // else the plan goes with the decision for all
		if g := planOf(calls, time.Now()); g != nil {
			all[0].offered = append(all[0].offered, choice{planValue, g.Text()})
		}
	}
	return all
}

// title names the calls that the field decides.
func (f *field) title(calls []*Request) string {
	title := Heading(calls[f.calls[0]])
	for _, c := range f.calls[1:] {
		if Heading(calls[c]) != title {
			title = "several tools"
			break
		}
	}
	if len(calls) > 1 {
		what := numbered(calls).names(f.calls)
		title = strings.ToUpper(what[:1]) + what[1:] + ": " + title
	}
	if code, _ := shorten(calls[f.calls[0]].Code); code != "" && len(f.calls) == 1 {
		title += ", code " + code
	}
	return title
}

// remark says which calls a decision cannot allow, why, and where people can.
func (f *field) remark(calls []*Request) string {
	if len(f.partial) == 0 {
		return ""
	}
	r, what := calls[f.partial[0]], "This form can only refuse"
	if len(calls) > 1 {
		what += " " + numbered(calls).names(f.partial)
	}
	why := "the call is too large to be shown whole here"
	if !r.Risk.FormSuffices() {
		why = "a call of this risk is allowed only where it is known who answers"
	}
	if r.Elsewhere != "" {
		why += ". " + r.Elsewhere
	}
	return "\n" + what + ": " + why + ".\n"
}

// choices returns what a form offers about calls that share a decision: all of them, and those that it can allow. A
// refusal comes first, so that a client that takes the first value of a list for its default refuses. A choice of
// approval is missing where it would not count.
func choices(all int, calls []*Request) []choice {
	offered := []choice{{denyValue, "Refuse"}}
	switch {
	case len(calls) == 0:
		return offered
	case len(calls) < all:
		return append(offered, choice{allowValue, fmt.Sprintf("Allow %d of these %d calls, as said above", len(calls), all)})
	case all > 1:
		return append(offered, choice{allowValue, fmt.Sprintf("Allow these %d calls", all)})
	}
	return append(offered, allowed(calls)...)
}

// allowed are the choices for the offers of calls.
func allowed(calls []*Request) (all []choice) {
	for _, o := range Offers(calls, time.Now()) {
		all = append(all, choice{scopeValue + string(o.Scope), o.Text})
	}
	return all
}

// maxDecisions is how many decisions one form asks for.
const maxDecisions = 10

// decisions groups the calls that share a decision in a form.
func decisions(calls []*Request) [][]int {
	var all [][]int
	if len(calls) <= maxDecisions {
		for i := range calls {
			all = append(all, []int{i})
		}
		return all
	}
	all = blocks(calls)
	if len(all) > maxDecisions { // the rest share the last one
		rest := slices.Concat(all[maxDecisions-1:]...)
		slices.Sort(rest)
		all = append(all[:maxDecisions-1], rest)
	}
	return all
}
