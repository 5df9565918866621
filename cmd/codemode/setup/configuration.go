package setup

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/visible"
)

// A choice is one server of the new configuration.
type choice struct {
	name  string
	entry *clientEntry
	from  *clientFile
}

// choose takes each server once. Of two different servers with one name, and of one with a taken name, the second gets
// its client's name too. leave says which ones are left out; nil leaves out none.
func choose(found []*clientFile, taken []string, leave func(*clientEntry) bool) []*choice {
	var chosen []*choice
	for _, f := range found {
		for _, e := range f.entries {
			if e.err != nil || e.off.why != "" || e.elsewhere || e.isCodemode() || leave != nil && leave(e) {
				continue
			}
			same := slices.IndexFunc(chosen, func(c *choice) bool { return c.entry.name == e.name && c.entry.same(e) })
			if same >= 0 {
				continue
			}
			name := serverName(e.name)
			used := func(other string) bool { return canonicalName(other) == canonicalName(name) }
			for n := 1; slices.ContainsFunc(taken, used) ||
				slices.ContainsFunc(chosen, func(c *choice) bool { return used(c.name) }); n++ {
				name = serverName(e.name) + "_" + strings.ReplaceAll(f.client.id, "-", "_")
				if n > 1 {
					name += fmt.Sprint(n)
				}
			}
			if name != e.name {
				e.note("called %q here", name)
			}
			chosen = append(chosen, &choice{name: name, entry: e, from: f})
		}
	}
	return chosen
}

var (
	notInName = regexp.MustCompile(`[^A-Za-z0-9$]+`)
	maxName   = 40
)

// serverName is a name that programs can use: no two underscores in a row, and at most maxName long.
func serverName(name string) string {
	if name != "" && !notInName.MatchString(name) && len(name) <= maxName {
		return name
	}
	kept := notInName.ReplaceAllStringFunc(name, func(odd string) string {
		if len(odd) == 1 && strings.ContainsAny(odd, "-._") {
			return odd
		}
		return "_"
	})
	kept = strings.Trim(kept, "_")
	if len(kept) > maxName {
		kept = strings.TrimRight(kept[:maxName], "_")
	}
	return cmp.Or(kept, "server")
}

// canonicalName is the name of a server in programs.
func canonicalName(name string) string { return notInName.ReplaceAllString(name, "_") }

// configurationText is the new file, with comments. tools are what the servers say about theirs; with opens, codemode
// opens a terminal for answers.
func configurationText(p places, chosen []*choice, tools []tool, opens bool) []byte {
	var b bytes.Buffer
	b.WriteString("// Written by codemode init. Comments and trailing commas are allowed here.\n{\n")
	b.WriteString("  // The servers of your clients. ${NAME} stands for an environment variable.\n  \"mcpServers\": {\n")
	for _, c := range chosen {
		fmt.Fprintf(&b, "    // %s, %s\n", c.from.client.name,
			strings.Join(strings.Fields(visible.Line(p.short(c.from.path))), " "))
		fmt.Fprintf(&b, "    %s: %s,\n", encode(c.name, ""), serverText(c.entry.value))
	}
	b.WriteString("  },\n\n")
	if opens {
		b.WriteString("  // A client here shows no forms: codemode opens a terminal for your answers.\n  \"responder\": \"auto\",\n\n")
	}
	b.WriteString(`  // What programs may do: denylist comes first, then asklist, then allowlist.
  "evaluation": {
    "defaultProfile": "careful",
    "profiles": {
      "careful": {
        // Allowed without a question. Add tools that only read, such as "github__get_*".
        "allowlist": [
          "time__*",
`)
	listed(&b, tools, "Their servers say that these only read. Nobody has checked that.",
		func(t tool) bool { return t.reads }, func(t tool) string { return encode(t.name, "") })
	b.WriteString(`        ],
        // codemode asks you before these, unless the allowlist has them.
        "asklist": [
`)
	listed(&b, tools, "Their servers say that these destroy something: you have to see the whole call.",
		func(t tool) bool { return t.destroys }, destroyRule)
	for _, c := range chosen {
		fmt.Fprintf(&b, "          %s,\n", askRule(c))
	}
	b.WriteString(`        ],
        // For tools that nothing above mentions, such as those of a server that you add later.
        "unmatched": "deny",
        // If nobody can be asked.
        "elicitationFallback": "deny",
      },
    },
  },
}
`)
	return b.Bytes()
}

// listed writes the rules for some tools, with a comment above the first.
func listed(b *bytes.Buffer, tools []tool, comment string, is func(tool) bool, rule func(tool) string) {
	for _, t := range tools {
		if is(t) {
			if comment != "" {
				fmt.Fprintf(b, "          // %s\n", comment)
				comment = ""
			}
			fmt.Fprintf(b, "          %s,\n", rule(t))
		}
	}
}

// askRule asks about all tools of a server that nothing allows.
func askRule(c *choice) string {
	return fmt.Sprintf(`{ "tool": %s, "unlessAllowed": true }`, encode(canonicalName(c.name)+"__*", ""))
}

// destroyRule asks about a tool with a high risk, whatever allows it.
func destroyRule(t tool) string {
	return fmt.Sprintf(`{ "tool": %s, "risk": "high" }`, encode(t.name, ""))
}

// keyOrder is the usual order of a server's keys; others follow by name.
var keyOrder = []string{"type", "command", "args", "env", "environment", "cwd", "httpUrl", "url", "headers"}

// serverText writes a server with one key in each line, or all in one line if they are short.
func serverText(entry map[string]any) string {
	keys := slices.SortedFunc(maps.Keys(entry), func(a, b string) int {
		at := func(k string) int {
			if i := slices.Index(keyOrder, k); i >= 0 {
				return i
			}
			return len(keyOrder)
		}
		return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a, b))
	})
	var lines []string
	for _, k := range keys {
		lines = append(lines, encode(k, "")+": "+encode(entry[k], ""))
	}
	if text := strings.Join(lines, ", "); len(text) < 100 {
		return "{ " + text + " }"
	}
	return "{\n      " + strings.Join(lines, ",\n      ") + "\n    }"
}

// encode writes a value for a person, with indent in front of nested lines; "" writes one line.
func encode(v any, indent string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	// cannot happen: v consists of strings, or was read from JSON or TOML and encoded before
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimRight(b.String(), "\n")
}
