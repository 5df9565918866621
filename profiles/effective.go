package profiles

import (
	"fmt"
	"slices"
)

// surroundings are what holds for all profiles of a configuration.
type surroundings struct {
	trusted          map[string]bool // the servers whose annotations allow rules may believe
	trustedNames     []string        // of configured ones, in the order of the file
	limits           Limits          // for profiles that do not say
	bounds, caps     Limits          // of files that the user's limits cannot exceed
	requirePreflight bool
}

// effective puts a profile together with its ancestors. Lists are joined; of everything
// that has an order of strictness the strictest is taken, so that neither a child nor a
// parent can loosen the other.
func (s *surroundings) effective(w *written) *Profile {
	p := &Profile{name: w.name, pos: w.pos, trusted: s.trusted, unmatched: Allow, raise: map[string]Verdict{}}
	var fallback []bool
	for l := denylist; l <= allowlist; l++ {
		for _, x := range w.chain {
			p.rules = append(p.rules, x.lists[l]...)
		}
	}
	for _, x := range w.chain {
		p.judgeUnmatched(x)
		if x.fallback != nil {
			fallback = append(fallback, *x.fallback)
		}
		if x.remember != nil {
			p.remembers = append(p.remembers, x.remember)
		}
		p.ownLimits = p.ownLimits.stricter(x.limits)
		p.ask = p.ask.stricter(x.ask)
		p.redact = p.redact.join(x.redact)
		p.addRaise(x.raise)
		p.preflight = p.preflight || x.preflight
	}
	p.preflight = p.preflight || s.requirePreflight
	p.noFallback = slices.Contains(fallback, false)
	p.fallback = len(fallback) > 0 && !p.noFallback
	p.limits = p.ownLimits.or(s.limits).stricter(s.bounds)
	p.caps = s.caps
	p.index = newIndex(p.rules)
	p.digest = s.digest(p, w)
	return p
}

// judgeUnmatched takes in what one profile of the chain says about calls that no rule
// mentions. A profile with an allowlist and without "unmatched" denies them, as it would
// standing alone.
func (p *Profile) judgeUnmatched(x *written) {
	switch {
	case x.unmatched != nil:
		p.unmatchedSaid = true
		p.unmatched = min(p.unmatched, *x.unmatched)
	case x.has[allowlist]:
		p.unmatched = Deny
	}
}

func (p *Profile) addRaise(raise map[string]Verdict) {
	for name, v := range raise {
		if old, ok := p.raise[name]; ok {
			v = min(v, old)
		}
		p.raise[name] = v
	}
}

// digest covers everything a decision of the profile depends on, and nothing else:
// comments, spaces and other profiles may change without it.
func (s *surroundings) digest(p *Profile, w *written) string {
	parts := [][]byte{[]byte(p.name)}
	for _, x := range w.chain {
		parts = append(parts, []byte("\nprofile "+x.name+"\n"), x.source)
	}
	for _, name := range s.trustedNames {
		parts = append(parts, []byte("\ntrust "+name))
	}
	parts = append(parts, fmt.Appendf(nil, "\nlimits %v %v", p.limits, p.caps))
	return Digest(parts...)
}
