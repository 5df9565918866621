package profiles

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/internal/settings"
)

// An Explanation is a decision with the result of every rule.
type Explanation struct {
	Decision   call.Decision
	Considered []call.Reason // every rule, in the order of evaluation; then the floor's
	Changes    []string      // changes that would make the verdict milder; empty if it is allow
}

// Explain decides a call as [Profile.Decide] does, and returns the result of every rule. Rules about another tool have
// the result "other tool".
func (p *Profile) Explain(c Call) Explanation {
	x := Explanation{Decision: p.Decide(c)}
	v := &view{call: c}
	if p.prepare(v) != "" {
		x.Changes = []string{"send arguments that can be judged"}
		return x
	}
	x.Considered = p.consider(v, nil)
	for _, l := range p.layers {
		x.Considered = l.consider(v, x.Considered)
	}
	x.Changes = p.changes(&x.Decision, v.canonical, x.Considered)
	return x
}

// changes says what a person would have to do about the reasons of a decision. If something made the verdict stricter
// than the rules, it comes first, and then the rules do not matter.
func (p *Profile) changes(d *call.Decision, tool string, considered []call.Reason) []string {
	if d.Verdict == call.Allow {
		return nil
	}
	reasons := d.Reasons
	raised := func(r call.Reason) bool { return r.Rule == "" && r.List != "unmatched" }
	switch {
	case raised(reasons[0]) && d.Verdict == call.Deny:
		reasons = reasons[:1]
	case raised(reasons[0]):
		reasons = slices.DeleteFunc(slices.Clone(reasons), func(r call.Reason) bool { return !raised(r) })
	}
	var changes []string
	for i := range considered {
		if r := &considered[i]; r.Result == ignoredRule {
			changes = append(changes, fmt.Sprintf("let the rule %q at %s count: codemode profiles trust %s", r.Rule, r.Pos,
				r.Pos.File))
		}
	}
	soft := false
	for i := range reasons {
		r := &reasons[i]
		changes = append(changes, p.change(r, tool))
		soft = soft || r.Soft && r.Layer == "" && r.Result == match.Yes.String()
	}
	if !soft {
		return changes
	}
	for i := range considered { // an allow rule would override the soft ask: which ones nearly match?
		if r := &considered[i]; r.List == Allowlist.String() && r.Layer == "" && r.Result != otherTool {
			changes = append(changes, p.change(r, tool))
		}
	}
	return changes
}

// change says what a person would have to do about one reason.
func (p *Profile) change(r *call.Reason, tool string) string {
	rule := fmt.Sprintf("the rule %q at %s", r.Rule, r.Pos)
	switch {
	case r.Floor:
		rule = fmt.Sprintf("the floor's rule %q at %s", r.Rule, r.Pos)
	case r.Layer != "":
		rule = fmt.Sprintf("the rule %q of the %s at %s", r.Rule, r.Layer, r.Pos)
	}
	switch {
	case r.List == "unmatched" && r.Layer != "":
		return fmt.Sprintf("add %q to what the %s allows at %s", tool, r.Layer, r.Pos)
	case r.List == "unmatched" && p.unmatched == call.Deny:
		return fmt.Sprintf("add %q to the allowlist or the asklist of the profile %q at %s", tool, r.Profile, r.Pos)
	case r.List == "unmatched":
		return fmt.Sprintf("add %q to the allowlist of the profile %q at %s", tool, r.Profile, r.Pos)
	case r.List == "limits":
		return fmt.Sprintf("raise \"limits\" of the profile %q at %s, or start another run", r.Profile, r.Pos)
	case r.List == "raise":
		return fmt.Sprintf("change \"raise\" of the profile %q at %s", r.Profile, r.Pos)
	case r.List == "mark":
		return "nothing here: the server says it of its own tool, and that only ever makes a call stricter"
	case r.List == "definition":
		return "review the tool as it is now"
	case r.List == Allowlist.String():
		return fmt.Sprintf("make %s hold: %s", rule, unmet(r))
	case r.Result == match.Unknown.String():
		return fmt.Sprintf("make %s judgeable: %s", rule, unmet(r))
	case r.Soft && r.Layer != "":
		return fmt.Sprintf("allow %q beside it: %s gives way to an allow rule of its own profile only", tool, rule)
	case r.Soft:
		return fmt.Sprintf("allow %q: %s gives way to an allow rule", tool, rule)
	case len(r.Unless) > 0 && r.Layer == "":
		return fmt.Sprintf("make an allow rule of the id %s hold: %s gives way to it; or remove or narrow that",
			settings.QuotedList(r.Unless, "or"), rule)
	case r.List == Asklist.String():
		return fmt.Sprintf("remove or narrow %s; or give it \"unlessAllowed\" and allow the tool", rule)
	default:
		return fmt.Sprintf("remove or narrow %s", rule)
	}
}

// unmet lists the conditions of a rule that do not hold.
func unmet(r *call.Reason) string {
	var all []string
	for _, o := range r.Conditions {
		if o.Result != match.Yes.String() {
			all = append(all, o.Text)
		}
	}
	return strings.Join(all, "; ")
}

func (l *Layer) consider(v *view, all []call.Reason) []call.Reason {
	if !l.applies(v) {
		return all
	}
	from := len(all)
	all = l.Profile.consider(v, all)
	for i := from; i < len(all); i++ {
		r := &all[i]
		l.owns(r)
		if l.Mute != "" && r.List == Allowlist.String() && r.Result != otherTool {
			r.Result, r.Text = ignoredRule, l.Mute
		}
	}
	return all
}

// The results of rules about other tools, and of untrusted rules.
const (
	otherTool   = "other tool"
	ignoredRule = "ignored"
)

func (p *Profile) consider(v *view, all []call.Reason) []call.Reason {
	for _, r := range p.rules {
		if r.matches(v.names) {
			all = append(all, reasonOf(v, judgement{rule: r, result: r.judge(v)}))
			continue
		}
		all = append(all, call.Reason{
			Rule: r.Label(), List: r.List.String(), Pos: r.Pos, Profile: r.Profile,
			Result: otherTool, Text: "the rule is about other tools",
		})
	}
	return all
}

// Visible reports whether a program may learn that the tool exists: false if the profile denies it for all arguments.
// It ignores the arguments of the call.
func (p *Profile) Visible(c Call) bool {
	c.Args = call.Arguments{}
	v := &view{call: c}
	p.prepare(v)
	return p.mayPass(v) && !slices.ContainsFunc(p.layers, func(l *Layer) bool { return l.applies(v) && !l.mayPass(v) })
}

// mayPass reports whether the verdict could be other than deny for some arguments.
func (p *Profile) mayPass(v *view) bool {
	pass := p.unmatched != call.Deny
	for _, j := range p.judgements(v, nil) {
		r := j.rule
		switch {
		case r.List == Denylist && len(r.When) == 0 && j.result == match.Yes:
			return false
		case r.List == Asklist && (len(r.When) > 0 || j.result == match.Yes):
			pass = true
		case r.List == Allowlist && r.mayHold(v):
			pass = true
		}
	}
	return pass
}

// mayHold reports whether an allow rule could hold for some arguments.
func (r *Rule) mayHold(v *view) bool {
	if !r.until.IsZero() && r.inTime(v).Result != match.Yes {
		return false
	}
	return !slices.ContainsFunc(r.annotations, func(h hintIs) bool { return r.annotation(&h, v).Result != match.Yes })
}

// Reaches reports whether a program may learn that a server exists: false if the profile denies every possible tool of
// the server for all arguments. It uses only the rules, so that the answer does not change when the server lists its
// tools.
func (p *Profile) Reaches(server string) bool {
	prefix := call.Name(server, "")
	return p.mayReach(prefix) && !slices.ContainsFunc(p.layers, func(l *Layer) bool {
		return l.Tools == nil && !l.mayReach(prefix)
	})
}

// mayReach reports whether the rules could let through a tool with this name prefix.
func (p *Profile) mayReach(prefix string) bool {
	pass := p.unmatched != call.Deny
	for _, r := range p.rules {
		if r.List != Denylist {
			pass = pass || slices.ContainsFunc(r.Globs, func(g *match.Pattern) bool { return g.MayBegin(prefix) })
		} else if !r.Conditional() && slices.ContainsFunc(r.Globs,
			func(g *match.Pattern) bool { return g.CoversPrefix(prefix) }) {
			return false
		}
	}
	return pass
}
