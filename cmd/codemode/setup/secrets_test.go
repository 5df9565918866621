package setup

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/settings"
)

// What another client's file names must not become a command that codemode runs: a project may have written that file.
// Such a server is left out, whatever its spelling becomes on the way.
func TestNoClientBringsCommandsForSecrets(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	touch := "cmd:touch " + filepath.ToSlash(ran)
	env := settings.NewSources(func(string) (string, bool) { return "", false }).Lookup
	for _, value := range []map[string]any{
		{"command": "x", "env": map[string]any{"A": "${" + touch + "}"}},
		{"url": "https://h/", "headers": map[string]any{"A": "Bearer ${" + touch + "}"}},
		{"url": "https://h/${file:/etc/hostname}"},
		{"command": "x", "args": []any{"a", "${" + touch + "}"}},
		{"command": "x", "note": "${" + touch + "}"},
		{"command": "x", "env": map[string]any{"A": "${env:" + touch + "}"}, "env_vars": []any{touch}},
		{"command": "x", "env": map[string]any{"A": "{env:" + touch + "}"}},
		{"url": "https://h/", "bearerTokenEnvVar": touch, "env_http_headers": map[string]any{"X": touch}},
	} {
		for i := range mcpClients {
			raw, err := json.Marshal(value)
			checktest.OK(t, err)
			e := &clientEntry{name: "a"}
			checktest.OK(t, json.Unmarshal(raw, &e.value))
			e.prepare(&mcpClients[i], env)
			if strings.Contains(string(raw), "${"+touch) || strings.Contains(string(raw), "${file:") {
				if e.err == nil {
					t.Errorf("%s takes %s", mcpClients[i].id, raw)
				}
			} else if e.err == nil { // as a part of the user's own file
				c, err := config.Parse("codemode.json", []byte(`{"mcpServers": {"a": `+string(e.raw)+`}}`))
				checktest.OK(t, err)
				_, _ = c.Servers[0].Connection(env)
			}
			if _, err := os.Stat(ran); err == nil {
				t.Fatalf("%s: %s ran the command", mcpClients[i].id, raw)
			}
		}
	}
}
