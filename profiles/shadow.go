package profiles

import (
	"slices"
)

// shadows reports rules that are written in w and can never take effect, because of what
// other rules of the same effective profile do first.
func (b *builder) shadows(w *written, p *Profile) {
	denies := unconditional(p, denylist)
	asks := unconditional(p, asklist)
	var floor *index
	for _, l := range p.over() {
		if l.what == floorLayer {
			floor = unconditional(l.Profile, denylist)
		}
	}
	seen := map[string]*rule{}
	for _, r := range p.everyRule() {
		if !r.conditional() && len(r.patterns) == 1 {
			key := r.list.String() + " " + r.patterns[0]
			if first := seen[key]; first != nil && r.profile == w.name && r.pos.File == b.File {
				b.doubtRule(r, "remove one of the two", "the rule %q is on %s already", r.label(), b.WhereIs(first.pos))
				continue
			}
			seen[key] = r
		}
		if r.profile != w.name || r.pos.File != b.File || r.list == denylist {
			continue
		}
		for _, id := range r.unless {
			is := func(allow *rule) bool { return allow.list == allowlist && allow.id == id }
			if !slices.ContainsFunc(p.everyRule(), is) {
				b.doubtRule(r, "give that id to an allow rule of the profile, or remove it",
					"%q in \"unlessAllowed\" is the id of no allow rule here", id)
			}
		}
		if by := denies.covering(r); by != nil {
			b.withoutEffect(r, "remove it, or narrow the deny rule", "the rule %q has no effect: %s denies all it is about", r.label(), b.WhereIs(by.pos))
		} else if by := asks.covering(r); by != nil && r.list == allowlist && !by.soft && !by.excepts(r) {
			b.withoutEffect(r, b.softening(), "the rule %q has no effect: %s asks about all it is about", r.label(), b.WhereIs(by.pos))
		} else if by := floor.covering(r); by != nil {
			b.withoutEffect(r, "remove it, or narrow the floor", "the rule %q has no effect: the floor denies all it is about (%s)", r.label(), b.WhereIs(by.pos))
		}
	}
}

// softening says how an allow rule comes before an ask rule about the same tools.
func (b *builder) softening() string {
	if b.variables != nil {
		return unmatchedVariable + "=ask, in place of the ask rule, asks about what no list names"
	}
	return `give the ask rule "unlessAllowed": true`
}

func (b *builder) doubtRule(r *rule, hint, format string, args ...any) {
	b.Warn(r.pos, 1, hint, format, args...)
}

func (b *builder) withoutEffect(r *rule, hint, format string, args ...any) {
	before := len(b.Warnings)
	b.doubtRule(r, hint, format, args...)
	for i := range b.Warnings[before:] {
		b.Warnings[before+i].Shadowed = true
	}
}
