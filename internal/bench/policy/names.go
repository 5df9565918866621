package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/profiles"
)

// lookalikes are attacks on deny and ask rules, with a tool whose name looks like one that the rule names.
func (s *subject) lookalikes() (all []weakness) {
	for _, r := range s.rules {
		if r.List == profiles.Allowlist {
			continue
		}
		for _, meant := range s.meant(r) {
			for _, t := range s.tools {
				if t.skeleton != meant.skeleton || t.sample == nil || r.Matches(t.Name, rawName(t)) {
					continue
				}
				all = append(all, weakness{family: LookAlike, severity: High, rule: r,
					mend: fmt.Sprintf("name %q in the rule too, or write a pattern that matches both", t.Name),
					attacks: []attack{{tool: t, program: t.call(s.harmless(t)), plain: meant.plain,
						message: fmt.Sprintf("the rule names %s, and %s looks like it", meant.name, t.Name)}}})
			}
		}
	}
	return all
}

// A meantTool is a tool that a rule names.
type meantTool struct {
	name, skeleton, plain string
}

// meant are the tools that a rule matches, and the names in it that no tool has.
func (s *subject) meant(r *profiles.Rule) (all []meantTool) {
	for _, t := range s.tools {
		if r.Matches(t.Name, rawName(t)) && t.sample != nil {
			all = append(all, meantTool{t.Name, t.skeleton, t.call(t.sample)})
		}
	}
	for _, g := range r.Globs {
		known := slices.ContainsFunc(s.tools, func(t *tool) bool { return g.Match(t.Name) || g.Match(rawName(t)) })
		if g.Plain && !known {
			all = append(all, meantTool{name: g.Head, skeleton: skeleton(g.Head)})
		}
	}
	return all
}

// confusable are characters that look like others, in folded text.
var confusable = strings.NewReplacer(
	"0", "o", "1", "l", "i", "l", "|", "l", "5", "s", "rn", "m", "vv", "w",
	"а", "a", "е", "e", "о", "o", "р", "p", "с", "c", "у", "y", "х", "x", "і", "l", "ѕ", "s", "ј", "j",
	"ԁ", "d", "һ", "h",
	"α", "a", "ο", "o", "ρ", "p", "ν", "v", "ι", "l", "κ", "k", "τ", "t", "υ", "u",
)

// skeleton is what a name looks like: without case, separators and invisible characters, and with one character for all
// that look like it.
func skeleton(name string) string {
	return strings.Map(func(r rune) rune {
		if r > 0x7f || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, confusable.Replace(visibleOnly(match.Fold(name))))
}

// visibleOnly removes characters of no width.
func visibleOnly(s string) string {
	return strings.Map(func(r rune) rune {
		if r == 0xad || r >= 0x200b && r <= 0x200f || r == 0x2060 || r == 0xfeff {
			return -1
		}
		return r
	}, s)
}

// spills are attacks on allow rules with a pattern that begins with the name of one server and also matches tools of
// another one.
func (s *subject) spills() (all []weakness) {
	for _, r := range s.rules {
		if r.List != profiles.Allowlist {
			continue
		}
		for i, g := range r.Globs {
			meant, ok := s.serverOf(g.Head)
			if !ok || g.Plain {
				continue
			}
			for _, t := range s.tools {
				if call.Part(t.Server) == meant || !g.Match(t.Name) || t.says("readOnlyHint", true) || t.sample == nil {
					continue
				}
				all = append(all, weakness{family: LookAlike, severity: Medium, rule: r,
					mend: fmt.Sprintf("end the name of the server in %q: %q", r.Patterns[i], meant+"__*"),
					attacks: []attack{{tool: t, program: t.call(s.harmless(t)), message: fmt.Sprintf(
						"the pattern %q begins with the name of the server %s, and also matches a tool of %s", r.Patterns[i], meant,
						t.Server)}}})
			}
		}
	}
	return all
}

// serverOf returns the server that a pattern means by what it begins with: "git" for git*.
func (s *subject) serverOf(head string) (name string, ok bool) {
	if strings.Contains(head, "__") { // then it matches tools of that server alone
		return "", false
	}
	i := slices.IndexFunc(s.tools, func(t *tool) bool { return call.Part(t.Server) == strings.TrimRight(head, "_") })
	if i < 0 {
		return "", false
	}
	return call.Part(s.tools[i].Server), true
}
