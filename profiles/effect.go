package profiles

import (
	"errors"
	"fmt"
	"strings"
)

// A proposed allow rule may be beaten: by an ask rule, which goes before it, by the floor, by "raise". What is
// proposed has to have an effect, so the call is decided under it first.

// A replacement is an entry of a list that a proposal writes anew.
type replacement struct {
	start, end int    // of the entry in the file
	rule       string // what stands there once the proposal is accepted
}

// probe is the call that an accepted proposal has to let through.
func (p *Proposal) probe(c *Config) (Call, Gaps) {
	call := c.Call(strings.NewReplacer("*", "x", "?", "x").Replace(p.Tool), p.Args)
	call.Time = p.Time
	if p.Args == nil {
		return call, Gaps{Unknown: []string{""}}
	}
	return call, Gaps{}
}

// allows reports whether a profile may let the call through, and why not.
func (p *Proposal) allows(c *Config) (bool, Decision) {
	profile := c.Profile(p.Profile)
	if profile == nil {
		return false, Decision{}
	}
	call, gaps := p.probe(c)
	f := profile.Foresee(call, gaps)
	for _, v := range f.Verdicts {
		if v == Allow {
			return true, f.Decision
		}
	}
	return false, f.Decision
}

// softened finds the ask rules that would beat the proposed allow rule, and writes each so that an allow rule beats it. It is an error where
// that would let other calls through, or where something else stands in the way.
func (p *Proposal) softened(file, src string, c *Config) ([]replacement, error) {
	profile := c.Profile(p.Profile)
	call, _ := p.probe(c)
	v := &view{call: call}
	if bad := profile.prepare(v); bad != "" {
		return nil, errors.New(bad)
	}
	t, bad := parseFile(strings.TrimPrefix(src, "\ufeff"))
	if bad != nil {
		return nil, errors.New(bad.message)
	}
	mark := len(src) - len(t.src)
	var all []replacement
	for _, j := range profile.judgements(v, nil) {
		r := j.rule
		if r.list != asklist || r.soft || j.result == no {
			continue
		}
		if r.pos.File != file {
			return nil, fmt.Errorf("the rule %q at %s asks whatever is allowed here: change it there", r.label(), r.pos)
		}
		if other := profile.alsoAllowed(r); other != nil {
			return nil, fmt.Errorf("the rule %q at %s asks whatever is allowed, and if it gave way to allow rules, the rule %q at %s would let through more than this call: narrow one of the two by hand",
				r.label(), r.pos, other.label(), other.pos)
		}
		found := false
		n := &t.nodes[0]
		for _, key := range []string{"evaluation", "profiles", r.profile, asklist.String()} {
			if n != nil {
				n = t.member(n, key)
			}
		}
		if n == nil {
			return nil, fmt.Errorf("the rule %q at %s was not found in the file", r.label(), r.pos)
		}
		for child := range t.children(n) {
			if string(t.source(child)) == r.text {
				found = true
				all = append(all, replacement{mark + int(child.start), mark + int(child.end), soft(r.text)})
			}
		}
		if !found {
			return nil, fmt.Errorf("the rule %q at %s was not found in the file", r.label(), r.pos)
		}
	}
	return all, nil
}

// soft writes an ask rule so that an allow rule beats it.
func soft(rule string) string {
	if body, ok := strings.CutPrefix(strings.TrimSpace(rule), "{"); ok {
		return `{"unlessAllowed":true,` + strings.TrimSpace(strings.ReplaceAll(body, "\n", " "))
	}
	return `{"tool":` + strings.TrimSpace(rule) + `,"unlessAllowed":true}`
}

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

// noEffect says why a proposal would change nothing.
func (p *Proposal) noEffect(d Decision) error {
	why := "nothing says why"
	if len(d.Reasons) > 0 {
		r := d.Reasons[0]
		why = fmt.Sprintf("%s: %s", r.List, r.Text)
		if r.Rule != "" {
			why = fmt.Sprintf("the rule %q of the %s at %s decides", r.Rule, r.List, r.Pos)
		}
	}
	return fmt.Errorf("an allow rule for %s would have no effect under the profile %q: the verdict would still be %s (%s)", p.Tool, p.Profile, d.Verdict, why)
}
