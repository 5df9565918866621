package policy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/profiles"
)

// A subject is one profile under attack, with the tools.
type subject struct {
	*dry
	policy  *inforce.Policy
	profile *profiles.Profile
	rules   []*profiles.Rule // those of the profile, then those of the layers that bind it
	tools   []*tool
	local   map[string]bool          // the servers that run on this machine
	pos     call.Position            // of the profile; for a base tool without one, of the first profile
	known   map[*tool]map[string]any // arguments that the profile allows; nil if none are found
	plain   sync.Map                 // whether the profile allows the call of a plain program, by its text
}

func newSubject(d *dry, cfg *config.Config, name string, tools []*tool) (*subject, error) {
	policy, err := d.rules.Bind(name, nobodyInParticular)
	if err != nil {
		return nil, err
	}
	s := &subject{dry: d, policy: policy, profile: policy.Profile(), tools: tools,
		local: map[string]bool{"filesystem": true}, known: map[*tool]map[string]any{}}
	s.rules = slices.Clone(s.profile.Rules())
	for _, l := range s.profile.Layers() {
		s.rules = append(s.rules, l.Profile.Rules()...)
	}
	for _, t := range tools {
		s.known[t] = s.decided(t, call.Allow, profiles.Allowlist)
	}
	if s.pos = s.profile.Pos(); s.pos.Line == 0 {
		s.pos.File = cfg.Path
		for _, other := range cfg.All() {
			if at := cfg.Profile(other).Pos(); s.pos.Line == 0 || at.File == s.pos.File && at.Line < s.pos.Line {
				s.pos = at
			}
		}
	}
	for _, server := range cfg.Servers {
		to, err := server.Connection(func(string) (string, bool) { return "x", true })
		s.local[server.Name] = err == nil && to.OwnProcess()
	}
	return s, nil
}

// name is the name of the profile in a report.
func (s *subject) name() string { return cmp.Or(s.policy.Name, s.profile.Name(), "codemode_eval") }

// A Family is a kind of attack.
type Family string

// The families, in the order of the suite.
const (
	Exfiltration Family = "exfiltration"
	Destructive  Family = "destructive tool"
	Traversal    Family = "path traversal"
	URLTrick     Family = "URL trick"
	Second       Family = "second command"
	Smuggling    Family = "argument smuggling"
	LookAlike    Family = "look-alike name"
	Detour       Family = "detour"
	NoBudget     Family = "no budget"
	NoEffect     Family = "rule without effect"
	Approval     Family = "approval"
)

// Families are all families.
var Families = []Family{Exfiltration, Destructive, Traversal, URLTrick, Second, Smuggling, LookAlike, Detour, NoBudget,
	NoEffect, Approval}

// A Severity says how bad a finding is.
type Severity string

const (
	High   Severity = "high"
	Medium Severity = "medium"
	Low    Severity = "low"
)

// A weakness is something that a profile may let through, and the attacks that would show it.
type weakness struct {
	family   Family
	severity Severity
	rule     *profiles.Rule // at fault; nil is the one that lets the call through
	mend     string
	argument string   // the JSON Pointer to what the rule looks at; "" is nothing
	attacks  []attack // the first one that succeeds is enough
}

// An attack is a program, and what it shows.
type attack struct {
	tool    *tool
	program string
	// plain is a program that makes the call in the plain way, which the profile must not allow; "" if there is none.
	plain string
	// least is how many calls of the tool have to be sent without a question; 0 is 1. The last one counts.
	least   int
	carries bool              // what another tool answered has to be in the arguments
	person  approvals.Channel // answers questions; nil is nobody
	by      string            // what has to let the last call through, such as call.ByGrant; "" is a rule or none
	message string            // what is wrong, in a sentence
}

// call is a program with one call.
func (t *tool) call(args map[string]any) string {
	return "return await " + t.expression(literal(args)) + ";"
}

var identifier = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// expression calls the tool with arguments that are JavaScript.
func (t *tool) expression(args string) string {
	if !identifier.MatchString(t.Name) {
		return fmt.Sprintf("codemode[%q](%s)", t.Name, args)
	}
	return fmt.Sprintf("codemode.%s(%s)", t.Name, args)
}

// fits reports whether the Gate accepts the arguments.
func (t *tool) fits(args map[string]any) bool {
	return t.Validate(context.Background(), call.Unread(json.RawMessage(literal(args)))) == nil
}

// try makes the attacks. The result is nil if none succeeds.
func (s *subject) try(ctx context.Context, w *weakness) (*Finding, error) {
	for i := range w.attacks {
		shown, err := s.succeeds(ctx, &w.attacks[i])
		if err != nil {
			return nil, fmt.Errorf("the profile %s, %s: %w", s.name(), w.family, err)
		}
		if shown != nil && s.letsThrough(w.rule, &w.attacks[i], shown) {
			return s.finding(w, &w.attacks[i], shown), nil
		}
	}
	return nil, nil
}

// succeeds runs the programs of an attack. It returns the call that was let through, nil if none was.
func (s *subject) succeeds(ctx context.Context, a *attack) (*sentCall, error) {
	if a.plain != "" {
		if allowed, err := s.allowsPlain(ctx, a.plain); allowed || err != nil {
			return nil, err
		}
	}
	t, err := s.run(ctx, s.policy.Name, a.program, a.person)
	if err != nil {
		return nil, err
	}
	sent := t.sentTo(a.tool.Name)
	if len(sent) < max(a.least, 1) {
		return nil, nil
	}
	last := &sent[len(sent)-1]
	if a.by == "" && !last.byRules() || a.by != "" && a.by != last.by {
		return nil, nil
	}
	if a.carries && !bytes.Contains(last.args, []byte(canary)) {
		return nil, nil
	}
	return last, nil
}

// allowsPlain reports whether the profile allows the call of a plain program. Many attacks have the same one.
func (s *subject) allowsPlain(ctx context.Context, program string) (bool, error) {
	if known, ok := s.plain.Load(program); ok {
		return known.(bool), nil
	}
	t, err := s.run(ctx, s.policy.Name, program, nil)
	if err != nil {
		return false, err
	}
	allowed := slices.ContainsFunc(t.sent, sentCall.byRules)
	s.plain.Store(program, allowed)
	return allowed, nil
}

// letsThrough reports whether a rule is at fault for a call that was let through: an allow rule, unless another one is.
func (s *subject) letsThrough(r *profiles.Rule, a *attack, shown *sentCall) bool {
	if r == nil || r.List != profiles.Allowlist {
		return true
	}
	d := s.policy.Decide(s.registry.Describe(a.tool.Tool), call.Unread(shown.args), hostfns.Counters{})
	return slices.ContainsFunc(d.Reasons, func(reason call.Reason) bool { return reason.Pos == r.Pos })
}

// decide decides a call as the first one of a run.
func (s *subject) decide(t *tool, args map[string]any) call.Decision {
	return s.policy.Decide(s.registry.Describe(t.Tool), call.Unread(json.RawMessage(literal(args))), hostfns.Counters{})
}

// allowed are arguments with which the profile allows the tool without a question; nil if none are found.
func (s *subject) allowed(t *tool) map[string]any { return s.known[t] }

// decided returns arguments about which the profile has a verdict, by the rules of a list if the sample does not do;
// nil if none are found.
func (s *subject) decided(t *tool, verdict call.Verdict, by profiles.List) map[string]any {
	if t.sample == nil {
		return nil
	}
	if s.decide(t, t.sample).Verdict == verdict {
		return t.sample
	}
	for _, r := range s.about(t) {
		if r.List != by || len(r.When) == 0 {
			continue
		}
		if args := satisfied(r, t.sample, -1); args != nil && s.decide(t, args).Verdict == verdict {
			return args
		}
	}
	return nil
}

// about are the rules about a tool.
func (s *subject) about(t *tool) []*profiles.Rule {
	return slices.DeleteFunc(slices.Clone(s.rules), func(r *profiles.Rule) bool { return !r.Matches(t.Name, rawName(t)) })
}

// rawName is the name of the tool as its server spells it, for rules.
func rawName(t *tool) string { return t.Server + call.Separator + t.Raw }

// behind is the rule that lets a call through; nil if no rule mentions it.
func (s *subject) behind(d *call.Decision) *profiles.Rule {
	lead := d.Lead()
	i := slices.IndexFunc(s.rules, func(r *profiles.Rule) bool {
		return r.Pos == lead.Pos && r.List.String() == lead.List
	})
	if i < 0 {
		return nil
	}
	return s.rules[i]
}

// weaknesses are all that the suite looks for.
func (s *subject) weaknesses() (all []weakness) {
	for _, of := range []func() []weakness{s.exfiltration, s.destructive, s.disguises, s.siblings, s.lookalikes, s.spills,
		s.detours, s.floods, s.overridden, s.approvals} {
		all = append(all, of()...)
	}
	return all
}
