package prompt

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
)

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

// aheadText says what a grant from before the run allows.
func (g *Grant) aheadText() string {
	var lines []string
	for _, line := range g.Lines {
		lines = append(lines, Heading(&Request{Name: line.Name})+" with "+line.Envelope.text()+", "+line.Times())
	}
	return "one run of the program " + shortDigest(g.Definition) + ": " + strings.Join(lines, "; ")
}

// shortDigest is the part of a digest that people compare.
func shortDigest(digest string) string {
	short, _ := shorten(strings.TrimPrefix(digest, "sha256:"))
	return short[:min(len(short), 12)]
}

// aheadView shows the plan of a program that does not run yet. It cuts nothing.
func aheadView(r *Request, o RenderOptions) View {
	q := newQuestion(r, o, whole, newMasker(r.Display, o.Whole))
	q.block.Heading = ours(title, "plan of a program")
	q.label("risk")
	q.risk()
	q.facts("profile", r.Profile, "program", shortDigest(r.Definition), "code", r.Code)
	q.block.Facts = q.take()
	q.newline(margin)
	q.wrapped("In one run of it these calls need no further question. Each is decided again when it is made, " +
		"and whatever is not as it stands here is asked about:")
	q.planned()
	q.block.Arguments = q.take()
	q.total, q.sum = len(r.Args), r.Args
	q.lookTwice()
	v := q.alone(ours("", "You can allow calls of a program before it runs. Nothing happens now."), nil)
	v.Preview = q.preview()
	return v
}
