package config

import (
	"fmt"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/internal/typos"
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
	if near := typos.Nearest(server, names); near != "" {
		return fmt.Sprintf("names the server %q, which is not configured", server), fmt.Sprintf("did you mean %q?", near)
	}
	return "", ""
}
