package servers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/visible"
)

// meaningless are keys of other clients that change nothing about a server, so they need no warning.
var meaningless = map[string]bool{
	"$schema": true, "description": true, "alwaysLoad": true, "dev": true, "icon": true, "name": true, "note": true,
	"comment":     true,
	"autoApprove": true, "alwaysAllow": true, "codemode": true,
	"outputValidation": true, // ours; package config reads it
}

// narrowing are the keys that restrict a server. A misspelt one would not restrict it.
var narrowing = []string{
	"disabled", "enabled", "includeTools", "enabled_tools", "enabledTools", "tools",
	"excludeTools", "disabled_tools", "disabledTools",
}

// confined is a key that restricted a server's process once. Where it is ignored, the process has more than its entry
// says.
const confined = "confine"

// starting are the keys that say how to reach a server. An entry needs one of them.
var starting = []string{"command", "url", "httpUrl", "serverUrl", "openapi", "cli"}

// unknown reports the unread keys.
func (e *entry) unknown() {
	for child := range settings.Children(e.value) {
		key := child.Key()
		if e.used[key] || meaningless[key] {
			continue
		}
		meant := e.meant(key)
		hint := ""
		if meant != "" {
			hint = fmt.Sprintf("did you mean %q?", meant)
		}
		switch {
		case key == confined:
			e.WrongKey(child, `a confined server reaches what its "args", "cwd" and "env" name, and the network; one that `+
				`needs other bounds is started outside of codemode, in a container of its own, and has a "url" here`, "%s",
				e.sentence("%q is no key of a server, and would bound nothing", key))
		case slices.Contains(narrowing, meant):
			e.WrongKey(child, hint, "%s", e.sentence("%q is not a key of a server, so it would take nothing away from it", key))
		case e.without && slices.Contains(starting, meant):
			e.WrongKey(child, hint, "%s", e.sentence("%q is not a key of a server, and %s", key, needsOne))
			e.without = false
		case !e.lost:
			e.doubtHint(key, hint, "%q has no effect", key)
		}
	}
	if e.without {
		e.WrongKey(e.value, `write {"command": "..."} or {"url": "..."}`, "%s", e.sentence("%s", needsOne))
	}
}

const needsOne = `it needs a "command" or a "url"`

// meant returns the key that a misspelt one most likely means.
func (e *entry) meant(key string) string {
	bare := func(s string) string {
		return strings.TrimSuffix(strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s)), "s")
	}
	known := slices.Sorted(maps.Keys(e.used))
	if e.without {
		known = append(known, starting...)
	}
	best := ""
	for _, k := range known {
		switch {
		case bare(k) == bare(key):
			return k
		case best == "" && visible.Distance(strings.ToLower(k), strings.ToLower(key), 1) == 1:
			best = k
		}
	}
	return best
}
