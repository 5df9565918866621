package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/profiles"
)

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
		t.schema = sync.OnceValues(func() (inputSchema, bool) { return parseInputSchema(tools[i].input()) })
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
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column)
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
		if near := visible.Nearest(r.Patterns[i], names); near != "" {
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
			schema, ok := t.schema()
			if !ok {
				continue
			}
			known++
			switch a := schema.argument(c.Steps); {
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
		return f.Kind == findingShadowed && f.Position == r.Pos
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

// carry notes that a program can read something and send it away without a question to a person in between.
func (l *linter) carry(p *profiles.Profile) {
	var reads, sends []string
	for i := range l.tools {
		t := &l.tools[i]
		if !p.MayAllow(profiles.Call{Server: t.Server, Tool: t.Tool, Name: t.name, Annotations: t.Annotations}, t.raw()) {
			continue
		}
		switch {
		case t.sends():
			sends = append(sends, t.name)
		case t.reads():
			reads = append(reads, t.name)
		}
	}
	if len(reads) > 0 && len(sends) > 0 {
		l.add(findingCarry, true, p.Pos(), `ask about what sends, or set "raise": {"tainted": "ask"}`,
			"under the profile %q a program may read with %s and send with %s, and nobody is asked", p.Name(), few(reads),
			few(sends))
	}
}

// The words in the names of tools that send, and of tools that read.
var (
	sendingWords = []string{"send", "post", "publish", "upload", "email", "mail", "message", "share", "webhook", "fetch",
		"request", "http", "notify", "tweet", "comment"}
	readingWords = []string{"get", "read", "list", "search", "query", "find", "download", "show", "describe", "select"}
)

func (t *lintTool) sends() bool {
	return t.Annotations["openWorldHint"] == true && t.Annotations["readOnlyHint"] != true || t.hasWord(sendingWords)
}

func (t *lintTool) reads() bool {
	return t.Annotations["readOnlyHint"] == true || t.hasWord(readingWords)
}

func (t *lintTool) hasWord(words []string) bool {
	name := strings.FieldsFunc(strings.ToLower(t.Tool), func(r rune) bool { return !isWord(byte(r)) || r == '_' })
	return slices.ContainsFunc(name, func(w string) bool { return slices.Contains(words, w) })
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
