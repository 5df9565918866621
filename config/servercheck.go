package config

import (
	"encoding/json"
	"fmt"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// A ServerCheck finds what is wrong with an entry of mcpServers, and what has no effect in it. raw is standard JSON.
// What servers are is not known here; who starts them brings the check, so that their mistakes are reported with all
// others.
type ServerCheck func(name string, raw json.RawMessage) (wrong, doubts []ServerProblem)

// A ServerProblem is something about an entry of mcpServers.
type ServerProblem struct {
	Path          []string // the keys below the entry that lead to it; none is the entry as a whole
	Key           bool     // it is the last of these keys that is meant, not its value
	Message, Hint string
}

// checkServer reports what the check finds, at the keys and values that it is about.
func (b *builder) checkServer(n strictjson.Value, source json.RawMessage) {
	if b.check == nil {
		return
	}
	wrong, doubts := b.check(n.Key(), source)
	for _, p := range wrong {
		if len(p.Path) > 0 && p.Path[0] == "trustAnnotations" {
			continue // which is read here too
		}
		start, end := b.inServer(n, p)
		b.Report(start, end, p.Hint, "server %q: %s", n.Key(), p.Message)
	}
	for _, p := range doubts {
		start, end := b.inServer(n, p)
		b.Warn(b.Position(start), end-start, p.Hint, "%s", fmt.Sprintf("server %q: %s", n.Key(), p.Message))
	}
}

// inServer finds what a problem of a server is about.
func (b *builder) inServer(n strictjson.Value, p ServerProblem) (start, end int) {
	at := n
	for _, key := range p.Path {
		next := settings.Member(at, key)
		if next.Kind() == strictjson.Missing {
			break
		}
		at = next
	}
	if p.Key || at == n {
		return at.KeyOffset(), at.KeyEnd()
	}
	return at.Offset(), at.End()
}
