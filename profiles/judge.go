package profiles

import (
	"slices"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiles/match"
)

// A judgement is the result of one rule for a call of its tool.
type judgement struct {
	rule   *Rule
	result match.Result
	beaten bool // an ask rule with an exception, and that allow rule holds
}

// A ruling is the verdict of the rules of one profile, before tighten makes it stricter.
type ruling struct {
	verdict call.Verdict
	cause   cause
	unknown bool // the result of a deny or ask rule is unknown
	warned  bool // a deny or ask rule holds or is unknown
	risk    call.Risk
	judged  []judgement
}

// A cause is the reason for a verdict.
type cause int

const (
	byDeny cause = iota
	byAsk
	byAllow
	bySoftAsk
	byUnknown
	byDefault
)

// judge decides by the rules alone: deny comes before ask, ask before allow, and "unmatched" decides the rest.
func (p *ruleSet) judge(v *view, space []judgement) ruling {
	u := ruling{judged: p.judgements(v, space)}
	var denied, hard, soft, allowed bool
	for _, j := range u.judged {
		switch {
		case j.result == match.No:
			continue
		case j.result == match.Unknown:
			u.unknown = u.unknown || j.rule.List != Allowlist
		case j.rule.List == Denylist:
			denied = true
		case j.rule.List == Allowlist:
			allowed = true
		case j.rule.Soft || j.beaten:
			soft = true
		default:
			hard = true
		}
		u.warned = u.warned || j.rule.List != Allowlist
		if j.rule.List != Allowlist || j.result == match.Yes {
			u.risk = call.Higher(u.risk, j.rule.stakes())
		}
	}
	switch {
	case denied:
		u.verdict, u.cause = call.Deny, byDeny
	case hard:
		u.verdict, u.cause = call.Ask, byAsk
	case allowed:
		u.verdict, u.cause = call.Allow, byAllow
	case soft:
		u.verdict, u.cause = call.Ask, bySoftAsk
	default:
		u.verdict, u.cause = p.unmatched, byDefault
	}
	if u.unknown && u.verdict == call.Allow {
		u.verdict, u.cause = call.Ask, byUnknown
	}
	u.unknown = u.unknown && u.verdict == call.Ask
	return u
}

// judgements evaluates the rules that may be about the tool, in the order of the lists.
func (p *ruleSet) judgements(v *view, judged []judgement) []judgement {
	var space [64]int32
	for _, i := range p.index.about(space[:0], &v.names) {
		if r := p.rules[i]; r.matches(v.names) {
			judged = append(judged, judgement{rule: r, result: r.judge(v)})
		}
	}
	for i := range judged {
		judged[i].beaten = judged[i].rule.beatenBy(judged)
	}
	return judged
}

// beatenBy reports whether one of the ask rule's exceptions, an allow rule, holds for the call.
func (r *Rule) beatenBy(judged []judgement) bool {
	return len(r.Unless) > 0 &&
		slices.ContainsFunc(judged, func(j judgement) bool { return j.result == match.Yes && r.Excepts(j.rule) })
}

// Excepts reports whether the ask rule names an allow rule as an exception.
func (r *Rule) Excepts(allow *Rule) bool {
	return allow.List == Allowlist && allow.ID != "" && slices.Contains(r.Unless, allow.ID)
}

// judge evaluates a rule about the tool for the call.
func (r *Rule) judge(v *view) match.Result {
	if !r.Conditional() {
		return match.Yes
	}
	all := match.Outcome{Result: match.Yes}
	if !r.until.IsZero() {
		all = r.inTime(v)
	}
	for i := range r.annotations {
		if all.Result == match.No {
			return match.No
		}
		all = match.And(all, r.annotation(&r.annotations[i], v))
	}
	wide := r.List != Allowlist
	for i := range r.When {
		if all.Result == match.No {
			return match.No
		}
		all = match.And(all, r.When[i].Judge(v.args, wide))
	}
	if r.closed && all.Result != match.No {
		all = match.And(all, r.others(v.args))
	}
	return all.Result
}

// inTime evaluates "until". A call without a time is too late.
func (r *Rule) inTime(v *view) match.Outcome {
	switch now := v.call.Time; {
	case now.IsZero():
		return match.Outcome{Result: match.No, Why: "the time of the call is not known"}
	case now.Before(r.until):
		return match.Outcome{Result: match.Yes}
	default:
		return match.Outcome{Result: match.No, Why: "its time is over"}
	}
}

// annotation evaluates one hint. Upstreams write hints themselves, so an allow rule believes only servers that the file
// trusts; a deny or ask rule believes every server.
func (r *Rule) annotation(h *hintIs, v *view) match.Outcome {
	if r.List == Allowlist && !v.trusted {
		return match.Outcome{Result: match.Unknown, Why: "the server's annotations are not trusted"}
	}
	switch got := v.call.Annotations[h.name].(type) {
	case bool:
		return match.Holds(got == h.want)
	case nil:
		return match.Outcome{Result: match.Unknown, Why: "the tool does not say"}
	default:
		return match.Outcome{Result: match.Unknown, Why: "is neither true nor false"}
	}
}

// stakes is the rule's risk, or the usual risk of its list.
func (r *Rule) stakes() call.Risk {
	switch {
	case r.risk != "":
		return r.risk
	case r.List == Allowlist:
		return call.Low
	default:
		return call.Medium
	}
}

// others evaluates `"others": "none"`: the result is no if the call has a value outside of the rule's pointers.
func (r *Rule) others(args *match.Arguments) match.Outcome {
	if match.CoveredBy(args, r.When) {
		return match.Outcome{Result: match.Yes}
	}
	return match.Outcome{Result: match.No, Why: "carries arguments that the rule does not name"}
}
