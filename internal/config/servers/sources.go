package servers

import (
	"slices"
	"strconv"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// secret are the keys with values that the server gets in its environment or over HTTP.
var secret = []string{
	"env", "environment", "headers", "http_headers", "url", "httpUrl", "serverUrl", "oauth", "auth",
}

// sources checks the commands and files that an entry refers to. Their values are secrets, so they have no place among
// the words of a command: every user of the machine can read these.
func (e *entry) sources() {
	for child := range settings.Children(e.value) {
		e.sourcesIn(child.Key(), child)
	}
}

func (e *entry) sourcesIn(key string, n strictjson.Value) {
	if n.Kind() == strictjson.String && settings.HasSource(n.Text()) {
		if message, hint := settings.CheckSources(n.Text()); message != "" {
			e.failAt(key, n, hint, "%q: %s", key, message)
		} else if !slices.Contains(secret, key) && !meaningless[key] {
			e.failAt(key, n, `give it to the server in "env" or "headers"`,
				"%q takes no ${cmd:...} and no ${file:...}: others on this machine could read the value", key)
		}
	}
	for child := range settings.Children(n) {
		e.sourcesIn(key, child)
	}
}

// HasSource returns the first text of an entry that refers to a command or a file. Its kind is Missing if there is
// none.
func HasSource(n strictjson.Value) (at strictjson.Value) {
	if n.Kind() == strictjson.String && settings.HasSource(n.Text()) {
		return n
	}
	for child := range settings.Children(n) {
		if at = HasSource(child); at.Kind() != strictjson.Missing {
			return at
		}
	}
	return strictjson.Value{}
}

// at says which value is expanded next.
func (e *entry) at(key string, n strictjson.Value) {
	e.Where = func() string { return e.Position(n.Offset()).String() + ": " + strconv.Quote(key) }
}
