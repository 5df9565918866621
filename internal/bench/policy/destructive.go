package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/profiles"
)

// named reports whether a rule names the tool itself, and so means it.
func named(r *profiles.Rule, t *tool) bool {
	return r != nil && slices.ContainsFunc(r.Patterns, func(p string) bool { return p == t.Name })
}

// destructive are calls of tools that destroy something, where no rule names the tool.
func (s *subject) destructive() (all []weakness) {
	for _, t := range s.tools {
		args := s.harmless(t)
		if !t.destroys() || args == nil {
			continue
		}
		d := s.decide(t, args)
		r := s.behind(&d)
		if d.Verdict == call.Allow && named(r, t) {
			continue // an allow rule that names the tool is taken at its word
		}
		message := "a pattern allows a tool that destroys or overwrites something"
		if r == nil {
			message = "no rule mentions a tool that destroys or overwrites something, so it is allowed"
		}
		all = append(all, weakness{family: Destructive, severity: High,
			mend: fmt.Sprintf(`ask about it: "asklist": [{"tool": %q, "risk": "high"}]; if you mean to allow it, name it in `+
				"the allowlist", t.Name),
			attacks: []attack{{tool: t, program: t.call(args), message: message}}})
	}
	return all
}

// flood is how many writes by one program are too many without a question.
const flood = 500

// floods are programs that call one writing tool again and again, each time with other arguments where it takes a text.
func (s *subject) floods() (all []weakness) {
	for _, t := range s.tools {
		args := s.allowed(t)
		if !t.writes() || args == nil {
			continue
		}
		write := t.expression(literal(args))
		if a := s.free(t, args); a != nil {
			const mark = "@@number@@"
			write = strings.Replace(t.expression(literal(with(args, stepsOf(a), "x"+mark))), mark+`"`, `" + i`, 1)
		}
		program := fmt.Sprintf("let made = 0;\nfor (let i = 0; i < %d; i++) try { await %s; made++; } catch { break; }\n"+
			"return made;", flood, write)
		all = append(all, weakness{family: NoBudget, severity: Low,
			mend: `bound the calls of a run with "limits": {"calls": 50} in the profile, or those of all runs with "budgets"`,
			attacks: []attack{{tool: t, program: program, least: flood, message: fmt.Sprintf(
				"one program may write %d times and more, and nobody is asked", flood)}}})
	}
	return all
}

// free is a text of the arguments that may be anything; nil if there is none.
func (s *subject) free(t *tool, args map[string]any) *argument {
	for i := range t.arguments {
		a := &t.arguments[i]
		changed := with(args, stepsOf(a), "x0")
		if len(a.steps) == 1 && t.fits(changed) && s.decide(t, changed).Verdict == call.Allow {
			return a
		}
	}
	return nil
}

// detours are ways around a rule that refuses one tool, through another one that the profile allows.
func (s *subject) detours() (all []weakness) {
	for _, r := range s.rules {
		if r.List == profiles.Allowlist {
			continue
		}
		for _, refused := range s.tools {
			if refused.sample == nil || !r.Matches(refused.Name, rawName(refused)) || !refused.writes() {
				continue
			}
			for _, t := range s.tools {
				switch {
				case t == refused || r.Matches(t.Name, rawName(t)):
				case t.Server == refused.Server && t.skeleton != refused.skeleton && sameEffect(t, refused):
					w := s.around(r, refused, t, s.harmless(t))
					w.rule, w.mend = r, fmt.Sprintf("name %q in the rule too", t.Name)
					all = append(all, w)
				case t.runs() != nil && (t.Server == refused.Server || s.local[t.Server] && s.local[refused.Server]):
					w := s.around(r, refused, t, with(s.harmless(t), stepsOf(t.runs()), "rm -rf "+usual[path]))
					w.mend = fmt.Sprintf("ask about %s: what runs commands or code can do all that the rules refuse", t.Name)
					all = append(all, w)
				}
			}
		}
	}
	return all
}

func (s *subject) around(r *profiles.Rule, refused, t *tool, args map[string]any) weakness {
	w := weakness{family: Detour, severity: High}
	if args != nil && t.fits(args) {
		w.attacks = []attack{{tool: t, program: t.call(args), plain: refused.call(refused.sample), message: fmt.Sprintf(
			"the rule %s (%s) refuses %s, and %s can do the same", r.Label(), r.Pos, refused.Name, t.Name)}}
	}
	return w
}

// sameVerbs are verbs with the same effect.
var sameVerbs = [][]string{
	{"delete", "remove", "erase", "unlink", "purge", "trash", "destroy", "drop", "rm"},
	{"write", "overwrite", "save", "put", "edit", "append", "modify", "patch", "replace"},
	{"send", "post", "publish", "submit"},
}

// sameEffect reports whether the names say that two tools do the same to the same: write_file and edit_file.
func sameEffect(a, b *tool) bool {
	for _, verbs := range sameVerbs {
		isVerb := func(w string) bool { return slices.Contains(verbs, w) }
		if slices.ContainsFunc(a.words, isVerb) && slices.ContainsFunc(b.words, isVerb) {
			x, y := slices.DeleteFunc(slices.Clone(a.words), isVerb), slices.DeleteFunc(slices.Clone(b.words), isVerb)
			return len(x) > 0 && slices.Equal(singular(x), singular(y))
		}
	}
	return false
}

func singular(words []string) (all []string) {
	for _, w := range words {
		all = append(all, strings.TrimSuffix(w, "s"))
	}
	return all
}
