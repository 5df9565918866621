package config

import (
	"slices"

	"github.com/codemode-project/codemode/profiles"
)

// shadows reports rules of w that can never take effect, because other rules of the same effective profile decide
// first.
func (b *assembly) shadows(w *profiles.Written, p *profiles.Profile) {
	deniedBy := profiles.Covering(p, profiles.Denylist)
	askedBy := profiles.Covering(p, profiles.Asklist)
	floorBy := func(*profiles.Rule) *profiles.Rule { return nil }
	for _, l := range p.Layers() {
		if l.What == profiles.FloorLayer {
			floorBy = profiles.Covering(l.Profile, profiles.Denylist)
		}
	}
	seen := map[string]*profiles.Rule{}
	for _, r := range p.Rules() {
		if !r.Conditional() && len(r.Patterns) == 1 {
			key := r.List.String() + " " + r.Patterns[0]
			if first := seen[key]; first != nil && r.Profile == w.Name && r.Pos.File == b.File {
				b.doubtRule(r, "remove one of the two", "the rule %q is on %s already", r.Label(), b.WhereIs(first.Pos))
				continue
			}
			seen[key] = r
		}
		if r.Profile != w.Name || r.Pos.File != b.File || r.List == profiles.Denylist {
			continue
		}
		for _, id := range r.Unless {
			is := func(allow *profiles.Rule) bool { return allow.List == profiles.Allowlist && allow.ID == id }
			if !slices.ContainsFunc(p.Rules(), is) {
				b.doubtRule(r, "give that id to an allow rule of the profile, or remove it",
					"%q in \"unlessAllowed\" is the id of no allow rule here", id)
			}
		}
		if by := deniedBy(r); by != nil {
			b.withoutEffect(r, "remove it, or narrow the deny rule", "the rule %q has no effect: %s denies all it is about",
				r.Label(), b.WhereIs(by.Pos))
		} else if by := askedBy(r); by != nil && r.List == profiles.Allowlist && !by.Soft && !by.Excepts(r) {
			b.withoutEffect(r, b.softening(), "the rule %q has no effect: %s asks about all it is about", r.Label(),
				b.WhereIs(by.Pos))
		} else if by := floorBy(r); by != nil {
			b.withoutEffect(r, "remove it, or narrow the floor",
				"the rule %q has no effect: the floor denies all it is about (%s)", r.Label(), b.WhereIs(by.Pos))
		}
	}
}

// softening says how to make an allow rule precede an ask rule about the same tools.
func (b *assembly) softening() string {
	if b.variables != nil {
		return unmatchedVariable + "=ask, in place of the ask rule, asks about what no list names"
	}
	return `give the ask rule "unlessAllowed": true`
}

func (b *assembly) doubtRule(r *profiles.Rule, hint, format string, args ...any) {
	b.Warn(r.Pos, 1, hint, format, args...)
}

func (b *assembly) withoutEffect(r *profiles.Rule, hint, format string, args ...any) {
	before := len(b.Warnings)
	b.doubtRule(r, hint, format, args...)
	for i := range b.Warnings[before:] {
		b.Warnings[before+i].Shadowed = true
	}
}
