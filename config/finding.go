package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/settings"
)

// A ToolInfo is a tool to check rules against.
type ToolInfo struct {
	Server      string          `json:"server"` // as configured
	Tool        string          `json:"tool"`   // as the upstream spells it
	Input       json.RawMessage `json:"inputSchema,omitempty"`
	Annotations map[string]any  `json:"annotations,omitempty"`
	Name        string          `json:"name,omitempty"` // canonical; "" = made from Server and Tool

	// Schema gives Input where that is nil, for a tool whose schema takes time to make. Nil gives none.
	Schema func() json.RawMessage `json:"-"`
}

func (t *ToolInfo) input() json.RawMessage {
	if t.Input == nil && t.Schema != nil {
		return t.Schema()
	}
	return t.Input
}

// Canonical is the canonical name.
func (t *ToolInfo) Canonical() string { return cmp.Or(t.Name, call.Name(t.Server, t.Tool)) }

// The kinds of [Finding].
const (
	findingArgument = "no-such-argument"  // a condition reads an argument that no tool of the rule takes
	findingOptional = "optional-argument" // a deny rule reads an argument that a call may omit
	findingDead     = "dead-rule"         // a pattern matches no tool
	findingShadowed = "shadowed"          // other rules decide all calls of the rule
	findingCarry    = "read-and-send"     // a program may read and send without a question in between
	findingWarning  = "warning"           // a warning from loading the file

	findingApprover    = "nobody-else" // the profile wants another approver than the caller, whom nobody verifies
	findingEnvironment = "environment" // an environment variable decides too
)

// A Finding is a part of the rules that probably does not do what its author meant.
type Finding struct {
	Kind string
	Note bool // worth knowing; nothing needs to change
	settings.Problem
}

type linter struct {
	c     *Config
	tools []lintTool
	found []Finding
	lines map[string][]string
}

type lintTool struct {
	*ToolInfo
	name   string                     // canonical
	schema func() (inputSchema, bool) // false: it is unknown
}

func (t *lintTool) raw() string { return t.Server + "__" + t.Tool }

func (l *linter) add(kind string, note bool, pos settings.Position, hint, format string, args ...any) {
	l.found = append(l.found, Finding{Kind: kind, Note: note, Problem: settings.Problem{
		Position: pos, Length: 1, Message: fmt.Sprintf(format, args...), Hint: hint, Source: l.source(pos),
	}})
}

func (l *linter) source(pos settings.Position) string {
	if l.lines[pos.File] == nil {
		for _, p := range l.c.parts {
			if p.File == pos.File {
				l.lines[pos.File] = strings.Split(p.src, "\n")
			}
		}
	}
	if lines := l.lines[pos.File]; pos.Line > 0 && pos.Line <= len(lines) {
		return strings.TrimSuffix(lines[pos.Line-1], "\r")
	}
	return ""
}

// few lists names, and only counts those beyond three.
func few(names []string) string {
	if len(names) > 4 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}

func plural(names []string, one, many string) string {
	if len(names) == 1 {
		return few(names) + " " + one
	}
	return few(names) + " " + many
}
