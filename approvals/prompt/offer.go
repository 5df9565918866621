package prompt

import (
	"fmt"
	"time"

	"github.com/codemode-project/codemode/call"
)

// An Offer is a way of saying yes. Its grant is for Uses calls (0 is any number) and for Length. An answer may set
// other numbers, up to MostUses and Longest.
type Offer struct {
	Text     string     `json:"text"`
	Uses     int        `json:"uses,omitempty"`
	MostUses int        `json:"mostUses,omitempty"`
	Scope    call.Scope `json:"scope"`
	Length   string     `json:"length,omitempty"` // such as 5m0s
	Longest  string     `json:"longest,omitempty"`

	Grant *Grant `json:"-"` // nil for a single yes
}

// Offers returns the ways of saying yes to all of calls: once, and those that a person may have remembered. There is
// none to an Inquiry.
func Offers(calls []*Request, now time.Time) (all []Offer) {
	r := calls[0]
	text := "Allow this call"
	switch {
	case len(calls) > 1:
		text = fmt.Sprintf("Allow all %d calls, once each", len(calls))
	case r.Inquiry != nil:
		return nil
	case r.Ahead:
		text = "Allow these calls in one run of the program"
	}
	all = append(all, Offer{Scope: call.Once, Text: text})
	var grants []*Grant
	if len(calls) == 1 && !r.Ahead && len(r.Terms.Scopes) > 0 && rememberable(r) {
		for _, scope := range r.Terms.Scopes {
			if g, err := r.Draft(call.Answer{Scope: scope}, now); scope != call.Once && err == nil {
				grants = append(grants, g)
			}
		}
	}
	if plan := planOf(calls, now); plan != nil {
		grants = append(grants, plan)
	}
	for _, g := range grants {
		o := Offer{Scope: g.Scope, Text: g.Text(), Uses: g.Uses, MostUses: mostUses(g.Scope), Grant: g}
		if o.MostUses > 0 { // else the person cannot change it
			o.Length, o.Longest = g.Expires.Sub(g.Created).String(), r.Terms.longest().String()
		}
		all = append(all, o)
	}
	return all
}

// planOf returns the plan that a person can allow together with all of calls; nil if there is none.
func planOf(calls []*Request, now time.Time) (plan *Grant) {
	for _, r := range calls {
		var err error
		if plan, err = r.Draft(call.Answer{Scope: call.ForPlan}, now); err != nil {
			return nil
		}
	}
	return plan
}
