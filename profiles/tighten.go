package profiles

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiles/match"
)

// stricter takes the stricter decision of a profile and a layer. If they agree, both give their reasons.
func stricter(own, layer call.Decision) call.Decision {
	switch {
	case layer.Verdict < own.Verdict:
		layer.Risk = higherRisk(layer.Verdict, layer.Risk, own.Risk)
		return layer
	case own.Verdict < layer.Verdict:
		own.Risk = higherRisk(own.Verdict, own.Risk, layer.Risk)
		return own
	}
	for _, r := range layer.Reasons {
		if r.Rule != "" { // it is obvious that nothing else objects
			own.Reasons = append(own.Reasons, r)
		}
	}
	own.Risk = higherRisk(own.Verdict, own.Risk, layer.Risk)
	own.Unknown = own.Unknown || layer.Unknown
	own.Floor = own.Floor || layer.Floor
	own.Firm = own.Firm || layer.Firm
	return own
}

func higherRisk(v call.Verdict, a, b call.Risk) call.Risk {
	if v == call.Deny {
		return ""
	}
	return call.Higher(a, b)
}

// tighten applies everything that can only make a decision stricter: a changed definition, "raise", limits.
func (p *Profile) tighten(v *view, d call.Decision) call.Decision {
	c := &v.call
	p.raised(v, &d)
	if c.DefinitionChanged {
		lower(&d, call.Ask, p.cause("definition", "the tool is not what it was when it was reviewed"))
	}
	n, l := c.Counters, p.Limits()
	if l.Repeat > 0 && n.Repeat >= l.Repeat {
		lower(&d, call.Ask, p.cause("limits", fmt.Sprintf("the same call was made %d times already", n.Repeat)))
	}
	p.spent(&d, l.Calls, n.Calls, "calls in this run")
	if d.Verdict == call.Ask {
		p.spent(&d, l.Asks, n.Asks, "questions in this run")
		p.spent(&d, l.AsksPerMinute, n.AsksLastMinute, "questions within a minute")
		p.spent(&d, l.Pending, n.Pending, "questions that are open now, in all runs and clients of this principal,")
		p.spent(&d, l.Refusals, n.Refusals, "refusals in this run")
	}
	return d
}

// raised applies "raise" of the profile and its layers: hints of any server, and what the
// run has read.
func (p *Profile) raised(v *view, d *call.Decision) {
	for _, name := range raisers {
		if text := v.raiser(name); text != "" {
			p.raisedBy(d, name, text)
		}
	}
}

// RaisesTaint reports whether data from untrusted servers changes any decision of the profile.
func (p *Profile) RaisesTaint() bool {
	_, raises := p.raise["tainted"]
	for _, l := range p.layers {
		raises = raises || l.RaisesTaint()
	}
	return raises
}

// raiser says in a sentence that the condition of a "raise" key applies, "" if it does not.
func (v *view) raiser(name string) string {
	if name == "tainted" { // not a hint: no server can claim or deny it
		if v.call.Tainted {
			return cmp.Or(v.call.Taint, "the run has read something that is not trusted")
		}
		return ""
	}
	if name == "approval" {
		if key := marked(v.call.Annotations); key != "" {
			return "its server says " + hint(key)
		}
		return ""
	}
	if claims(v.call.Annotations[name]) {
		return "the tool's annotations say " + name
	}
	return ""
}

func (p *Profile) raisedBy(d *call.Decision, name, text string) {
	to, ok := p.raise[name]
	switch {
	case ok:
		lower(d, to, p.cause("raise", text))
	case name == "approval":
		lower(d, call.Ask, p.cause("mark", text))
	}
	for _, l := range p.layers {
		to, ok := l.raise[name] // of a layer about all tools: overlays have none
		if !ok {
			continue
		}
		reason := l.cause("raise", text)
		l.owns(&reason)
		lower(d, to, reason)
		d.Floor = d.Floor || to == d.Verdict
	}
}

// spent denies the call if a limit is exhausted.
func (p *Profile) spent(d *call.Decision, limit, used int, what string) {
	if limit > 0 && used >= limit && d.Verdict != call.Deny {
		lower(d, call.Deny, p.cause("limits", fmt.Sprintf("the limit of %d %s is used up", limit, what)))
		d.Code = call.CodeLimit
	}
}

// cause is a reason of the profile that is no rule.
func (p *ruleSet) cause(list, text string) call.Reason {
	return call.Reason{List: list, Pos: p.pos, Profile: p.name, Result: "true", Text: text}
}

// lower makes a decision stricter. A question that has such a cause is Firm, whatever else asks it. The cause of a
// stricter verdict is its first reason, and a further cause of the same question its last one.
func lower(d *call.Decision, to call.Verdict, cause call.Reason) {
	switch {
	case to > d.Verdict || d.Verdict == call.Deny:
		return
	case to < d.Verdict:
		d.Reasons, d.Floor = slices.Insert(d.Reasons, 0, cause), false
	default:
		d.Reasons = append(d.Reasons, cause)
	}
	d.Verdict, d.Firm = to, to == call.Ask
	d.Risk = higherRisk(to, d.Risk, call.Medium)
	if to == call.Deny {
		d.Code = call.CodeDenied
		d.Remember, d.Pointers, d.Unknown = call.Remember{}, nil, false
	}
}

// bound limits which answers may be remembered. A firm question, and one of critical risk, comes each time. An answer to
// a question of high risk lasts for the run at most.
func bound(d *call.Decision) {
	switch {
	case d.Firm || !d.Risk.FormSuffices():
		d.Remember, d.Pointers = call.Remember{}, nil
	case d.Risk.Grave():
		d.Remember.Scopes = slices.DeleteFunc(d.Remember.Scopes, func(s string) bool { return s == "time" || s == "session" })
	}
}

// grants says which answers the run may remember, see bound.
func (t *terms) grants(u *ruling, d *call.Decision) {
	all := t.remembers
	for _, j := range u.judged {
		if j.result != match.Yes || j.rule.List != Asklist {
			continue
		}
		if j.rule.remember != nil {
			all = append(slices.Clip(all), j.rule.remember)
		}
		for i := range j.rule.When {
			if pointer := j.rule.When[i].Pointer; !slices.Contains(d.Pointers, pointer) {
				d.Pointers = append(d.Pointers, pointer)
			}
		}
	}
	if len(all) > 0 {
		d.Remember = narrowed(all)
	}
}

// RaisedTo returns the keys of "raise" that may have led to a verdict without a rule in the record. The record keeps
// neither the annotations of tools nor what a run had read.
func (p *Profile) RaisedTo(verdict call.Verdict) (all []call.Reason) {
	for _, q := range p.all() {
		for _, name := range raisers {
			if to, ok := q.raise[name]; ok && to == verdict {
				all = append(all, call.Reason{Rule: "raise " + name, List: "raise", Pos: q.pos, Profile: q.name,
					Result: match.Unknown.String()})
			}
		}
	}
	return all
}
