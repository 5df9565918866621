package profiles

import (
	"fmt"
	"slices"
)

// stricter takes the stricter of what a profile and its floor decide. Where they agree,
// both give their reasons.
func stricter(own, floor Decision) Decision {
	switch {
	case floor.Verdict < own.Verdict:
		floor.Risk = higherRisk(floor.Verdict, floor.Risk, own.Risk)
		return floor
	case own.Verdict < floor.Verdict:
		own.Risk = higherRisk(own.Verdict, own.Risk, floor.Risk)
		return own
	}
	for _, r := range floor.Reasons {
		if r.Rule != "" { // that nothing else speaks against it goes without saying
			own.Reasons = append(own.Reasons, r)
		}
	}
	own.Risk = higherRisk(own.Verdict, own.Risk, floor.Risk)
	own.Unknown = own.Unknown || floor.Unknown
	own.Floor = floor.Floor
	if own.Verdict == Ask {
		own.Remember = Remember{}
	}
	return own
}

func higherRisk(v Verdict, a, b string) string {
	if v == Deny {
		return ""
	}
	if slices.Index(riskNames, b) > slices.Index(riskNames, a) {
		return b
	}
	return a
}

// tighten applies what only ever makes a verdict stricter: POLICY.md section 3, step 5.
func (p *Profile) tighten(c *Call, d Decision) Decision {
	p.raised(c, &d)
	if c.DefinitionChanged {
		d.lower(Ask, "definition", p.pos, p.name, "the tool is not what it was when it was reviewed")
		if d.Verdict == Ask {
			d.Remember = Remember{}
		}
	}
	n, l := c.Counters, p.limits
	if l.Repeat > 0 && n.Repeat >= l.Repeat {
		d.lower(Ask, "limits", p.pos, p.name, fmt.Sprintf("the same call was made %d times already", n.Repeat))
	}
	p.spent(&d, l.Calls, n.Calls, "calls in this run")
	if d.Verdict == Ask {
		p.spent(&d, l.Asks, n.Asks, "questions in this run")
		p.spent(&d, l.AsksPerMinute, n.AsksLastMinute, "questions within a minute")
		p.spent(&d, l.Pending, n.Pending, "open questions")
		p.spent(&d, l.Refusals, n.Refusals, "refusals in this run")
	}
	return d
}

// raised applies "raise": hints of any server, and what the run has read.
func (p *Profile) raised(c *Call, d *Decision) {
	for _, name := range raisers {
		to, ok := p.raise[name]
		if !ok {
			continue
		}
		switch {
		case name == "tainted" && c.Tainted:
			d.lower(to, "raise", p.pos, p.name, "the run has read something that is not trusted")
		case name != "tainted" && claims(c.Annotations[name]):
			d.lower(to, "raise", p.pos, p.name, "the tool's annotations say "+name)
		default:
			continue
		}
		if p.floor == nil {
			continue
		}
		if v, ok := p.floor.raise[name]; ok && v == d.Verdict {
			d.Floor, d.Remember = true, Remember{}
		}
	}
}

// claims reports whether a hint is given. What is neither true nor false counts as given.
func claims(hint any) bool {
	switch hint {
	case nil, false:
		return false
	default:
		return true
	}
}

// spent turns a decision into a refusal if a limit is used up.
func (p *Profile) spent(d *Decision, limit, used int, what string) {
	if limit > 0 && used >= limit && d.Verdict != Deny {
		d.lower(Deny, "limits", p.pos, p.name, fmt.Sprintf("the limit of %d %s is used up", limit, what))
		d.Code = CodeLimit
	}
}

// lower makes a decision stricter. What made it so becomes its first reason; a decision
// that is as strict already stays as it is.
func (d *Decision) lower(to Verdict, list string, pos Position, profile, text string) {
	if to >= d.Verdict {
		return
	}
	reason := Reason{List: list, Pos: pos, Profile: profile, Result: "true", Text: text}
	d.Reasons = slices.Insert(d.Reasons, 0, reason)
	d.Verdict, d.Floor = to, false
	d.Risk = higherRisk(to, d.Risk, riskMedium.String())
	if to == Deny {
		d.Code = CodeDenied
		d.Remember, d.Pointers, d.Unknown = Remember{}, nil, false
	}
}

// grants says what may be remembered of an answer. A question that stands for an unknown
// condition, or whose risk is critical, is asked each time; one of high risk is not
// answered for longer than the run.
func (p *Profile) grants(u *ruling, d *Decision) {
	all := p.remembers
	for _, j := range u.judged {
		if j.result != yes || j.rule.list != asklist {
			continue
		}
		if j.rule.remember != nil {
			all = append(slices.Clip(all), j.rule.remember)
		}
		for i := range j.rule.when {
			if pointer := j.rule.when[i].pointer; !slices.Contains(d.Pointers, pointer) {
				d.Pointers = append(d.Pointers, pointer)
			}
		}
	}
	if u.unknown || u.risk == riskCritical || len(all) == 0 {
		return
	}
	d.Remember = narrowed(all)
	if u.risk == riskHigh {
		d.Remember.Scopes = slices.DeleteFunc(d.Remember.Scopes, func(s string) bool { return s == "time" || s == "session" })
	}
}
