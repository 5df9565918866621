package policy

import (
	"fmt"
	"slices"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/profiles"
)

// foreignValues are what no allow rule means to let through.
var foreignValues = map[kind]string{path: "/etc/passwd", website: "https://" + evil + "/x", address: mallory}

// siblings are attacks on rules that look at one argument of a kind, through another one of that kind: the destination
// of a move, where the rule looks at the source; a list of paths, where it looks at a path.
func (s *subject) siblings() (all []weakness) {
	for _, r := range s.rules {
		when := operatorsOf(r)
		for i := range r.When {
			c, of := &r.When[i], when[r.When[i].Pointer]
			k := conditionKind(c, of)
			for _, t := range s.tools {
				if foreignValues[k] == "" || t.sample == nil || !r.Matches(t.Name, rawName(t)) {
					continue
				}
				for _, a := range t.arguments {
					if a.kind == k && !looksAt(r, &a) {
						all = append(all, s.beside(t, r, i, &a, of))
					}
				}
			}
		}
	}
	return all
}

// looksAt reports whether the rule has a condition on an argument.
func looksAt(r *profiles.Rule, a *argument) bool {
	return slices.ContainsFunc(r.When, func(c match.Condition) bool {
		return len(c.Steps) > 0 && len(a.steps) > 0 && c.Steps[0].Key == a.steps[0]
	})
}

// beside puts what the rule refuses into another argument than the one that it looks at.
func (s *subject) beside(t *tool, r *profiles.Rule, i int, a *argument, of operators) weakness {
	c := &r.When[i]
	w := weakness{family: Smuggling, severity: High, rule: r, argument: a.pointer(),
		mend: fmt.Sprintf("add a condition on %s to the rule, or let it refuse what it does not name: \"others\": \"none\"",
			a.pointer())}
	values := of.values()
	args := satisfied(r, s.harmless(t), i)
	if r.List == profiles.Allowlist {
		values = []any{foreignValues[a.kind]}
		args = satisfied(r, s.harmless(t), -1)
	} else {
		w.mend = fmt.Sprintf("add a rule with the same condition on %s", a.pointer())
	}
	if args == nil {
		return w
	}
	for _, v := range values {
		text, ok := v.(string)
		if !ok {
			continue
		}
		smuggled := with(args, stepsOf(a), text)
		if r.List != profiles.Allowlist && (!t.takes(c.Steps) || !required(t, c.Steps[0].Key)) {
			smuggled = without(smuggled, c.Steps)
		}
		if plain := with(args, c.Steps, text); t.fits(smuggled) && s.decide(t, plain).Verdict != call.Allow {
			w.attacks = append(w.attacks, attack{tool: t, program: t.call(smuggled), plain: t.call(plain),
				message: fmt.Sprintf("the rule looks at %s, and %s takes a %s in %s too", c.Pointer, t.Name, a.kind, a.pointer())})
		}
	}
	return w
}

func required(t *tool, member string) bool {
	needs, _ := t.schema["required"].([]any)
	return slices.Contains(needs, any(member))
}
