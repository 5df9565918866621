package prompt

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/codemode-project/codemode/call"
)

// A PlannedCall is a line of a plan: a number of calls of one tool with arguments that fit an envelope.
type PlannedCall struct {
	Call     *Request // what the call is bound to; its arguments are those in the text, and null for the unknown ones
	Envelope Envelope
	Count    int
	// Further says that the number of calls is unknown, and Count only bounds it. At is the line of the program's text
	// that makes them; 0 is unknown.
	Further bool
	At      int
}

// PlanGrants turns a plan that a person has approved into grants for one run. Each call is still decided when the
// program makes it: a grant answers questions, for as many calls as planned. If one line cannot have a grant,
// PlanGrants returns an error and no grants: a plan is approved as shown or not at all.
func PlanGrants(plan []PlannedCall, run string, now time.Time) ([]*Grant, error) {
	var grants []*Grant
	for _, line := range plan {
		r := *line.Call
		r.Args, r.Run, r.Terms.Args = nil, run, coverAny
		switch {
		case run == "" || line.Count <= 0:
			return nil, fmt.Errorf("%s: %w: there is no run or no call", Heading(&r), errNotOffered)
		case r.Risk.Grave():
			return nil, fmt.Errorf("%s: %w: what is of high risk has to be seen whole, each time", Heading(&r), errNotOffered)
		case !line.Envelope.short() || !rememberable(line.Call):
			return nil, fmt.Errorf("%s: %w: it cannot be shown whole", Heading(&r), errNotOffered)
		}
		for _, v := range line.Envelope.Fixed {
			if form, err := canonical([]byte(v.JSON)); err != nil || string(form) != v.JSON {
				return nil, fmt.Errorf("%s: the value planned at %s is not canonical JSON", Heading(&r), Quote(v.Pointer))
			}
		}
		g, err := r.Draft(call.Answer{Scope: call.ForRun}, now)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", Heading(&r), err)
		}
		envelope := line.Envelope
		g.Coverage, g.Digest, g.Values, g.Envelope = coverEnvelope, "", nil, &envelope
		g.Uses, g.Further = line.Count, line.Further
		if line.At > 0 {
			g.At = []int{line.At}
		}
		grants = append(grants, g)
	}
	return grants, nil
}

// planTool is the name of a question that lets people allow the calls of a program before it runs. It has no server.
const planTool = "plan"

// PlanAhead makes r the question that lets people allow plan before the program runs. r says for whom and under which
// profile the program will run. program is the digest of its text. The lines of the plan are bound to r.Run, like those
// of a question during a run.
func (r *Request) PlanAhead(program string, plan []*Grant) error {
	type line struct {
		Tool string                     `json:"tool"`
		How  string                     `json:"calls"`
		With map[string]json.RawMessage `json:"with,omitempty"`
		Any  []string                   `json:"any,omitempty"`
	}
	said := struct {
		Program string `json:"program"`
		Calls   []line `json:"calls"`
	}{Program: program}
	for _, g := range plan {
		l := line{Tool: g.Name, How: g.Times(), With: map[string]json.RawMessage{}, Any: g.Envelope.Free}
		for _, v := range g.Envelope.Fixed {
			l.With[v.Pointer] = json.RawMessage(v.JSON)
		}
		said.Calls = append(said.Calls, l)
	}
	args, err := json.Marshal(said)
	if err != nil {
		return err
	}
	r.Name, r.Tool, r.Definition, r.Args, r.Plan, r.Ahead = planTool, planTool, program, args, plan, true
	return nil
}

// DraftAhead makes the grant for a yes to a question from PlanAhead. It is good for one run, and expires at until at
// the latest. It covers no call by itself; [Grant.For] returns the grants that do.
func (r *Request) DraftAhead(until, now time.Time) (*Grant, error) {
	if !r.Ahead || r.Principal == "" && r.Session == "" {
		return nil, fmt.Errorf("%w: nobody knows for whom the program is run", errNotOffered)
	}
	g, err := draftPlan(r, now)
	if err != nil {
		return nil, err
	}
	g.Run, g.Uses = "", 1
	if r.Principal == "" {
		g.Session = r.Session
	}
	if until.Before(g.Expires) {
		g.Expires = until
	}
	return g, nil
}

// For returns the grants for a run, in session, of the program that g was given for in advance. It returns none if g is
// not such a grant.
func (g *Grant) For(run, session string) []*Grant {
	if g.Scope != call.ForPlan || g.Name != planTool || g.Run != "" || g.Session != "" && g.Session != session ||
		run == "" {
		return nil
	}
	all := g.All()
	for _, line := range all {
		line.Run = run
	}
	return all
}

// AheadKey is the Key of grants given in advance for a program.
func AheadKey(principal, profile, program string) string {
	r := Request{Principal: principal, Profile: profile, Name: planTool, Definition: program}
	return r.Key()
}

// PlanBasis is the Basis of a question about a plan: what asks about each of its calls.
func PlanBasis(plan []*Grant) string {
	var keys []string
	for _, g := range plan {
		keys = append(keys, g.Key())
	}
	return grantKey(keys...)
}
