package setup

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
)

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

// A pasteEntry is a server as most clients write it.
type pasteEntry struct {
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

type codemodeKey[T any] struct {
	Codemode T `json:"codemode"`
}

func pasteServers(where string) func([]string) (string, string) {
	return func(command []string) (string, string) {
		return where, encode(map[string]any{"mcpServers": codemodeKey[pasteEntry]{pasteEntry{Command: command[0],
			Args: command[1:]}}}, "  ")
	}
}

func pasteVSCode(command []string) (string, string) {
	return ".vscode/mcp.json, or the command MCP: Open User Configuration",
		encode(map[string]any{"servers": codemodeKey[pasteEntry]{pasteEntry{Type: "stdio", Command: command[0],
			Args: command[1:]}}}, "  ")
}

func pasteClaudeCode(command []string) (string, string) {
	words := make([]string, len(command))
	for i, w := range command {
		words[i] = cli.ShellWord(w)
	}
	return "a terminal", "claude mcp add --scope user codemode -- " + strings.Join(words, " ")
}

func pasteCodex(command []string) (string, string) {
	quoted := make([]string, len(command))
	for i, w := range command {
		quoted[i] = encode(w, "") // TOML's basic strings have the same escapes
	}
	return "~/.codex/config.toml", fmt.Sprintf("[mcp_servers.codemode]\ncommand = %s\nargs = [%s]\ntool_timeout_sec = 600",
		quoted[0], strings.Join(quoted[1:], ", "))
}

func pasteOpenCode(command []string) (string, string) {
	return "~/.config/opencode/opencode.json", encode(map[string]any{"mcp": codemodeKey[any]{map[string]any{
		"type": "local", "command": command, "enabled": true,
	}}}, "  ")
}
