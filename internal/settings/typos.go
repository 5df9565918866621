package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/visible"
)

// synonyms are words for our keys with a different spelling.
var synonyms = map[string]string{
	"allow": "allowlist", "whitelist": "allowlist", "permit": "allowlist", "allowed": "allowlist",
	"allowedtools": "allowlist",
	"deny":         "denylist", "blacklist": "denylist", "blocklist": "denylist", "block": "denylist",
	"forbid": "denylist",
	"denied": "denylist",
	"ask":    "asklist", "confirm": "asklist", "approve": "asklist", "prompt": "asklist",
	"fallback": "elicitationFallback", "default": "defaultProfile", "otherwise": "unmatched", "else": "unmatched",
	"conditions": "when", "if": "when", "tools": "tool", "pattern": "tool", "name": "tool", "expires": "until",
	"inherit": "extends",
	"equals":  "eq", "startswith": "prefix", "endswith": "suffix", "matches": "regex", "regexp": "regex", "oneof": "in",
	"within": "under",
	"min":    "gte", "max": "lte", "minimum": "gte", "maximum": "lte", "or": "any", "anyof": "any", "present": "exists",
	"like": "glob",
}

// homes maps keys that are in the wrong object to the right one.
var homes = map[string]string{
	"mcpServers": "at the top of the file", "servers": "at the top of the file", "evaluation": "at the top of the file",
	"builtin": "at the top of the file", "store": "at the top of the file", "http": "at the top of the file",
	"capacity": "at the top of the file", "notifications": "at the top of the file",
	"profiles": "in \"evaluation\"", "overlays": "in \"evaluation\"", "shadow": "in a profile",
	"defaultProfile": "in \"evaluation\"", "expose": "in \"evaluation\"", "floor": "in \"evaluation\"",
	"allowlist": "in a profile", "denylist": "in a profile", "asklist": "in a profile",
	"elicitationFallback": "in a profile",
	"unmatched":           "in a profile", "extends": "in a profile", "raise": "in a profile", "redact": "in a profile",
	"ask":  "in a profile",
	"tool": "in a rule", "when": "in a rule", "unlessAllowed": "in a rule", "others": "in a rule", "until": "in a rule",
	"examples": "in a rule", "reason": "in a rule", "risk": "in a rule", "annotations": "in a rule",
	"ifMissing": "in a condition", "command": "in an entry of \"mcpServers\"", "args": "in an entry of \"mcpServers\"",
	"url": "in an entry of \"mcpServers\"", "env": "in an entry of \"mcpServers\"",
}

// gone maps keys of earlier versions to what takes their place.
var gone = map[string]string{
	"passkeys": `remove it: codemode has no passkeys any more, and a yes to a call of critical risk needs ` +
		`a new sign-in at the provider of "signIn"`,
}

// unknownKeyHint suggests the intended key for an unknown one. The file may be that of another program.
func unknownKeyHint(foreign bool, key string, known []string) string {
	if hint := gone[key]; !foreign && hint != "" {
		return hint
	}
	if near := visible.Nearest(key, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if other := synonyms[strings.ToLower(key)]; !foreign && slices.Contains(known, other) {
		return fmt.Sprintf("did you mean %q?", other)
	}
	if home := homes[key]; !foreign && home != "" {
		return fmt.Sprintf("%q belongs %s", key, home)
	}
	if len(known) == 0 {
		return "remove it"
	}
	return "remove it, or write one of: " + strings.Join(known, ", ")
}

// QuotedList formats words as in a sentence: "a", "b" or "c".
func QuotedList(words []string, last string) string {
	var b strings.Builder
	for i, w := range words {
		switch {
		case i > 0 && i == len(words)-1:
			b.WriteString(" " + last + " ")
		case i > 0:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", w)
	}
	return b.String()
}
