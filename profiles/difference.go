package profiles

import (
	"bytes"
	"slices"
	"strings"
)

// A RuleChange is a rule that only one of two profiles has.
type RuleChange struct {
	Added bool // the new profile has it
	RuleInfo
	Text string // as written
}

// DiffRules gives the rules that only one of two profiles has, as they are written: first
// those that are gone, then those that are new. Where they stand makes no difference.
func DiffRules(old, new *Profile) []RuleChange {
	was, is := old.texts(), new.texts()
	var changes []RuleChange
	only := func(here, there []ruleText, added bool) {
		left := slices.Clone(there)
		for _, t := range here {
			if i := slices.IndexFunc(left, t.same); i >= 0 {
				left = slices.Delete(left, i, i+1)
				continue
			}
			changes = append(changes, RuleChange{Added: added, RuleInfo: t.RuleInfo, Text: t.text})
		}
	}
	only(was, is, false)
	only(is, was, true)
	return changes
}

type ruleText struct {
	RuleInfo
	layer, text string
}

func (t ruleText) same(u ruleText) bool {
	return t.List == u.List && t.layer == u.layer && t.text == u.text
}

func (p *Profile) texts() []ruleText {
	var all []ruleText
	add := func(p *Profile, layer string) {
		for _, info := range p.Rules() {
			all = append(all, ruleText{info, layer, info.rule.Text})
		}
	}
	add(p, "")
	for _, l := range p.layers {
		add(l.Profile, l.What)
	}
	return all
}

// DiffSettings says in lines what else differs between two profiles, beside their rules.
func DiffSettings(old, new *Profile) []string {
	was, is := bytes.Split([]byte(old.settingsText()), []byte("\n")), bytes.Split([]byte(new.settingsText()), []byte("\n"))
	var lines []string
	for i := range was {
		if !bytes.Equal(was[i], is[i]) {
			key, before, _ := strings.Cut(string(was[i]), ": ")
			_, after, _ := strings.Cut(string(is[i]), ": ")
			lines = append(lines, key+": "+before+" -> "+after)
		}
	}
	return lines
}
