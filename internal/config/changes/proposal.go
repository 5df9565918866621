package changes

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/profiles"
)

// A Proposal is a suggested rule for a file. It takes effect only when a person removes the comment signs.
type Proposal struct {
	Profile string // which profile
	List    string // allowlist, asklist or denylist; "" = allowlist
	Tool    string // canonical name or pattern
	// Args are the only arguments to allow; nil proposes a rule for any arguments. The rule compares their values
	// exactly.
	Args json.RawMessage
	ID   string // of the rule; "" = none

	By   string // who proposes it, and Why: for readers of the file
	Why  string
	Time time.Time
}

// rule writes the rule on one line.
func (p *Proposal) rule() (string, error) {
	type condition struct {
		Eq  json.RawMessage `json:"eq,omitempty"`
		Any json.RawMessage `json:"any,omitempty"`
	}
	rule := struct {
		ID     string               `json:"id,omitempty"`
		Tool   string               `json:"tool"`
		When   map[string]condition `json:"when,omitempty"`
		Others string               `json:"others,omitempty"`
	}{ID: p.ID, Tool: p.Tool}
	if p.Args != nil {
		root, bad := settings.ParseCall(p.Args)
		if bad != nil || root.Kind() != strictjson.Object {
			return "", errors.New("the arguments of the proposal are no JSON object")
		}
		rule.When = map[string]condition{}
		for child := range settings.Children(root) {
			pointer := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(child.Key())
			if child.Kind() == strictjson.Null { // treated as absent
				rule.When[pointer] = condition{Any: json.RawMessage(`[{"exists":false},{"type":"null"}]`)}
				continue
			}
			rule.When[pointer] = condition{Eq: settings.Source(child)}
		}
		if p.List == profiles.Allowlist.String() {
			rule.Others = "none"
		}
	}
	raw, err := json.Marshal(rule)
	// A program supplies the arguments: a person who reads the rule must see all of them.
	return visible.JSON(string(raw)), err
}

// instead words the proposal to rewrite an ask rule.
func (p *Proposal) instead(before, rule string) string {
	last := before[strings.LastIndexByte(before, '\n')+1:]
	indent := last[:len(last)-len(strings.TrimLeft(last, " \t"))] + "  "
	return fmt.Sprintf("\n%s// Proposed %s with a rule of the allowlist, which has no effect without this: take the // of the next line away,\n"+
		"%s// and remove the entry below it.\n%s// %s,\n%s", indent, p.Time.UTC().Format(time.DateOnly), indent, indent, rule,
		indent)
}

// comment words the proposal, indented like the preceding line.
func (p *Proposal) comment(before string, lines []string, note string) string {
	last := before[strings.LastIndexByte(before, '\n')+1:]
	indent := last[:len(last)-len(strings.TrimLeft(last, " \t"))] + "  "
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s// Proposed %s", indent, p.Time.UTC().Format(time.DateOnly))
	if p.By != "" {
		fmt.Fprintf(&b, " by %s", oneLine(p.By))
	}
	if p.Why != "" {
		fmt.Fprintf(&b, ": %s", oneLine(p.Why))
	}
	fmt.Fprintf(&b, ".\n%s// To accept it, take the // of the next line away; to refuse it, remove the lines.\n", indent)
	if note != "" {
		fmt.Fprintf(&b, "%s// %s\n", indent, note)
	}
	for _, line := range lines {
		fmt.Fprintf(&b, "%s// %s\n", indent, line)
	}
	return b.String() + indent
}

// oneLine keeps other people's text inside its comment, and short.
func oneLine(s string) string {
	return strings.TrimRight(match.Shortened(visible.InComment(s)), ".")
}

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
