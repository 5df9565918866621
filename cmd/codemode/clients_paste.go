package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// indented encodes v for a person to paste.
func indented(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil { // cannot happen: it is made of strings
		panic(err)
	}
	return strings.TrimRight(b.String(), "\n")
}

// An entry is a server as most clients write it.
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
		return where, indented(map[string]any{"mcpServers": codemodeKey[pasteEntry]{pasteEntry{Command: command[0], Args: command[1:]}}})
	}
}

func pasteVSCode(command []string) (string, string) {
	return ".vscode/mcp.json, or the command MCP: Open User Configuration",
		indented(map[string]any{"servers": codemodeKey[pasteEntry]{pasteEntry{Type: "stdio", Command: command[0], Args: command[1:]}}})
}

func pasteClaudeCode(command []string) (string, string) {
	words := make([]string, len(command))
	for i, w := range command {
		words[i] = shellWord(w)
	}
	return "a terminal", "claude mcp add --scope user codemode -- " + strings.Join(words, " ")
}

// shellWord quotes a word for a shell if it needs that.
func shellWord(w string) string {
	if w != "" && strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:@%+,") == "" {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

func pasteCodex(command []string) (string, string) {
	quoted := make([]string, len(command))
	for i, w := range command {
		b, err := json.Marshal(w) // TOML's basic strings have the same escapes
		if err != nil {           // cannot happen
			panic(err)
		}
		quoted[i] = string(b)
	}
	return "~/.codex/config.toml", fmt.Sprintf("[mcp_servers.codemode]\ncommand = %s\nargs = [%s]\ntool_timeout_sec = 600",
		quoted[0], strings.Join(quoted[1:], ", "))
}

func pasteOpenCode(command []string) (string, string) {
	return "~/.config/opencode/opencode.json", indented(map[string]any{"mcp": codemodeKey[any]{map[string]any{
		"type": "local", "command": command, "enabled": true,
	}}})
}
