package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/internal/settings"
)

// lintTools are the tools that the rules of these tests are about.
var lintTools = []ToolInfo{
	{"github", "create_issue",
		json.RawMessage(`{"type":"object","required":["owner"],"properties":{"owner":{"type":"string"},"labels":{"type":"array","items":{"type":"object","required":["name"],"properties":{"name":{},"color":{"default":"red"}}}}}}`), nil, "", nil},
	{"github", "get_issue", json.RawMessage(`{"type":"object","properties":{"owner":{"type":"string"}}}`),
		map[string]any{"readOnlyHint": true}, "", nil},
	{"fs", "read-file", json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","default":"/"}}}`), nil, "", nil},
	{"mail", "send_mail", nil, nil, "", nil},
}

// found lists findings with their places, kinds without.
func found(all []Finding) string {
	var lines []string
	for _, f := range all {
		lines = append(lines, fmt.Sprintf("%s %d:%d", kinds([]Finding{f}), f.Line, f.Column))
	}
	return strings.Join(lines, ", ")
}

func kinds(all []Finding) string {
	var lines []string
	for _, f := range all {
		note := ""
		if f.Note {
			note = "note "
		}
		lines = append(lines, note+f.Kind)
	}
	return strings.Join(lines, ", ")
}

// TestA15SchemaAwareLint is POLICY.md A15 and THREATS.md O03 and P04.
func TestA15SchemaAwareLint(t *testing.T) {
	c := parse(t, `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {
"denylist": [{"id": "wrong", "tool": "github__create_issue", "when": {"/ovner": {"eq": "acme"}}},
{"id": "optional", "tool": "fs__read_file", "when": {"/path": {"under": "/etc"}}},
"github__delete_repo"],
"asklist": ["github__get_*", "github__create_*"],
"allowlist": ["github__*_issue", "fs__*"]}}}}`)
	all := c.Lint(lintTools)
	if got := found(all); got != "no-such-argument 2:14, optional-argument 3:1, dead-rule 4:1, shadowed 6:15" {
		t.Errorf("got %s", got)
	}
	for i, want := range []string{"/ovner is in the inputSchema of no tool", `(it is "/" then)`,
		"fits none of the 4 tools", `"github__create_*" at codemode.json:5:30`} {
		if f := all[i]; !contains(f.Message, want) || f.Hint == "" || f.Source == "" {
			t.Errorf("got %s, want %q in it", f.Problem, want)
		}
	}
	if got := found(c.Lint(nil)); got != "" {
		t.Errorf("without tools: got %s", got)
	}
}

func TestLint(t *testing.T) {
	for _, row := range []struct{ title, body, want string }{
		{"nothing wrong", `"denylist": [{"tool": "github__create_issue", "when": {"/owner": {"eq": "x"}}}], "allowlist": ["fs__*"]`, ``},
		{"deeper arguments", `"denylist": [{"tool": "github__create_issue", "when": {"/labels/*/name": {"eq": "x"}}}], "unmatched": "deny"`, `optional-argument`},
		{"an argument of some tools only",
			`"denylist": [{"tool": "{github,fs}__*", "when": {"/owner": {"eq": "x"}}}], "unmatched": "deny"`,
			`no-such-argument, optional-argument`},
		{"in an allow rule that is a narrowing", `"allowlist": [{"tool": "{github,fs}__*", "when": {"/owner": {"eq": "x"}}}]`,
			``},
		{"absence is decided", `"denylist": [{"tool": "fs__*", "when": {"/path": {"under": "/etc", "ifMissing": "match"}, "/other": {"exists": false}}}], "unmatched": "deny"`, ``},
		{"a schema that is not known",
			`"denylist": [{"tool": "mail__*", "when": {"/whatever": {"eq": 1}}}], "unmatched": "deny"`, ``},
		{"a net for tools to come", `"denylist": ["*__drop_*"], "unmatched": "deny"`, `note dead-rule`},
		{"a net that allows", `"allowlist": ["*__drop_*"]`, `dead-rule`},
		{"an allow rule on a raw name", `"allowlist": ["fs__read-file"]`, ``},
		{"a deny rule on a raw name", `"denylist": ["fs__read-file"], "unmatched": "deny"`, ``},
		{"covered by one rule", `"denylist": ["github__*"], "allowlist": ["github__get_issue"]`, `shadowed`},
		{"read and send unasked", `"allowlist": ["github__get_*", "mail__*"]`, `note read-and-send`},
		{"everything unasked", ``, `note read-and-send`},
		{"nothing to carry", `"allowlist": ["mail__*"]`, ``},
		{"sending is asked about, allowed or not", `"allowlist": ["github__get_*", "mail__*"], "asklist": ["mail__*"]`,
			`shadowed`},
		{"sending is asked about", `"allowlist": ["github__get_*"], "asklist": ["mail__*"]`, ``},
		{"no rule says that it may", `"allowlist": ["github__get_*"], "unmatched": "ask"`, ``},
	} {
		content := strings.Replace(inProfile(row.body), `{"profiles"`, `{"defaultProfile":"p","profiles"`, 1)
		if got := kinds(parse(t, content).Lint(lintTools)); got != row.want {
			t.Errorf("%s: got %q, want %q", row.title, got, row.want)
		}
	}
}

// TestLintLooksEverywhere: overlays and the floor are rules too.
func TestLintLooksEverywhere(t *testing.T) {
	c := parse(t, `{"evaluation": {"defaultProfile": "p", "floor": "f", "expose": ["p"], "profiles": {"f": {"denylist": ["fs__*"]},
"p": {"extends": ["f"], "allowlist": ["{fs,mail}__*"], "denylist": ["mail__*"]}},
"overlays": [{"id": "o", "session": "s", "denylist": ["fs__gone"]}]}}`)
	if got := found(c.Lint(lintTools)); got != "shadowed 2:39, dead-rule 3:55" {
		t.Errorf("got %s", got)
	}
	floor := parse(t, `{"evaluation": {"defaultProfile": "p", "floor": "f", "expose": ["p"], "profiles": {"f": {"denylist": ["fs__*", "mail__*"]}, "p": {
"allowlist": ["{fs,mail}__*"]}}}}`)
	if got := found(floor.Lint(lintTools)); got != "shadowed 2:15" {
		t.Errorf("two rules of the floor: got %s", got)
	}
}

func TestArgumentsOfSchemas(t *testing.T) {
	schema := `{"$defs": {"place": {"properties": {"city": {"default": "Rome"}}, "required": ["city"]}, "loop": {"$ref": "#/$defs/loop"}},
		"oneOfMany": [{"properties": {"c": {}}}],
		"properties": {"next": {"$ref": "#/oneOfMany/1"}, "loose": {"additionalProperties": {}}, "whole": {"$ref": "#"}, "listed": {"$ref": "#/oneOfMany/0"}, "far": {"$ref": "#/oneOfMany/7"}, "wrong": {"$ref": "#/oneOfMany/x"}, "plain": {"$ref": "#/$defs/place/required/0/x"}, "at": {"$ref": "#/$defs/place"}, "any": true, "list": {"prefixItems": [{"properties": {"a": {}}, "required": ["a"]}], "items": {"properties": {"b": {}}}},
			"either": {"oneOf": [{"properties": {"x": {}}, "required": ["x"]}, {"properties": {"x": {}, "y": {}, "d": {"default": 7}}, "required": ["x"]}]},
			"map": {"additionalProperties": {"properties": {"z": {}}}}, "odd": {"patternProperties": {"^x-": {}}}, "turn": {"$ref": "#/$defs/loop"}, "lost": {"$ref": "other.json"}, "none": {"$ref": "#/$defs/none"}},
		"allOf": [{"properties": {"more": {}}, "required": ["more"]}], "required": ["at", "list", "either"]}`
	s, ok := parseInputSchema(json.RawMessage(schema))
	if !ok {
		t.Fatal("the schema is not understood")
	}
	for _, row := range []struct {
		pointer             string
		described, required bool
	}{
		{"/at", true, true}, {"/at/city", true, true}, {"/at/town", false, false}, {"/any", true, false},
		{"/more", true, true},
		{"/list/0/a", true, true}, {"/list/1/b", true, false}, {"/list/*/a", true, true}, {"/list/*/c", false, false},
		{"/either/x", true, true}, {"/either/y", true, false}, {"/either/z", false, false},
		{"/map/q", true, false}, {"/map/q/z", true, false}, {"/map/q/y", false, false}, {"/odd/x-a", true, false},
		{"/odd/y", false, false},
		{"/whole/at/city", true, false}, {"/listed/c", true, false}, {"/far/x", false, false}, {"/wrong/x", false, false},
		{"/plain/x", false, false},
		{"/next/c", false, false}, {"/wrong/c", false, false}, {"/loose/x", false, false},
		{"/turn", true, false}, {"/turn/x", false, false}, {"/lost/x", false, false}, {"/none/x", false, false},
		{"/nothing", false, false},
	} {
		b := builder{Reader: &settings.Reader{}}
		a := s.argument(match.ReadPointer(b.Reader, row.pointer, 0, 0))
		if a.described != row.described || a.required != row.required {
			t.Errorf("%s: got %+v, want %t, %t", row.pointer, a, row.described, row.required)
		}
	}
	if a := s.argument(match.ReadPointer(&settings.Reader{}, "/either/d", 0, 0)); a.standing != "7" || a.required {
		t.Errorf("a default in one of several schemas: got %+v", a)
	}
	if a := s.argument(match.ReadPointer(&settings.Reader{}, "/at/city", 0, 0)); a.standing != `"Rome"` {
		t.Errorf("got the default %s", a.standing)
	}
	for _, raw := range []string{"", "true", "[]", "{"} {
		if _, ok := parseInputSchema(json.RawMessage(raw)); ok {
			t.Errorf("%q is a schema that says something", raw)
		}
	}
}

func TestWhatToolsReadAndSend(t *testing.T) {
	for _, row := range []struct {
		tool         string
		annotations  map[string]any
		reads, sends bool
	}{
		{"browse", nil, false, false}, {"browse", map[string]any{"openWorldHint": true}, false, true},
		{"browse", map[string]any{"openWorldHint": true, "readOnlyHint": true}, true, false},
		{"browse", map[string]any{"readOnlyHint": true}, true, false}, {"get_it", nil, true, false},
		{"sendMail", nil, false, false}, {"send-mail", nil, false, true}, {"target", nil, false, false},
	} {
		tool := lintTool{ToolInfo: &ToolInfo{Tool: row.tool, Annotations: row.annotations}}
		if tool.reads() != row.reads || tool.sends() != row.sends {
			t.Errorf("%s %v: reads %t, sends %t", row.tool, row.annotations, tool.reads(), tool.sends())
		}
	}
}

func TestFew(t *testing.T) {
	if got := few(slices.Repeat([]string{"x"}, 6)); got != "x, x, x and 3 more" {
		t.Errorf("got %q", got)
	}
}
