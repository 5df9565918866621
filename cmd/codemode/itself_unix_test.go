//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/config/servers"
)

// TestCodemodeBehindItselfStartsNothing: whatever stands between, only the outer one starts its servers. Each start
// writes down the mark of the codemode that started it.
func TestCodemodeBehindItselfStartsNothing(t *testing.T) {
	endToEnd(t)
	for _, tt := range []struct {
		title, script string
		env           map[string]string
		part          string
	}{
		{"itself", `exec "$@"`, nil, "a server of another codemode started this one"},
		{"its variables are emptied in the configuration", `exec "$@"`, map[string]string{servers.ChildVariable: "",
			strings.ToLower(servers.ChildVariable): ""}, "a server of another codemode started this one"},
		{"a shell in between", `sh -c '"$@"; exit $?' sh "$@"`, nil, "a server of another codemode started this one"},
		{"a command empties the variable", `CODEMODE_CHILD= exec "$@"`, nil, "a server of another codemode started this one"},
		{"a command removes the variable", `unset CODEMODE_CHILD; exec "$@"`, nil, "one codemode behind another"},
		{"a command clears the environment",
			`exec env -i HOME="$HOME" PATH="$PATH" XDG_STATE_HOME="$XDG_STATE_HOME" CODEMODE_TEST_AS=codemode "$@"`, nil,
			"one codemode behind another"},
	} {
		t.Run(tt.title, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			starts, script, config := filepath.Join(dir, "starts"), filepath.Join(dir, "script.sh"),
				filepath.Join(dir, "codemode.json")
			write(t, script, "echo \"${CODEMODE_CHILD%.*}\" >> '"+starts+"'\n"+tt.script+"\n")
			env := map[string]string{asCommand: "codemode", "XDG_STATE_HOME": dir}
			for name, value := range tt.env {
				env[name] = value
			}
			entry := map[string]any{"command": "/bin/sh", "args": []string{script, os.Args[0], "serve", "--project", "none",
				"--state", filepath.Join(dir, "inner"), "--config", config}, "env": env}
			text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"me": entry}})
			if err != nil {
				t.Fatal(err)
			}
			write(t, config, string(text))
			cmd := exec.Command(os.Args[0], "tools", "--project", "none", "--config", config)
			cmd.Env = append(os.Environ(), asCommand+"=codemode", "XDG_STATE_HOME="+dir)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), tt.part) {
				t.Errorf("got %v, want %q in\n%s", err, tt.part, out)
			}
			data, err := os.ReadFile(starts)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Fields(string(data))
			for _, mark := range lines {
				if mark != lines[0] {
					t.Errorf("more than one codemode starts its servers: %q", lines)
					break
				}
			}
		})
	}
}
