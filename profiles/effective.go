package profiles

import (
	"fmt"
	"slices"

	"github.com/codemode-project/codemode/internal/settings"
)

// maxExtends is how long a chain of extends may get before nobody can follow it.
const maxExtends = 8

// ancestors finds the profiles that w extends, directly or not, and reports parents that
// do not exist, cycles and chains that are too long.
func (b *builder) ancestors(w *written) {
	const inProgress, done = 1, 2
	if w.state != 0 {
		return
	}
	w.state = inProgress
	for _, n := range w.parents {
		if !b.known(n, `"extends"`) {
			continue
		}
		parent := b.find(n.Text())
		if parent.state == inProgress {
			b.Wrong(n, "remove one of the steps", "the profile %q extends itself, by way of %q", w.name, n.Text())
			continue
		}
		b.ancestors(parent)
		if w.depth = max(w.depth, parent.depth+1); parent.depth+1 == maxExtends+1 {
			b.Wrong(n, "", "the chain of \"extends\" is longer than %d profiles", maxExtends)
		}
		for _, ancestor := range parent.chain {
			if !slices.Contains(w.chain, ancestor) {
				w.chain = append(w.chain, ancestor)
			}
		}
	}
	w.chain = append(w.chain, w)
	w.state = done
	b.uniqueIDs(w)
}

// uniqueIDs reports rules of one effective profile that answer to the same id.
func (b *builder) uniqueIDs(w *written) {
	seen := map[string]*rule{}
	for _, ancestor := range w.chain {
		for _, rules := range ancestor.lists {
			for _, r := range rules {
				other := seen[r.id]
				if r.id != "" && other != nil && r.pos.File == b.File && len(b.Problems) != settings.MaxProblems {
					at := settings.Problem{Position: r.pos, Length: 1, Source: b.SourceLine(r.pos.Line)}
					at.Message = fmt.Sprintf("two rules of the profile %q have the id %q", w.name, r.id)
					at.Hint = fmt.Sprintf("the other is on %s: rename one of them", b.WhereIs(other.pos))
					if !slices.Contains(b.Problems, at) {
						b.Problems = append(b.Problems, at)
					}
				}
				seen[r.id] = r
			}
		}
	}
}

// effective puts a profile together with its ancestors. Lists are joined; of everything
// that has an order of strictness the strictest is taken, so that neither a child nor a
// parent can loosen the other.
func (b *builder) effective(w *written) *Profile {
	p := &Profile{name: w.name, pos: w.pos, trusted: b.trusted, unmatched: Allow, raise: map[string]Verdict{}}
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
	p.preflight = p.preflight || b.config.RequirePreflight
	p.noFallback = slices.Contains(fallback, false)
	p.fallback = len(fallback) > 0 && !p.noFallback
	p.limits = p.ownLimits.or(b.config.Limits).stricter(b.bounds)
	p.caps = b.caps
	p.index = newIndex(p.rules)
	p.digest = b.digest(p, w)
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
func (b *builder) digest(p *Profile, w *written) string {
	parts := [][]byte{[]byte(p.name)}
	for _, x := range w.chain {
		parts = append(parts, []byte("\nprofile "+x.name+"\n"), x.source)
	}
	for _, s := range b.config.Servers {
		if s.TrustAnnotations {
			parts = append(parts, []byte("\ntrust "+s.Name))
		}
	}
	parts = append(parts, fmt.Appendf(nil, "\nlimits %v %v", p.limits, p.caps))
	return digest(parts...)
}
