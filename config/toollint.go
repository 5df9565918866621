package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/typos"
	"github.com/codemode-project/codemode/profiles"
)

// A ToolInfo is a tool to check rules against.
type ToolInfo struct {
	Server      string          `json:"server"` // as configured
	Tool        string          `json:"tool"`   // as the upstream spells it
	Input       json.RawMessage `json:"inputSchema,omitempty"`
	Annotations map[string]any  `json:"annotations,omitempty"`
	Name        string          `json:"name,omitempty"` // canonical; "" = made from Server and Tool
}

// Canonical is the canonical name.
func (t *ToolInfo) Canonical() string { return cmp.Or(t.Name, call.Name(t.Server, t.Tool)) }

// The kinds of [Finding].
const (
	findingArgument = "no-such-argument"  // a condition reads an argument that no tool of the rule takes
	findingOptional = "optional-argument" // a deny rule reads an argument that a call may omit
	findingDead     = "dead-rule"         // a pattern matches no tool
	findingShadowed = "shadowed"          // other rules decide all calls of the rule
	findingCarry    = "read-and-send"     // a program may read and send without a question in between
	findingWarning  = "warning"           // a warning from loading the file

	findingApprover    = "nobody-else" // the profile wants another approver than the caller, whom nobody verifies
	findingEnvironment = "environment" // an environment variable decides too
)

// A Finding is a part of the rules that probably does not do what its author meant.
type Finding struct {
	Kind string
	Note bool // worth knowing; nothing needs to change
	settings.Problem
}

// Lint checks the rules against the given tools. Without tools it returns only what the files alone show.
func (c *Config) Lint(tools []ToolInfo) []Finding {
	l := &linter{c: c, lines: map[string][]string{}}
	for _, w := range c.Warnings {
		kind := findingWarning
		if w.Shadowed {
			kind = findingShadowed
		}
		l.found = append(l.found, Finding{Kind: kind, Problem: w})
	}
	variables, note := c.EnvironmentNote()
	for _, name := range variables {
		l.add(findingEnvironment, true, settings.Position{File: name, Line: 1, Column: 1}, "", "%s", note)
	}
	l.approvers()
	if len(tools) == 0 {
		return l.found
	}
	for i := range tools {
		t := lintTool{ToolInfo: &tools[i], name: tools[i].Canonical()}
		t.schema, t.known = parseInputSchema(tools[i].Input)
		l.tools = append(l.tools, t)
	}
	for _, p := range c.parts {
		for _, w := range p.order {
			l.rules(w, c.profiles[w.Name])
		}
		if w := p.variables; w != nil {
			own := c.profiles[w.Name]
			if !c.environmentAlone() {
				own = nil
			}
			l.rules(w, own)
		}
		for _, o := range p.overlays {
			if o.rules != nil {
				l.rules(o.rules, nil)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.profiles)) {
		if name == c.Default || c.Exposes(toolPrefix+name) {
			l.carry(c.profiles[name])
		}
	}
	slices.SortStableFunc(l.found, func(a, b Finding) int {
		return compareInts(strings.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column)
	})
	return l.found
}

// approvers finds profiles that want somebody other than the caller, where nobody verifies who a caller is. It is a note
// where the file says who else answers: the caller over stdio is the user who started the process.
func (l *linter) approvers() {
	runs := func(t Token) bool { return !t.Answers }
	if h := l.c.Keys.HTTP; h != nil && (h.OAuth != nil || slices.ContainsFunc(h.Tokens, runs)) {
		return
	}
	page := l.c.Console
	note := page != nil && (page.SignIn != nil || len(page.People) > 0)
	for _, p := range l.c.parts {
		for _, w := range p.order {
			if w.Ask.OtherOnly {
				l.add(findingApprover, note, w.Pos, `set "http.tokens", or sign-in with "http.oauth"`,
					`the profile %q needs tokens or sign-in: it wants somebody other than the caller to approve ("approver": "other"),`+
						" and codemode refuses what it would ask about for callers over HTTP whom nobody verified", w.Name)
			}
		}
	}
}

func compareInts(orders ...int) int {
	for _, o := range orders {
		if o != 0 {
			return o
		}
	}
	return 0
}

type linter struct {
	c     *Config
	tools []lintTool
	found []Finding
	lines map[string][]string
}

type lintTool struct {
	*ToolInfo
	name   string // canonical
	schema inputSchema
	known  bool // the schema is
}

func (t *lintTool) raw() string { return t.Server + "__" + t.Tool }

func (l *linter) add(kind string, note bool, pos settings.Position, hint, format string, args ...any) {
	l.found = append(l.found, Finding{Kind: kind, Note: note, Problem: settings.Problem{
		Position: pos, Length: 1, Message: fmt.Sprintf(format, args...), Hint: hint, Source: l.source(pos),
	}})
}

func (l *linter) source(pos settings.Position) string {
	if l.lines[pos.File] == nil {
		for _, p := range l.c.parts {
			if p.File == pos.File {
				l.lines[pos.File] = strings.Split(p.src, "\n")
			}
		}
	}
	if lines := l.lines[pos.File]; pos.Line > 0 && pos.Line <= len(lines) {
		return strings.TrimSuffix(lines[pos.Line-1], "\r")
	}
	return ""
}

func (l *linter) rules(w *profiles.Written, p *profiles.Profile) {
	for _, rules := range w.Lists {
		for _, r := range rules {
			about := l.about(r)
			l.dead(r)
			l.arguments(r, about)
			if p != nil && r.List == profiles.Allowlist {
				l.shadowed(r, p, about)
			}
		}
	}
}

func (l *linter) about(r *profiles.Rule) []*lintTool {
	var about []*lintTool
	for i := range l.tools {
		if t := &l.tools[i]; r.Matches(t.name, t.raw()) {
			about = append(about, t)
		}
	}
	return about
}

// dead reports patterns that match no tool. A deny or ask pattern over any server may match future tools, so dead only
// notes it.
func (l *linter) dead(r *profiles.Rule) {
	for i, g := range r.Globs {
		one := profiles.Rule{List: r.List, Globs: []*match.Pattern{g}}
		fits := slices.ContainsFunc(l.tools, func(t lintTool) bool { return one.Matches(t.name, t.raw()) })
		if fits {
			continue
		}
		hint := "correct it, or remove it"
		var names []string
		for _, t := range l.tools {
			names = append(names, t.name)
		}
		if near := typos.Nearest(r.Patterns[i], names); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		net := r.List != profiles.Allowlist && strings.HasPrefix(r.Patterns[i], "*")
		l.add(findingDead, net, r.Pos, hint, "the pattern %q in the %s fits none of the %d tools", r.Patterns[i], r.List,
			len(l.tools))
	}
}

// arguments reports conditions on arguments that tools do not take, or that calls may omit.
func (l *linter) arguments(r *profiles.Rule, about []*lintTool) {
	for i := range r.When {
		c := &r.When[i]
		if c.DecidesAbsence() {
			continue
		}
		var without, optional []string
		standing := ""
		known := 0
		for _, t := range about {
			if !t.known {
				continue
			}
			known++
			switch a := t.schema.argument(c.Steps); {
			case !a.described:
				without = append(without, t.name)
			case !a.required:
				optional = append(optional, t.name)
				if a.standing != "" {
					standing = " (it is " + a.standing + " then)"
				}
			}
		}
		switch {
		case known > 0 && len(without) == known:
			l.add(findingArgument, false, r.Pos, "correct the pointer",
				"%s is in the inputSchema of no tool that the rule %q is about: %s", c.Pointer, r.Label(), few(without))
		case len(without) > 0 && r.List != profiles.Allowlist:
			l.add(findingArgument, false, r.Pos,
				`narrow the pattern, or say what holds without the argument: "ifMissing": "noMatch"`,
				"the rule %q looks at %s, which %s not take: every call of it is put to a person", r.Label(), c.Pointer,
				plural(without, "does", "do"))
		}
		if len(optional) > 0 && r.List == profiles.Denylist {
			l.add(findingOptional, false, r.Pos, `say what holds without the argument: "ifMissing": "match" denies such calls`,
				"%s may be left out in calls of %s%s: the rule %q then asks instead of denying", c.Pointer, few(optional), standing,
				r.Label())
		}
	}
}

// shadowed reports allow rules that have no effect because several rules before them decide all their tools. Loading
// the file finds those that a single rule covers.
func (l *linter) shadowed(r *profiles.Rule, p *profiles.Profile, about []*lintTool) {
	if len(about) == 0 || slices.ContainsFunc(l.found, func(f Finding) bool {
		return f.Kind == findingShadowed &&
			f.Position == r.Pos
	}) {
		return
	}
	var by []string
	for _, t := range about {
		first := p.FirstOver(t.name, t.raw(), []*profiles.Rule{r})
		if first == nil {
			return
		}
		if text := fmt.Sprintf("%q at %s", first.Label(), first.Pos); !slices.Contains(by, text) {
			by = append(by, text)
		}
	}
	l.add(findingShadowed, false, r.Pos, "remove it, or narrow the others",
		"the rule %q has no effect: other rules decide all it is about: %s", r.Label(), few(by))
}

// few lists names, and only counts those beyond three.
func few(names []string) string {
	if len(names) > 4 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}

func plural(names []string, one, many string) string {
	if len(names) == 1 {
		return few(names) + " " + one
	}
	return few(names) + " " + many
}
