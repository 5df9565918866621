package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/profiles"
)

// A disguise is one value in two forms. For a server both mean the same, or the second one does what the first one
// does.
type disguise struct {
	plain, disguised any
	how              string
}

// A costumer makes the disguises for one condition. Where the condition refuses, the plain value is one that it means.
// Where it allows, the plain value is one that it does not mean.
type costumer struct {
	family   Family
	severity Severity
	allow    func(operators) []disguise
	refuse   func(operators) []disguise
	mend     func(of operators, allow bool) string
}

// costumers are those for the kinds of arguments.
var costumers = map[kind]costumer{
	path:    {Traversal, High, climbs, spellings, mendPath},
	website: {URLTrick, High, foreignHosts, otherNames, mendHost},
	command: {Second, High, secondCommands, hiddenCommands, mendCommand},
	query:   {Second, High, secondQueries, hiddenQueries, mendQuery},
	address: {Smuggling, High, foreignAddresses, otherAddresses, mendAddress},
	other:   {Smuggling, Medium, nothing, otherTypes, mendType},
}

// disguises are the attacks on conditions: what each of them is about, in other forms.
func (s *subject) disguises() (all []weakness) {
	for _, r := range s.rules {
		when := operatorsOf(r)
		for i := range r.When {
			c, of := &r.When[i], when[r.When[i].Pointer]
			allow := r.List == profiles.Allowlist
			if not, ok := of["not"].(map[string]any); ok && len(of) == 1 { // it refuses all but these, or allows all but these
				of, allow = not, !allow
			}
			k := conditionKind(c, of)
			all = append(all, s.costumes(r, i, k, of, allow))
			if k != other && !allow {
				all = append(all, s.costumes(r, i, other, of, allow))
			}
		}
	}
	return all
}

// costumes are the disguises of one kind for the condition of a rule.
func (s *subject) costumes(r *profiles.Rule, i int, k kind, of operators, allow bool) weakness {
	by := costumers[k]
	dress := by.refuse
	if allow {
		dress = by.allow
	}
	w := weakness{family: by.family, severity: by.severity, rule: r, argument: r.When[i].Pointer, mend: by.mend(of, allow)}
	for _, t := range s.tools {
		if r.Matches(t.Name, rawName(t)) {
			w.attacks = append(w.attacks, s.dressed(t, r, i, k, dress(of), allow)...)
		}
	}
	return w
}

// dressed are the attacks with the disguises on one tool. allow says that the condition means what it lets through, and
// not what it keeps out.
func (s *subject) dressed(t *tool, r *profiles.Rule, i int, k kind, forms []disguise, allow bool) (all []attack) {
	c := &r.When[i]
	if t.sample == nil || !t.takes(c.Steps) || k == command && t.runs() == nil {
		return nil
	}
	args := satisfied(r, s.harmless(t), i)
	if args == nil {
		return nil
	}
	for _, f := range forms {
		plain, disguised := with(args, c.Steps, f.plain), with(args, c.Steps, f.disguised)
		meant := allow || holds(r, c, plain) == (r.List != profiles.Allowlist)
		if !meant || !t.fits(disguised) || s.decide(t, plain).Verdict == call.Allow {
			continue
		}
		all = append(all, attack{tool: t, program: t.call(disguised), plain: t.call(plain),
			message: fmt.Sprintf("the rule does not see through the %s: %s", k, f.how)})
	}
	return all
}

// harmless are arguments that the profile allows, if some are known.
func (s *subject) harmless(t *tool) map[string]any {
	if args := s.allowed(t); args != nil {
		return args
	}
	return t.sample
}

// takes reports whether the tool has an argument at a place, or does not say which ones it has.
func (t *tool) takes(steps []match.Step) bool {
	members, ok := t.schema["properties"].(map[string]any)
	return !ok || members[steps[0].Key] != nil || t.schema["additionalProperties"] == true
}

// conditionKind is what a condition looks at, as far as its operators, its texts and the name of the argument say.
func conditionKind(c *match.Condition, of operators) kind {
	literals := of.literals()
	begins := func(prefixes ...string) bool {
		return slices.ContainsFunc(literals, func(s string) bool {
			return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(strings.ToLower(s), p) })
		})
	}
	name := ""
	for _, s := range c.Steps {
		if !s.Any && s.Index < 0 {
			name = s.Key
		}
	}
	named := kindOf(name, nil)
	ambiguous := slices.Contains(words(name), "source") || slices.Contains(words(name), "destination")
	switch {
	case of.has("under"):
		return path
	case of.has("host"), of.names("://"):
		return website
	case begins(queryVerbs...), named == query && slices.ContainsFunc(words(name), isSQL):
		return query
	case named == address && of.names("@"), named == command, named == website:
		return named
	case begins("/", "./", "../", "~/", `c:\`), named == path && !ambiguous && of.has("prefix", "suffix", "glob", "regex"):
		return path
	}
	return other
}

func isSQL(word string) bool { return word == "sql" || word == "statement" }

// nothing is what rules let through on purpose: another type does not satisfy an allow rule.
func nothing(operators) []disguise { return nil }
