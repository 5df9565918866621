package profiles

import (
	"fmt"
	"slices"

	"github.com/codemode-project/codemode/call"
)

// Surroundings apply to all profiles of a configuration.
type Surroundings struct {
	Trusted          map[string]bool // servers with annotations that allow rules may believe
	TrustedNames     []string        // of configured ones, in the order of the file
	Limits           Limits          // for profiles that do not set them
	Bounds, Caps     Limits          // of files that the user's limits cannot exceed
	RequirePreflight bool
}

// Effective merges a profile with its ancestors. It concatenates lists, and takes the strictest value of each setting,
// so that neither a child nor a parent can loosen the other.
func (s *Surroundings) Effective(w *Written) *Profile {
	p := &Profile{ruleSet: ruleSet{name: w.Name, pos: w.Pos, unmatched: call.Allow}, trusted: s.Trusted,
		raise: map[string]call.Verdict{}}
	var fallback []bool
	for l := Denylist; l <= Allowlist; l++ {
		for _, x := range w.Chain {
			p.rules = append(p.rules, x.Lists[l]...)
		}
	}
	for _, x := range w.Chain {
		p.judgeUnmatched(x)
		if x.Fallback != nil {
			fallback = append(fallback, *x.Fallback == call.Allow)
		}
		if x.Remembered.Remember != nil {
			p.remembers = append(p.remembers, x.Remembered.Remember)
		}
		p.ownLimits = p.ownLimits.Stricter(x.Limits)
		p.ask = p.ask.Stricter(x.Ask)
		p.redact = p.redact.join(x.Redact)
		p.addRaise(x.Raise)
		p.preflight = p.preflight || x.RequirePreflight
		p.forgets = p.forgets || x.KeepResults != nil && !*x.KeepResults
		p.noSessions = p.noSessions || x.Sessions != nil && !*x.Sessions
		p.Prompts, p.Resources = append(p.Prompts, x.Prompts.Globs...), append(p.Resources, x.Resources.Globs...)
		p.offers = [2][]string{append(p.offers[0], x.Prompts.Texts...), append(p.offers[1], x.Resources.Texts...)}
	}
	p.preflight = p.preflight || s.RequirePreflight
	p.noFallback = slices.Contains(fallback, false)
	p.fallback = len(fallback) > 0 && !p.noFallback
	p.limits = p.ownLimits.or(s.Limits).Stricter(s.Bounds)
	p.caps = s.Caps
	p.index = newIndex(p.rules)
	p.digest = s.digest(p, w)
	return p
}

// judgeUnmatched applies one profile's "unmatched" in the chain. A profile with an allowlist and without "unmatched"
// denies calls that no rule mentions, as it does alone.
func (p *ruleSet) judgeUnmatched(x *Written) {
	switch {
	case x.Unmatched != nil:
		p.unmatchedSaid = true
		p.unmatched = min(p.unmatched, *x.Unmatched)
	case x.Has[Allowlist]:
		p.unmatched = call.Deny
	}
}

func (p *Profile) addRaise(raise map[string]call.Verdict) {
	for name, v := range raise {
		if old, ok := p.raise[name]; ok {
			v = min(v, old)
		}
		p.raise[name] = v
	}
}

// digest covers exactly what a decision of the profile depends on: it ignores comments, spaces and other profiles.
func (s *Surroundings) digest(p *Profile, w *Written) string {
	parts := [][]byte{[]byte(p.name)}
	for _, x := range w.Chain {
		parts = append(parts, []byte("\nprofile "+x.Name+"\n"), x.Source)
	}
	for _, name := range s.TrustedNames {
		parts = append(parts, []byte("\ntrust "+name))
	}
	parts = append(parts, fmt.Appendf(nil, "\nlimits %v %v", p.limits, p.caps))
	return Digest(parts...)
}
