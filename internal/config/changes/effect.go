package changes

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/profiles"
)

// An ask rule, which precedes it, the floor or "raise" may override a proposed allow rule. A proposal must have an
// effect, so this code first decides the call under it.

// A replacement is a list entry that a proposal rewrites.
type replacement struct {
	start, end int    // of the entry in the file
	rule       string // the entry after acceptance of the proposal
}

// probe is the call that an accepted proposal must let through.
func (p *Proposal) probe(c *config.Config) (profiles.Call, profiles.Gaps) {
	asked := c.Call(strings.NewReplacer("*", "x", "?", "x").Replace(p.Tool), p.Args)
	asked.Time = p.Time
	if p.Args == nil {
		return asked, profiles.Gaps{Unknown: []string{""}}
	}
	return asked, profiles.Gaps{}
}

// allows reports whether a profile may let the call through, and if not, why.
func (p *Proposal) allows(c *config.Config) (bool, call.Decision) {
	profile := c.Profile(p.Profile)
	if profile == nil {
		return false, call.Decision{}
	}
	asked, gaps := p.probe(c)
	f := profile.Foresee(asked, gaps)
	for _, v := range f.Verdicts {
		if v == call.Allow {
			return true, f.Decision
		}
	}
	return false, f.Decision
}

// beating returns the ask rules that would override the proposed allow rule.
func (p *Proposal) beating(c *config.Config) ([]*profiles.Rule, error) {
	profile := c.Profile(p.Profile)
	if profile == nil {
		return nil, nil
	}
	asked, _ := p.probe(c)
	return profile.Beating(asked, p.ID)
}

// wantsName reports whether the proposed rule needs an id for ask rules to name it.
func (p *Proposal) wantsName(c *config.Config) bool {
	rules, err := p.beating(c)
	return err == nil && slices.ContainsFunc(rules, func(r *profiles.Rule) bool { return c.Profile(p.Profile).Exact(r) })
}

// freeID is an unused id for the proposed rule.
func (p *Proposal) freeID(c *config.Config) string {
	taken := map[string]bool{}
	for _, name := range c.All() {
		for _, r := range c.Profile(name).Rules() {
			taken[r.ID] = true
		}
	}
	id := p.Tool
	for n := 2; taken[id]; n++ {
		id = fmt.Sprintf("%s-%d", p.Tool, n)
	}
	return id
}

// softened rewrites each ask rule that would override the proposed allow rule, so that this allow rule overrides it and
// no other rule newly does. It returns an error if something else blocks the proposal.
func (p *Proposal) softened(file, src string, c *config.Config) ([]replacement, error) {
	profile := c.Profile(p.Profile)
	rules, err := p.beating(c)
	if err != nil {
		return nil, err
	}
	text := strings.TrimPrefix(src, "\ufeff")
	root, bad := settings.ParseFile(text)
	if bad != nil {
		return nil, errors.New(bad.Message)
	}
	mark := len(src) - len(text)
	var all []replacement
	for _, r := range rules {
		if r.Pos.File != file {
			return nil, fmt.Errorf("the rule %q at %s asks whatever is allowed here: change it there", r.Label(), r.Pos)
		}
		to := "true"
		if profile.Exact(r) {
			ids, err := json.Marshal(append(slices.Clone(r.Unless), p.ID))
			if err != nil {
				return nil, err
			}
			to = visible.JSON(string(ids))
		}
		found := false
		n := root
		for _, key := range []string{"evaluation", "profiles", r.Profile, profiles.Asklist.String()} {
			if n.Kind() != strictjson.Missing {
				n = settings.Member(n, key)
			}
		}
		if n.Kind() == strictjson.Missing {
			return nil, fmt.Errorf("the rule %q at %s was not found in the file", r.Label(), r.Pos)
		}
		for child := range settings.Children(n) {
			if child.Compact() == r.Text {
				found = true
				start, end := mark+child.Offset(), mark+child.End()
				all = append(all, replacement{start, end, unlessAllowed(r.Text, to)})
			}
		}
		if !found {
			return nil, fmt.Errorf("the rule %q at %s was not found in the file", r.Label(), r.Pos)
		}
	}
	return all, nil
}

// unlessAllowed rewrites an ask rule with another "unlessAllowed".
func unlessAllowed(rule, to string) string {
	rule = strings.TrimSpace(strings.ReplaceAll(rule, "\n", " "))
	body, ok := strings.CutPrefix(rule, "{")
	if !ok {
		return `{"tool":` + rule + `,"unlessAllowed":` + to + `}`
	}
	if root, bad := settings.ParseFile(rule); bad == nil {
		if had := settings.Member(root, "unlessAllowed"); had.Kind() != strictjson.Missing {
			return rule[:had.Offset()] + to + rule[had.End():]
		}
	}
	return `{"unlessAllowed":` + to + `,` + strings.TrimSpace(body)
}

// noEffect explains why a proposal would change nothing.
func (p *Proposal) noEffect(d call.Decision) error {
	why := "nothing says why"
	if len(d.Reasons) > 0 {
		r := d.Reasons[0]
		why = fmt.Sprintf("%s: %s", r.List, r.Text)
		if r.Rule != "" {
			why = fmt.Sprintf("the rule %q of the %s at %s decides", r.Rule, r.List, r.Pos)
		}
	}
	return fmt.Errorf("an allow rule for %s would have no effect under the profile %q: the verdict would still be %s (%s)",
		p.Tool, p.Profile, d.Verdict, why)
}
