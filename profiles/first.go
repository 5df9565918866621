package profiles

import (
	"errors"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/profiles/condition"
)

// What comes before what: for tools that look at rules.

// beating gives the ask rules that go before an allow rule for a call. id is the rule's, "" = none.
func (p *Profile) beating(c Call, id string) ([]*rule, error) {
	v := &view{call: c}
	if bad := p.prepare(v); bad != "" {
		return nil, errors.New(bad)
	}
	var all []*rule
	for _, j := range p.judgements(v, nil) {
		r := j.rule
		named := id != "" && slices.Contains(r.unless, id)
		if r.list == asklist && !r.soft && !named && j.result != condition.No {
			all = append(all, r)
		}
	}
	return all, nil
}

// exact reports whether an ask rule has to name the proposed rule: if it gave way to every allow rule, others would
// let more through.
func (p *Profile) exact(ask *rule) bool { return len(ask.unless) > 0 || p.alsoAllowed(ask) != nil }

// alsoAllowed gives an allow rule about tools of the ask rule, nil if there is none. One that could be about them counts.
func (p *Profile) alsoAllowed(ask *rule) *rule {
	for _, r := range p.rules {
		if r.list != allowlist {
			continue
		}
		for _, a := range r.patterns {
			for _, b := range ask.patterns {
				x, y := fixed(a), fixed(b)
				if strings.HasPrefix(x, y) || strings.HasPrefix(y, x) {
					return r
				}
			}
		}
	}
	return nil
}

// fixed is the part of a pattern before anything that may stand for something else.
func fixed(pattern string) string {
	if i := strings.IndexAny(pattern, `*?[{\`); i >= 0 {
		return pattern[:i]
	}
	return pattern
}

// firstOver finds a rule that denies or asks about every call of a tool, whatever the given allow rules say.
func (p *Profile) firstOver(name, raw string, allows []*rule) *rule {
	for _, r := range p.rules {
		gives := r.soft || slices.ContainsFunc(allows, r.excepts)
		if r.list != allowlist && !gives && !r.conditional() && r.matches(name, raw) {
			return r
		}
	}
	for _, l := range p.layers {
		for _, r := range l.rules {
			if r.list == denylist && !r.conditional() && l.tools == nil && r.matches(name, raw) {
				return r
			}
		}
	}
	return nil
}

// mayAllow reports whether some call of the tool is allowed without a question.
func (p *Profile) mayAllow(c Call, raw string) bool {
	var allows []*rule
	for _, r := range p.rules {
		if r.list == allowlist && r.matches(c.Name, raw) {
			allows = append(allows, r)
		}
	}
	if !p.Visible(c) || p.firstOver(c.Name, raw, allows) != nil {
		return false
	}
	return p.unmatched == Allow || len(allows) > 0
}

// unmatchedWithout reports whether the profile lets through what no rule names, and only
// because it has no allowlist.
func (p *Profile) unmatchedWithout() bool { return p.unmatched == Allow && !p.unmatchedSaid }
