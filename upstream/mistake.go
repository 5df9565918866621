package upstream

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/codemode-project/codemode/internal/typos"
)

// A Mistake is one thing that is wrong with an entry of mcpServers, or that has no effect there.
type Mistake struct {
	Path    []string // the keys below the entry that lead to it; none is the entry as a whole
	Key     bool     // it is the last of these keys that is meant, not its value
	Message string   // a sentence without the server's name
	Hint    string   // the way out; "" if there is nothing better than the message
}

// Mistakes is everything that is wrong with one entry.
type Mistakes []Mistake

func (all Mistakes) Error() string {
	var texts []string
	for _, m := range all {
		texts = append(texts, m.text())
	}
	return strings.Join(texts, "; ")
}

func (m Mistake) text() string {
	if m.Hint == "" {
		return m.Message
	}
	return m.Message + " (" + m.Hint + ")"
}

// CheckServer finds everything that is wrong with an entry, as [ParseServer] reads it, and what has no effect in it. An
// entry that is wrong has no doubts.
func CheckServer(name string, raw json.RawMessage, env func(string) (string, bool)) (wrong, doubts []Mistake) {
	_, p := readEntry(name, raw, env)
	if len(p.wrong) > 0 {
		return p.wrong, nil
	}
	return nil, p.doubts
}

// narrowing are the keys that take something away from a server. Misspelt, they would leave it there.
var narrowing = []string{
	"disabled", "enabled", "includeTools", "enabled_tools", "enabledTools", "tools",
	"excludeTools", "disabled_tools", "disabledTools",
}

// starting are the keys of which a server needs one.
var starting = []string{"command", "url", "httpUrl", "serverUrl"}

// unknown looks at the keys that nobody has read.
func (p *entry) unknown() {
	for _, k := range slices.Sorted(maps.Keys(p.keys)) {
		if p.used[k] || meaningless[k] {
			continue
		}
		meant := p.meant(k)
		hint := ""
		if meant != "" {
			hint = "did you mean " + strconv.Quote(meant) + "?"
		}
		no := strconv.Quote(k) + " is no key of a server, and "
		switch {
		case slices.Contains(narrowing, meant):
			p.wrong = append(p.wrong, Mistake{[]string{k}, true, no + "would take nothing away from it", hint})
		case p.without && slices.Contains(starting, meant):
			p.wrong = append(p.wrong, Mistake{[]string{k}, true, no + needsOne, hint})
			p.without = false
		case !p.lost:
			p.doubts = append(p.doubts, Mistake{[]string{k}, true, strconv.Quote(k) + " has no effect", hint})
		}
	}
	if p.without {
		p.wrong = append(p.wrong, Mistake{nil, true, needsOne, ""})
	}
}

const needsOne = `it needs a "command" or a "url"`

// meant names the key that was meant by one that is almost it.
func (p *entry) meant(key string) string {
	bare := func(s string) string {
		return strings.TrimSuffix(strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s)), "s")
	}
	known := slices.Sorted(maps.Keys(p.used))
	if p.without {
		known = append(known, starting...)
	}
	best := ""
	for _, k := range known {
		switch {
		case bare(k) == bare(key):
			return k
		case best == "" && typos.Distance(strings.ToLower(k), strings.ToLower(key), 1) == 1:
			best = k
		}
	}
	return best
}
