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
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/profiles"
)

// Foresight decides the calls that a text shows, in the order of the text.
type Foresight struct {
	tools    *registry.Registry
	policy   *inforce.Policy
	Now      context.Context // has ended, so that nothing waits for upstreams a second time
	checking context.Context // ends with the caller's, or checkTime after the first check of arguments may begin
	Counters hostfns.Counters
	seen     map[string]int // how often the text contains a call, by tool and arguments

	reads string // the text's first tool of an untrusted server, "" for none: a repeated call may follow it
	blind bool   // the text does not show all calls; the others may go to any server
	gets  bool   // an earlier call reads from a trusted server

	mayAsk  int  // how many earlier calls may ask a person, beside those in Counters
	mayRead bool // an earlier call may read from a server that is not trusted

	shown map[string]bool // the tools that the text calls with complete arguments
}

// checkTime bounds the checks of one program's arguments. Upstreams write the schemas, and a program may have a
// thousand calls.
const checkTime = 20 * time.Second

// NewForesight begins before the first call of a text. done releases its timer.
func NewForesight(ctx context.Context, tools *registry.Registry, p *inforce.Policy) (f *Foresight, done func()) {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	tooLong := errors.New("the schemas of the tools take too long to check")
	checking, done := context.WithTimeoutCause(ctx, checkTime, tooLong)
	return &Foresight{tools: tools, policy: p, Now: now, checking: checking, seen: map[string]int{}}, done
}

// Look finds the servers that the calls of a program may read from.
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

// Tainted reports whether the answer of an untrusted server may reach the arguments of a call, and whether it may not.
// This pairs with the Gate, which knows the arguments.
func (f *Foresight) Tainted(c analysis.Call) (may, mayNot bool) {
	w, ok := writtenCall(c)
	switch {
	case ok && len(w.Unknown) == 0:
		return false, true
	case f.Counters.Tainted:
		// The arguments may come from a trusted server, or be those of another call in the text.
		return true, ok && f.gets || f.shown[w.Tool]
	}
	return f.blind || f.mayRead || c.Repeats && f.reads != "", true
}

// Call decides one call, and counts it for those that come after it.
func (f *Foresight) Call(c analysis.Call) PlannedCall {
	planned := PlannedCall{Tool: c.Name, Line: c.Line, Column: c.Column, How: c.How, Args: c.Args}
	if o := c.Outline; o != nil {
		planned.Args, planned.Unknown, planned.Open = o.Shown, o.Unknown, o.Open
	}
	if bytes.Equal(planned.Args, []byte("null")) {
		planned.Args = nil
		if c.Outline == nil {
			planned.Args = json.RawMessage("{}") // as the Gate treats a call without arguments
		}
	}
	t, err := f.tools.Find(f.Now, c.Name)
	if starting, ok := errors.AsType[*hostfns.StartingError](err); ok {
		planned.Verdict = VerdictStarting
		planned.Reason = fmt.Sprintf("the server %q has not listed its tools yet", starting.Server)
		return planned
	}
	if err != nil {
		planned.Verdict, planned.Problem = VerdictUnknownTool, err.Error()
		if missing, ok := errors.AsType[*hostfns.NotFoundError](err); ok {
			planned.Nearest = f.visible(missing.Nearest)
			shown := *missing.For(f.policy.Hidden)
			shown.Nearest = planned.Nearest
			planned.Problem, planned.withheld = shown.Error(), shown.Withheld != nil
		}
		return planned
	}
	f.fit(&planned, t)
	f.decide(&planned, t, c)
	if planned.Verdict != call.Deny.String() {
		planned.Problem = f.violation(t, &planned)
	}
	f.count(&planned, t)
	return planned
}

// fit changes the arguments as the Gate does before it decides.
func (f *Foresight) fit(c *PlannedCall, t *call.Tool) {
	if t.WithoutNulls == nil || c.Args == nil {
		return
	}
	if fewer, ok := t.WithoutNulls(f.checking, call.Unread(c.Args), c.Unknown); ok {
		c.Args = fewer
	}
}

// notObject reports whether a text shows arguments that are certainly no object.
func notObject(args json.RawMessage) bool { return len(args) > 0 && args[0] != '{' }

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
		n.Taint = "its arguments are not all written in the program, " +
			"and the run has read what a server that is not trusted answered"
	}
	if len(c.Unknown)+len(c.Open) == 0 {
		n.Repeat = f.seen[c.Tool+string(c.Args)]
	}
	args := c.Args
	if len(c.Unknown) == 0 && notObject(args) && !f.policy.Hidden(t) {
		args = json.RawMessage("{}") // the fault is the program's, and no rule's: the Gate says so too
	}
	d := f.policy.Decide(t, call.Unread(args), n)
	lead := d.Lead()
	c.Verdict, c.Risk, c.Reason = d.Verdict.String(), string(d.Risk), d.Detail()
	c.Rule, c.At, c.Layer = lead.Rule, lead.Pos.Short(), lead.Layer
	profile := f.policy.Profile()
	if profile == nil {
		return
	}
	forecast := profile.Foresee(f.policy.Call(t, call.Unread(args), n), profiles.Gaps{Unknown: c.Unknown, Open: c.Open})
	if len(forecast.Decision.Reasons) > 0 {
		c.pos = forecast.Decision.Reasons[0].Pos
	}
	gaps := profiles.Gaps{Unknown: c.Unknown, Open: c.Open}
	if may && mayNot {
		n.Tainted = true
		either(&forecast, profile.Foresee(f.policy.Call(t, call.Unread(args), n), gaps),
			call.Reason{List: "raise",
				Text: "it depends on whether what a server that is not trusted answered has reached its arguments"})
	}
	if f.mayAsk > 0 {
		n.Asks += f.mayAsk
		either(&forecast, profile.Foresee(f.policy.Call(t, call.Unread(args), n), gaps),
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

// either adds the verdicts that a call may get under other circumstances, and what they depend on.
func either(forecast *profiles.Forecast, other profiles.Forecast, on call.Reason) {
	all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(forecast.Verdicts, other.Verdicts))))
	if len(all) > len(forecast.Verdicts) {
		forecast.Depends = append(forecast.Depends, on)
	}
	forecast.Verdicts = all
}

// reasons joins the reasons of a decision into one line. The deciding rule has a field of its own.
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

// violation says why the arguments cannot match the schema, whatever values the text does not show.
func (f *Foresight) violation(t *call.Tool, c *PlannedCall) string {
	known, err := f.tools.Catalog.Find(t.Name)
	if err != nil || c.Args == nil {
		return ""
	}
	if err := registry.ArgumentError(known.ValidateKnown(f.checking, call.Unread(c.Args), c.Unknown, c.Open)); err != nil {
		return "the arguments do not fit: " + err.Error()
	}
	return ""
}

// count counts the call as if the program had made it.
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

// foresee adds a call to the plan. Most host functions decide nothing and are left out.
func (f *Foresight) foresee(plan *Plan, c analysis.Call) {
	switch {
	case c.Host && c.How == analysis.Value:
		f.handedOn(plan, c)
	case !hostfns.IsFunction(c.Name):
		f.plan(plan, c)
	case c.Name == hostfns.ReadResource:
		if read, ok := ResourceCall(c); ok {
			plan.Calls = append(plan.Calls, f.Call(read))
		} else {
			plan.Dynamic = append(plan.Dynamic, analysis.Position{Line: c.Line, Column: c.Column})
		}
	}
}

// handedOn handles a server's tools, or a host function, that the program uses as a value. Neither is a call. The place
// remains dynamic unless the function decides nothing.
func (f *Foresight) handedOn(plan *Plan, c analysis.Call) {
	server, _ := f.tools.ServerOf(c.Name + "__")
	if server.Name != "" || !hostfns.IsFunction(c.Name) || c.Name == hostfns.ReadResource {
		return
	}
	plan.Dynamic = slices.DeleteFunc(plan.Dynamic, func(at analysis.Position) bool { return at == c.Position })
}

// plan adds a call of a tool. A program that only holds a tool, or asks whether it is there, may never call it, so an
// unknown one is only a warning.
func (f *Foresight) plan(plan *Plan, c analysis.Call) {
	planned := f.Call(c)
	if c.How != analysis.Value && !c.Tested || planned.Verdict != VerdictUnknownTool {
		plan.Calls = append(plan.Calls, planned)
		return
	}
	does := "holds %s and may call it"
	if c.Tested {
		does = "asks whether there is %s"
	}
	warning := fmt.Sprintf("line %d: the program "+does+"; %s",
		c.Line, visible.Short(c.Name, 80), visible.Short(planned.Problem, sentenceRunes))
	plan.Warnings = append(plan.Warnings, warning)
}
