package profiles

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
)

// A RuleChange is a rule that only one of two profiles has.
type RuleChange struct {
	Added bool // the new profile has it
	*Rule
}

// Diff returns the rules that only one of two profiles has, as written: first the removed ones, then the new ones. It
// ignores their positions. Settings are lines about other differences.
func Diff(old, new *Profile) (changes []RuleChange, settings []string) {
	was, is := old.texts(), new.texts()
	only := func(here, there []ruleText, added bool) {
		left := slices.Clone(there)
		for _, t := range here {
			if i := slices.IndexFunc(left, t.same); i >= 0 {
				left = slices.Delete(left, i, i+1)
				continue
			}
			changes = append(changes, RuleChange{added, t.Rule})
		}
	}
	only(was, is, false)
	only(is, was, true)
	return changes, diffSettings(old, new)
}

type ruleText struct {
	*Rule
	layer string
}

func (t ruleText) same(u ruleText) bool {
	return t.List == u.List && t.layer == u.layer && t.Text == u.Text
}

func (p *Profile) texts() []ruleText {
	var all []ruleText
	add := func(p *Profile, layer string) {
		for _, r := range p.rules {
			all = append(all, ruleText{r, layer})
		}
	}
	add(p, "")
	for _, l := range p.layers {
		add(l.Profile, l.What)
	}
	return all
}

func diffSettings(old, new *Profile) []string {
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

// Differ says in a sentence how another profile's decision on a call differs from the decision in force; "" if the
// effect is the same. The same verdict with other reasons is no difference.
func Differ(counts, other call.Decision) string {
	if counts.Verdict == other.Verdict {
		return ""
	}
	r := other.Reasons[0]
	if r.Rule == "" {
		return fmt.Sprintf("%s instead of %s: %s", other.Verdict, counts.Verdict, r.Text)
	}
	return fmt.Sprintf("%s instead of %s: the rule %q at %s", other.Verdict, counts.Verdict, r.Rule, r.Pos)
}
