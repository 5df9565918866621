package preflight

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/inforce"
	"github.com/codemode-project/codemode/profiles"
	"github.com/codemode-project/codemode/registry"
)

// A Plan says what a program would do, as far as its text shows. Nothing runs,
// and nobody is asked.
type Plan struct {
	// Allowed says that nothing which can be seen is sure to be refused or to fail.
	Allowed  bool                `json:"allowed"`
	Profile  string              `json:"profile"`
	Script   string              `json:"script,omitempty"`
	Program  string              `json:"program"`            // sha256 of the text
	Problems []analysis.Problem  `json:"problems,omitempty"` // not empty: it cannot run
	Calls    []PlannedCall       `json:"calls"`
	Dynamic  []analysis.Position `json:"dynamic,omitempty"`  // calls whose name only the running program knows
	Warnings []string            `json:"warnings,omitempty"` // what was probably not meant
	// Suggestions say what the program's author could change, Requests what
	// the person who looks after the rules could.
	Suggestions []string `json:"suggestions,omitempty"`
	Requests    []string `json:"requests,omitempty"`
	Link        string   `json:"link,omitempty"`  // where rules are changed, with what is wanted filled in
	Reply       string   `json:"reply,omitempty"` // to paste to whoever wants the program run

	// Required says that the profile runs no program without the token of a check.
	Required bool      `json:"preflightRequired,omitempty"`
	Token    string    `json:"preflight,omitempty"` // to run the program with; "" if the program cannot run
	Expires  time.Time `json:"preflightExpires,omitzero"`
	// OnlyHere says that the token counts in this process alone.
	OnlyHere bool   `json:"preflightOnlyHere,omitempty"`
	Stale    string `json:"stale,omitempty"` // why the rules are not those of the file as it is now

	// Asked is what came of [Evaluator.AllowPlan], for whoever calls it beside Check; nil if nobody did.
	Asked *PlanAnswer `json:"asked,omitempty"`

	tool string
}

// A PlannedCall is a call that can be seen in a program's text. The verdict is
// the one of this moment, as if the calls were made once each and one after the
// other; each call is decided anew when it is made.
type PlannedCall struct {
	Tool     string          `json:"tool"`
	Line     int             `json:"line"`
	Column   int             `json:"column"`
	How      string          `json:"how,omitempty"`      // member, computed, alias ...
	Args     json.RawMessage `json:"args,omitempty"`     // as far as they stand in the text; null where they do not
	Unknown  []string        `json:"unknown,omitempty"`  // JSON Pointers to what only the running program knows; "" is all of it
	Open     []string        `json:"open,omitempty"`     // JSON Pointers to objects that may get more members
	Verdict  string          `json:"verdict"`            // allow, ask, deny, depends, or unknown tool
	Verdicts []string        `json:"verdicts,omitempty"` // of depends: those it may get, the strictest first
	Depends  []string        `json:"depends,omitempty"`  // of depends: on which rules and arguments
	Risk     string          `json:"risk,omitempty"`
	Rule     string          `json:"rule,omitempty"`
	At       string          `json:"at,omitempty"` // file:line of the rule
	Layer    string          `json:"layer,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Problem  string          `json:"problem,omitempty"` // an unknown name, or arguments that do not fit
	Nearest  []string        `json:"nearest,omitempty"`

	pos call.Position // of the rule, with its file's whole path
}

// Verdicts that are not those of a policy.
const (
	VerdictUnknownTool = "unknown tool" // the name has no tool
	VerdictDepends     = "depends"      // on what only the running program knows
)

// Refused reports whether the call is sure not to get through. A tool that the program
// uses as a value is none: perhaps nobody calls it.
func (c *PlannedCall) Refused() bool {
	return c.How != analysis.Value && (c.Verdict == call.Deny.String() || c.Verdict == VerdictUnknownTool || c.Problem != "")
}

// Denied counts the calls that are sure not to get through.
func (p *Plan) Denied() int {
	n := 0
	for i := range p.Calls {
		if p.Calls[i].Refused() {
			n++
		}
	}
	return n
}

// maxPlanned is how many calls one check looks at.
const maxPlanned = 1000

// A Checker says what programs would do, and gives and reads the tokens that say that it did.
type Checker struct {
	Rules    *inforce.Rules
	Tools    *registry.Registry
	Programs *Programs
	Tokens   *Tokens
	Page     atomic.Pointer[string] // where the rules are changed, see SetRulesPage; nil: nowhere here
}

// A Submission is a program that is checked, or that comes with the token of a check.
type Submission struct {
	inforce.Wish
	Tool  string // the MCP tool that the caller runs programs with, for messages
	Token string // of a check
	Local bool   // the caller sits at this machine: links may name its files
}

// Check says what a program would do under a policy.
func (c *Checker) Check(ctx context.Context, r *Submission, policy *inforce.Policy, saved *inforce.SavedProgram) (*Plan, error) {
	plan := &Plan{Profile: cmp.Or(r.Profile, policy.ProfileName()), Script: r.Script, Program: inforce.ProgramHash(r.Code), Calls: []PlannedCall{}, tool: r.Tool}
	if err := c.Rules.Now().Stale; err != nil {
		plan.Stale = StaleText(err)
	}
	profile := policy.Profile()
	plan.Required = profile != nil && profile.RequirePreflight()
	limits, _ := c.Rules.Limits(profile)
	if len(r.Code) > limits.ProgramBytes {
		return nil, fmt.Errorf("the program has %d bytes, the limit is %d", len(r.Code), limits.ProgramBytes)
	}
	program, problems, err := c.Programs.Read(ctx, r.Owner(), cmp.Or(r.Name, "program.ts"), r.Code)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		plan.Problems = problems
		return plan, nil
	}
	plan.Dynamic = slices.Clone(program.Dynamic) // the program is shared
	if len(program.Calls) > 0 {
		c.Tools.Ready(ctx, registry.CheckWait)
	}
	foresight, done := NewForesight(ctx, c.Tools, policy)
	defer done()
	foresight.Look(program)
	for i, call := range program.Calls {
		if len(plan.Calls) == maxPlanned {
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("line %d: this call and what follows it, %d in all, was not looked at: it is too much for one check", call.Line, len(program.Calls)-i))
			break
		}
		foresight.foresee(plan, call)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	if program.Unreturned.Line > 0 {
		plan.Warnings = append(plan.Warnings, UnreturnedHint(program.Unreturned))
	}
	plan.Allowed = plan.Denied() == 0
	plan.advise(saved != nil)
	if !plan.Allowed {
		plan.Link = c.adminLink(r, profile, plan.refused())
	}
	now := policy.Now()
	plan.Token, plan.Expires = c.token(r.Code, policy, now)
	plan.OnlyHere = c.Tokens.Ephemeral
	return plan, nil
}

// HostFunctions are the names a program may call that are no tools.
var HostFunctions = map[string]bool{"search": true, "search_tools": true, "get_tools": true, "emit": true, hostfns.AskUser: true, hostfns.ReadResource: true}

// Foresight decides calls that have not been made yet, in the order of the text.
type Foresight struct {
	tools    *registry.Registry
	policy   *inforce.Policy
	Now      context.Context // has ended: upstreams were waited for, and are not again
	checking context.Context // ends with the caller's, or when arguments have been checked for checkTime
	Counters hostfns.Counters
	seen     map[string]int // how often a call stands in the text, by tool and arguments

	reads string // of the text's calls the first whose server is not trusted, "" if none is; then a call that may be made later is tainted
	blind bool   // some calls cannot be seen, and may be of any server
	gets  bool   // a call of a trusted server comes before

	mayAsk  int  // calls before that are perhaps asked about, beside those that are counted
	mayRead bool // a call before is perhaps made, and its server is not trusted

	shown map[string]bool // tools that the text calls with arguments it shows whole
}

// checkTime is how long the schemas of one program's calls are worked at: they are strangers', and there may be a
// thousand calls.
const checkTime = 20 * time.Second

func NewForesight(ctx context.Context, tools *registry.Registry, p *inforce.Policy) (f *Foresight, done func()) {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	checking, done := context.WithTimeoutCause(ctx, checkTime, errors.New("the schemas of the tools take too long to check"))
	return &Foresight{tools: tools, policy: p, Now: now, checking: checking, seen: map[string]int{}}, done
}

// Look finds out what the calls of a program may read.
func (f *Foresight) Look(p *analysis.Program) {
	f.blind, f.shown = len(p.Dynamic) > 0, map[string]bool{}
	for _, c := range p.Calls {
		name := c.Name
		if c.Name == hostfns.ReadResource {
			if read, ok := ResourceCall(c); ok {
				name = read.Name
			}
		}
		if w, ok := writtenCall(c); ok && len(w.Unknown) == 0 {
			f.shown[w.Tool] = true
		}
		if t, err := f.tools.Find(f.Now, name); err == nil && !t.Trusted {
			f.reads = cmp.Or(f.reads, t.Name)
		}
	}
}

// Tainted says whether what an untrusted server answered may have reached a call, and whether it may just as well not have. It
// pairs with the Gate, which knows the arguments.
func (f *Foresight) Tainted(c analysis.Call) (may, mayNot bool) {
	w, ok := writtenCall(c)
	switch {
	case ok && len(w.Unknown) == 0:
		return false, true
	case f.Counters.Tainted:
		// A value of a trusted server is none of an untrusted one, and the arguments may turn out to be those of another call in the text.
		return true, ok && f.gets || f.shown[w.Tool]
	}
	return f.blind || f.mayRead || c.Repeats && f.reads != "", true
}

func (f *Foresight) Call(c analysis.Call) PlannedCall {
	planned := PlannedCall{Tool: c.Name, Line: c.Line, Column: c.Column, How: c.How, Args: c.Args}
	if o := c.Outline; o != nil {
		planned.Args, planned.Unknown, planned.Open = o.Shown, o.Unknown, o.Open
	}
	if bytes.Equal(planned.Args, []byte("null")) {
		planned.Args = nil
		if c.Outline == nil {
			planned.Args = json.RawMessage("{}") // as the Gate takes a call without arguments
		}
	}
	t, err := f.tools.Find(f.Now, c.Name)
	if err != nil {
		planned.Verdict, planned.Problem = VerdictUnknownTool, err.Error()
		if missing, ok := errors.AsType[*hostfns.NotFoundError](err); ok {
			planned.Nearest = f.visible(missing.Nearest)
			shown := *missing
			shown.Nearest = planned.Nearest
			planned.Problem = shown.Error()
		}
		return planned
	}
	f.decide(&planned, t, c)
	if planned.Verdict != call.Deny.String() {
		planned.Problem = f.misfit(t, &planned)
	}
	f.count(&planned, t)
	return planned
}

// visible leaves out the names of tools that the profile hides.
func (f *Foresight) visible(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		t, err := f.tools.Find(f.Now, name)
		return err != nil || f.policy.Hidden(t)
	})
}

func (f *Foresight) decide(c *PlannedCall, t *call.Tool, seen analysis.Call) {
	n := f.Counters
	may, mayNot := f.Tainted(seen)
	if n.Tainted = !mayNot; n.Tainted {
		n.Taint = "its arguments are not all written in the program, and the run has read what a server that is not trusted answered"
	}
	if len(c.Unknown)+len(c.Open) == 0 {
		n.Repeat = f.seen[c.Tool+string(c.Args)]
	}
	d := f.policy.Decide(t, call.Unread(c.Args), n)
	lead := d.Lead()
	c.Verdict, c.Risk, c.Reason = d.Verdict.String(), string(d.Risk), d.Detail()
	c.Rule, c.At, c.Layer = lead.Rule, lead.Pos.Short(), lead.Layer
	profile := f.policy.Profile()
	if profile == nil {
		return
	}
	forecast := profile.Foresee(f.policy.Call(t, call.Unread(c.Args), n), profiles.Gaps{Unknown: c.Unknown, Open: c.Open})
	if len(forecast.Decision.Reasons) > 0 {
		c.pos = forecast.Decision.Reasons[0].Pos
	}
	gaps := profiles.Gaps{Unknown: c.Unknown, Open: c.Open}
	if may && mayNot {
		n.Tainted = true
		either(&forecast, profile.Foresee(f.policy.Call(t, call.Unread(c.Args), n), gaps),
			call.Reason{List: "raise", Text: "it depends on whether what a server that is not trusted answered has reached its arguments"})
	}
	if f.mayAsk > 0 {
		n.Asks += f.mayAsk
		either(&forecast, profile.Foresee(f.policy.Call(t, call.Unread(c.Args), n), gaps),
			call.Reason{List: "limits", Text: "it depends on how many questions the run has asked before"})
	}
	if len(forecast.Verdicts) < 2 {
		c.Reason = reasons(forecast.Decision)
		return
	}
	c.Verdict, c.Risk, c.Rule, c.At, c.Layer, c.Reason = VerdictDepends, "", "", "", "", ""
	for _, v := range forecast.Verdicts {
		c.Verdicts = append(c.Verdicts, v.String())
	}
	for _, r := range forecast.Depends {
		c.Depends = append(c.Depends, r.String())
	}
}

// either adds what a call may get under other circumstances, and what it depends on then.
func either(forecast *profiles.Forecast, other profiles.Forecast, on call.Reason) {
	all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(forecast.Verdicts, other.Verdicts))))
	if len(all) > len(forecast.Verdicts) {
		forecast.Depends = append(forecast.Depends, on)
	}
	forecast.Verdicts = all
}

// reasons puts what speaks for a decision into one line; the rule that decided
// stands beside it.
func reasons(d call.Decision) string {
	var texts []string
	for i, r := range d.Reasons {
		text := r.Text
		if i > 0 {
			text = r.String()
		}
		if text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; ")
}

// misfit says what is wrong with the arguments, whatever the unknown ones turn out to be.
func (f *Foresight) misfit(t *call.Tool, c *PlannedCall) string {
	known, err := f.tools.Catalog.Find(t.Name)
	if err != nil || c.Args == nil {
		return ""
	}
	if err := registry.ArgumentError(known.ValidateKnown(f.checking, call.Unread(c.Args), c.Unknown, c.Open)); err != nil {
		return "the arguments do not fit: " + err.Error()
	}
	return ""
}

// count goes on as if the call had been made.
func (f *Foresight) count(c *PlannedCall, t *call.Tool) {
	f.Counters.Calls++
	f.seen[c.Tool+string(c.Args)]++
	if c.Refused() {
		return
	}
	if c.Verdict == call.Ask.String() {
		f.Counters.Asks++
	}
	if slices.Contains(c.Verdicts, call.Ask.String()) {
		f.mayAsk++
	}
	switch {
	case t.Trusted:
	case slices.Contains(c.Verdicts, call.Deny.String()):
		f.mayRead = true
	default:
		f.Counters.Tainted = true
	}
	f.gets = f.gets || t.Trusted
}
