package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/profiles"
)

// warn reports settings that are valid but dangerous or without effect.
func (b *assembly) warn() {
	c := b.config
	b.reachable()
	if c.Default == "" && c.Exposes(baseTool) && c.base.Unrestricted() && len(b.order) > 0 {
		b.Warn(b.order[0].Pos, len(b.order[0].Name)+2, `set "defaultProfile", or name in "expose" what should be listed`,
			"codemode_eval is unrestricted and is listed beside stricter profiles")
	}
	if w := b.variables; w != nil {
		b.warnNames(w)
		if b.alone {
			b.shadows(w, c.profiles[w.Name])
		}
	}
	for _, w := range b.order {
		p := c.profiles[w.Name]
		if p == nil {
			continue // ignored, and already reported
		}
		if w.Fallback != nil && *w.Fallback == call.Allow {
			b.Warn(w.Pos, len(w.Name)+2, "remove elicitationFallback to refuse such calls",
				"the profile %q lets calls through unseen when nobody can be asked", w.Name)
		}
		if c.Floor == w.Name && c.Exposes(toolPrefix+w.Name) && p.ByDefault() == call.Allow {
			b.Warn(w.Pos, len(w.Name)+2, `name in "expose" what should be listed`,
				"the floor %q is listed as a tool of its own, %s", w.Name, toolPrefix+w.Name)
		}
		b.warnNames(w)
		b.shadows(w, p)
	}
}

func (b *assembly) warnNames(w *profiles.Written) {
	for _, rules := range w.Lists {
		for _, r := range rules {
			b.names(r)
		}
	}
}

// names reports patterns that no tool's name can match.
func (b *assembly) names(r *profiles.Rule) {
	for i, g := range r.Globs {
		if message, hint := b.nameDoubt(g); message != "" {
			b.doubtRule(r, hint, "the pattern %q %s", r.Patterns[i], message)
		}
	}
}

func (b *assembly) nameDoubt(g *match.Pattern) (message, hint string) {
	if g.Plain && !strings.Contains(g.Head, "__") {
		return "fits no tool", fmt.Sprintf("tools are called server__tool: write %q, or \"*__\" and the tool",
			strings.Replace(g.Head, ".", "__", 1))
	}
	return b.serverDoubt(g)
}

// serverDoubt recognises a misspelt server. A server that is missing from the file is no mistake: several machines may
// share the file.
func (b *assembly) serverDoubt(g *match.Pattern) (message, hint string) {
	server, _, found := strings.Cut(g.Head, "__")
	if !found || server == "" {
		return "", ""
	}
	names := []string{"time", "filesystem"}
	for _, s := range b.config.Servers {
		names = append(names, s.Name, call.Part(s.Name))
	}
	for _, name := range names {
		if name == server {
			return "", ""
		}
	}
	if near := visible.Nearest(server, names); near != "" {
		return fmt.Sprintf("names the server %q, which is not configured", server), fmt.Sprintf("did you mean %q?", near)
	}
	return "", ""
}

// shadows reports rules of w that can never take effect, because other rules of the same effective profile decide
// first.
func (b *assembly) shadows(w *profiles.Written, p *profiles.Profile) {
	deniedBy := profiles.Covering(p, profiles.Denylist)
	askedBy := profiles.Covering(p, profiles.Asklist)
	floorBy := func(*profiles.Rule) *profiles.Rule { return nil }
	for _, l := range p.Layers() {
		if l.What == profiles.FloorLayer {
			floorBy = profiles.Covering(l.Profile, profiles.Denylist)
		}
	}
	seen := map[string]*profiles.Rule{}
	for _, r := range p.Rules() {
		if !r.Conditional() && len(r.Patterns) == 1 {
			key := r.List.String() + " " + r.Patterns[0]
			if first := seen[key]; first != nil && r.Profile == w.Name && r.Pos.File == b.File {
				b.doubtRule(r, "remove one of the two", "the rule %q is on %s already", r.Label(), b.WhereIs(first.Pos))
				continue
			}
			seen[key] = r
		}
		if r.Profile != w.Name || r.Pos.File != b.File || r.List == profiles.Denylist {
			continue
		}
		for _, id := range r.Unless {
			is := func(allow *profiles.Rule) bool { return allow.List == profiles.Allowlist && allow.ID == id }
			if !slices.ContainsFunc(p.Rules(), is) {
				b.doubtRule(r, "give that id to an allow rule of the profile, or remove it",
					"%q in \"unlessAllowed\" is the id of no allow rule here", id)
			}
		}
		if by := deniedBy(r); by != nil {
			b.withoutEffect(r, "remove it, or narrow the deny rule", "the rule %q has no effect: %s denies all it is about",
				r.Label(), b.WhereIs(by.Pos))
		} else if by := askedBy(r); by != nil && r.List == profiles.Allowlist && !by.Soft && !by.Excepts(r) {
			b.withoutEffect(r, b.softening(), "the rule %q has no effect: %s asks about all it is about", r.Label(),
				b.WhereIs(by.Pos))
		} else if by := floorBy(r); by != nil {
			b.withoutEffect(r, "remove it, or narrow the floor",
				"the rule %q has no effect: the floor denies all it is about (%s)", r.Label(), b.WhereIs(by.Pos))
		}
	}
}

// softening says how to make an allow rule precede an ask rule about the same tools.
func (b *assembly) softening() string {
	if b.variables != nil {
		return unmatchedVariable + "=ask, in place of the ask rule, asks about what no list names"
	}
	return `give the ask rule "unlessAllowed": true`
}

func (b *assembly) doubtRule(r *profiles.Rule, hint, format string, args ...any) {
	b.Warn(r.Pos, 1, hint, format, args...)
}

func (b *assembly) withoutEffect(r *profiles.Rule, hint, format string, args ...any) {
	before := len(b.Warnings)
	b.doubtRule(r, hint, format, args...)
	for i := range b.Warnings[before:] {
		b.Warnings[before+i].Shadowed = true
	}
}
