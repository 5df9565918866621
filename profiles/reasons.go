package profiles

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiles/match"
)

// decision makes a decision of a ruling, with the rules that led to the verdict.
func (p *Profile) decision(v *view, u *ruling) call.Decision {
	d := call.Decision{Verdict: u.verdict, Unknown: u.unknown, Firm: u.unknown, Reasons: make([]call.Reason, 0, 1)}
	for _, j := range u.judged {
		if decisive(u, j) {
			d.Reasons = append(d.Reasons, reasonOf(v, j))
			if j.rule.List != Allowlist && u.verdict == call.Ask {
				d.Rules = append(d.Rules, j.rule.Text)
			}
		}
	}
	if u.cause == byDefault {
		d.Reasons = slices.Insert(d.Reasons, 0, p.noRule())
	}
	switch u.verdict {
	case call.Deny:
		d.Code = call.CodeDenied
	case call.Ask:
		d.Risk = u.risk
		if !u.warned || u.cause == byDefault && p.unmatched == call.Ask { // not a rule alone caused the question
			d.Risk = call.Higher(u.risk, call.Medium)
		}
		p.grants(u, &d)
	case call.Allow:
		d.Risk = call.Higher(u.risk, call.Low)
	}
	return d
}

// decisive reports whether the rule's result led to the verdict. If no rule decided, allow rules that nearly held count
// too.
func decisive(u *ruling, j judgement) bool {
	switch {
	case j.result == match.Unknown && j.rule.List != Allowlist:
		return u.verdict != call.Deny || u.cause == byDefault
	case u.cause == byDeny:
		return j.result == match.Yes && j.rule.List == Denylist
	case u.cause == byAsk:
		return j.result == match.Yes && j.rule.List == Asklist && !j.rule.Soft && !j.beaten
	case u.cause == bySoftAsk:
		return j.result == match.Yes // any other holding rule would be the cause
	case u.cause == byAllow:
		return j.result == match.Yes && j.rule.List == Allowlist
	case u.cause == byDefault:
		return j.rule.List == Allowlist
	default:
		return false
	}
}

func reasonOf(v *view, j judgement) call.Reason {
	r := j.rule
	reason := call.Reason{
		Rule: r.Label(), List: r.List.String(), Pos: r.Pos, Profile: r.Profile,
		Result: j.result.String(), Text: r.reason, Soft: r.Soft, Unless: r.Unless,
	}
	if r.Conditional() {
		reason.Conditions = r.outcomes(v)
	}
	switch said := explained(j, reason.Conditions); {
	case reason.Text == "":
		reason.Text = said
	case j.result != match.Yes:
		reason.Text += " (" + said + ")"
	}
	return reason
}

// explained describes in a sentence the effect of a rule without a reason of its own.
func explained(j judgement, outcomes []call.Condition) string {
	switch {
	case j.result == match.Yes && j.rule.List == Denylist:
		return call.ProfileDenies
	case j.result == match.Yes && j.rule.List == Asklist:
		return "the profile wants a person to decide"
	case j.result == match.Yes:
		return "the profile allows it"
	}
	var why []string
	for _, o := range outcomes {
		if o.Result == j.result.String() {
			why = append(why, o.Text)
		}
	}
	word := "does not hold"
	if j.result == match.Unknown {
		word = "cannot be judged"
	}
	return fmt.Sprintf("the rule %s: %s", word, strings.Join(why, "; "))
}

// noRule is the reason for a call that no rule decides.
func (p *ruleSet) noRule() call.Reason {
	reason := call.Reason{List: "unmatched", Pos: p.pos, Profile: p.name, Result: "true"}
	switch {
	case p.unmatchedSaid:
		reason.Text = fmt.Sprintf("no rule decides, and unmatched is %q", p.unmatched)
	case p.unmatched == call.Deny:
		reason.Text = "no rule decides, and what is not on the allowlist is denied"
	default:
		reason.Text = "no rule is against it"
	}
	return reason
}

// outcomes returns the outcome of every condition of the rule, besides the tool's name.
func (r *Rule) outcomes(v *view) []call.Condition {
	var all []call.Condition
	add := func(pointer, what string, o match.Outcome) {
		text := what
		switch {
		case o.Why != "" && pointer != "":
			text = pointer + " " + o.Why
		case o.Why != "":
			text = what + ": " + o.Why
		case o.Result == match.No:
			text = "not " + what
		}
		all = append(all, call.Condition{Pointer: pointer, Result: o.Result.String(), Text: text})
	}
	if !r.until.IsZero() {
		add("", "until "+r.until.Format("2006-01-02T15:04:05Z07:00"), r.inTime(v))
	}
	for i, h := range r.annotations {
		add("", fmt.Sprintf("annotation %s is %t", h.name, h.want), r.annotation(&r.annotations[i], v))
	}
	for i := range r.When {
		c := &r.When[i]
		add(c.Pointer, c.Pointer+" "+c.Text, c.Judge(v.args, r.List != Allowlist))
	}
	if r.closed {
		add("", "no other arguments", r.others(v.args))
	}
	return all
}
