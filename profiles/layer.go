package profiles

import (
	"slices"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiles/match"
)

// applies reports whether the layer is about the tool, under any of its names.
func (l *Layer) applies(v *view) bool {
	return l.Tools == nil || slices.ContainsFunc(l.Tools, func(g *match.Pattern) bool {
		return v.exact(g) || g.Match(v.base)
	})
}

// Under returns the profile with more layers over it. Its settings become the strictest of all, and its digest covers
// all.
func (p *Profile) Under(layers ...*Layer) *Profile {
	if len(layers) == 0 {
		return p
	}
	q := *p
	q.layers = append(slices.Clip(p.layers), layers...)
	parts := [][]byte{[]byte(p.digest)}
	for _, l := range layers {
		q.noFallback = q.noFallback || l.noFallback
		q.preflight = q.preflight || l.preflight
		q.forgets = q.forgets || l.forgets
		q.noSessions = q.noSessions || l.noSessions
		q.redact = q.redact.joinLayer(l.redact)
		switch l.What {
		case FloorLayer:
			q.limits, q.ask = q.limits.Stricter(l.ownLimits), q.ask.Stricter(l.ask)
		case EnvironmentLayer: // which sets only how long a question waits
			if q.ask.Timeout != 0 || l.ask.Timeout < usualTimeout {
				q.ask.Timeout = least(q.ask.Timeout, l.ask.Timeout)
			}
		default:
			q.caps, q.ask = q.caps.Stricter(l.ownLimits), q.ask.Stricter(l.ask.narrowing(q.ask))
		}
		parts = append(parts, []byte("\n"+l.What+" "+l.digest))
	}
	q.fallback = q.fallback && !q.noFallback
	q.digest = Digest(parts...)
	if q.shadow != nil {
		q.shadow = q.shadow.Under(layers...)
	}
	return &q
}

// decision is the layer's decision. A person answers each question of a layer.
func (l *Layer) decision(v *view, u *ruling) call.Decision {
	d := l.Profile.decision(v, u)
	d.Floor = d.Verdict != call.Allow
	d.Firm = d.Firm || d.Floor
	for i := range d.Reasons {
		l.owns(&d.Reasons[i])
	}
	if d.Verdict == call.Allow && l.Mute != "" {
		d.Reasons = nil // its allow rules allow nothing
	}
	return d
}
