package profiles

import (
	"errors"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiles/match"
)

// This file determines which rules precede others, for tools that propose and check rules.

// Beating returns the ask rules that precede an allow rule for a call. id is the allow rule's, "" = none.
func (p *Profile) Beating(c Call, id string) ([]*Rule, error) {
	v := &view{call: c}
	if bad := p.prepare(v); bad != "" {
		return nil, errors.New(bad)
	}
	var all []*Rule
	for _, j := range p.judgements(v, nil) {
		r := j.rule
		named := id != "" && slices.Contains(r.Unless, id)
		if r.List == Asklist && !r.Soft && !named && j.result != match.No {
			all = append(all, r)
		}
	}
	return all, nil
}

// Exact reports whether an ask rule must name the proposed rule: if it yielded to every allow rule, others would let
// more through.
func (p *ruleSet) Exact(ask *Rule) bool { return len(ask.Unless) > 0 || p.alsoAllowed(ask) != nil }

// alsoAllowed returns an allow rule that is, or could be, about tools of the ask rule; nil if there is none.
func (p *ruleSet) alsoAllowed(ask *Rule) *Rule {
	for _, r := range p.rules {
		if r.List != Allowlist {
			continue
		}
		for _, a := range r.Patterns {
			for _, b := range ask.Patterns {
				x, y := fixed(a), fixed(b)
				if strings.HasPrefix(x, y) || strings.HasPrefix(y, x) {
					return r
				}
			}
		}
	}
	return nil
}

// fixed is the part of a pattern before its first wildcard.
func fixed(pattern string) string {
	if i := strings.IndexAny(pattern, `*?[{\`); i >= 0 {
		return pattern[:i]
	}
	return pattern
}

// FirstOver finds a rule that denies or asks about every call of a tool, regardless of the given allow rules.
func (p *Profile) FirstOver(name, raw string, allows []*Rule) *Rule {
	for _, r := range p.rules {
		gives := r.Soft || slices.ContainsFunc(allows, r.Excepts)
		if r.List != Allowlist && !gives && !r.Conditional() && r.Matches(name, raw) {
			return r
		}
	}
	for _, l := range p.layers {
		for _, r := range l.rules {
			if r.List == Denylist && !r.Conditional() && l.Tools == nil && r.Matches(name, raw) {
				return r
			}
		}
	}
	return nil
}

// MayAllow reports whether the profile allows some call of the tool without a question.
func (p *Profile) MayAllow(c Call, raw string) bool {
	var allows []*Rule
	for _, r := range p.rules {
		if r.List == Allowlist && r.Matches(c.Name, raw) {
			allows = append(allows, r)
		}
	}
	if !p.Visible(c) || p.FirstOver(c.Name, raw, allows) != nil {
		return false
	}
	return p.unmatched == call.Allow || len(allows) > 0
}

// UnmatchedWithout reports whether the profile lets unmatched calls through only because it has no allowlist.
func (p *ruleSet) UnmatchedWithout() bool { return p.unmatched == call.Allow && !p.unmatchedSaid }

// Covering finds a rule that makes another one redundant: an unconditional rule of the same list that certainly matches
// every tool that the other matches, else nil. It does not find several rules that do so only together.
func Covering(p *Profile, l List) func(*Rule) *Rule {
	var rules []*Rule
	for _, r := range p.rules {
		if r.List == l && !r.Conditional() {
			rules = append(rules, r)
		}
	}
	x := newIndex(rules)
	return func(r *Rule) (by *Rule) {
		for _, g := range r.Globs {
			if by = x.covering(g); by == nil {
				return nil
			}
		}
		return by
	}
}
