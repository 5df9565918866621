package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/internal/settings"
)

// warned gives the places and messages of the warnings of a file.
func warned(c *Config) string {
	var all []string
	for _, w := range c.Warnings {
		all = append(all, fmt.Sprintf("%d:%d+%d %s", w.Line, w.Column, w.Length, w.Message))
	}
	return strings.Join(all, "; ")
}

// TestRulesInVainAreFound: what is surely decided by other rules is said, and what may not be is not.
func TestRulesInVainAreFound(t *testing.T) {
	for _, row := range []struct{ title, body, want string }{
		{"twice", `"denylist": ["a__b", "a__b"]`, `1:80+1 the rule "a__b" is on line 1 already`},
		{"in two lists", `"denylist": ["a__c"], "asklist": ["a__b"], "allowlist": [{"tool": "a__b", "when": {"/x": {"eq": 1}}}]`, `the rule "a__b" has no effect: line 1 asks about all it is about`},
		{"with a condition, twice",
			`"denylist": [{"tool": "a__b", "when": {"/x": {"eq": 1}}}, {"tool": "a__b", "when": {"/x": {"eq": 2}}}]`, ``},
		{"of several patterns, twice", `"denylist": [{"tool": ["a__b", "a__c"]}, {"tool": ["a__b", "a__d"]}]`, ``},
		{"an exception that is there",
			`"asklist": [{"tool": "a__*", "unlessAllowed": ["x"]}], "allowlist": [{"id": "x", "tool": "a__b"}]`, ``},
		{"an exception that is not there",
			`"asklist": [{"tool": "a__*", "unlessAllowed": ["y"]}], "allowlist": [{"id": "x", "tool": "b__b"}]`,
			`"y" in "unlessAllowed" is the id of no allow rule here`},
		{"covered by a soft ask", `"asklist": [{"tool": "a__*", "unlessAllowed": true}], "allowlist": ["a__b"]`, ``},
		{"an ask rule covered by an ask rule", `"asklist": ["a__*", "a__b"]`, ``},
		{"covered by a rule with a condition",
			`"denylist": [{"tool": "a__*", "when": {"/x": {"eq": 1}}}], "allowlist": ["a__b"]`, ``},
		{"one of two patterns covered", `"denylist": ["a__*"], "allowlist": [{"tool": ["a__b", "b__b"]}]`, ``},
		{"the other of two patterns covered", `"denylist": ["a__*"], "allowlist": [{"tool": ["b__b", "a__b"]}]`, ``},
		{"a star by a star", `"denylist": ["a__*"], "allowlist": ["a__b*c"]`, `no effect`},
		{"a star by a character", `"denylist": ["a__bxc"], "allowlist": ["a__b*c"]`, ``},
		{"a star by any character", `"denylist": ["a__b?c"], "allowlist": ["a__b*c"]`, ``},
		{"a character by any", `"denylist": ["a__?"], "allowlist": ["a__b"]`, `no effect`},
		{"any by any", `"denylist": ["a__?"], "allowlist": ["a__?"]`, `no effect`},
		{"a class by any", `"denylist": ["a__?"], "allowlist": ["a__[xy]"]`, ``}, // likewise
		{"any by a character", `"denylist": ["a__b"], "allowlist": ["a__?"]`, ``},
		{"a class by a character of it", `"denylist": ["a__x"], "allowlist": ["a__[xy]"]`, ``},
		{"a character by a class with it", `"denylist": ["a__[xy]"], "allowlist": ["a__x"]`, `no effect`},
		{"a character by a class without it", `"denylist": ["a__[xy]"], "allowlist": ["a__z"]`, ``},
		{"a class by a class", `"denylist": ["a__[x-z]"], "allowlist": ["a__[xy]"]`, ``}, // not looked at so closely
		{"longer by shorter", `"denylist": ["a__b"], "allowlist": ["a__bb"]`, ``},
		{"shorter by longer", `"denylist": ["a__bb"], "allowlist": ["a__b"]`, ``},
		{"between two stars", `"denylist": ["*b*"], "allowlist": ["a__xbx"]`, `no effect`},
		{"several stars by several", `"denylist": ["*a*b*"], "allowlist": ["*__xaxbx*"]`, `no effect`},
		{"in another order", `"denylist": ["*a*b*"], "allowlist": ["*__xbxax*"]`, ``},
		{"by the second of many", `"denylist": ["a__c", "a__*"], "allowlist": ["a__b"]`, `line 1 denies`},
		{"what the parent has", `"extends": ["q"], "denylist": ["a__b"], "allowlist": ["a__c"]`,
			`the rule "a__b" is on line 1 already`},
	} {
		c := parse(t, `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {`+row.body+`}, "q": {"denylist": ["a__b"]}}}}`)
		if got := warned(c); row.want == "" && got != "" || !contains(got, row.want) {
			t.Errorf("%s: got %q, want %q", row.title, got, row.want)
		}
	}
}

func TestNamesInDoubt(t *testing.T) {
	for _, row := range []struct{ pattern, want string }{
		{"filesytem__read", `"filesytem__read" names the server "filesytem", which is not configured`},
		{"filesystem__read", ""}, {"my-srv__x", ""}, {"my_srv__x", ""}, {"my-sv__x", "not configured"},
		{"__x", ""}, {"?y-srv__x", ""}, {"*", ""}, {"files*", ""}, {"time__now", ""}, {"tim__now", "not configured"},
		{"faraway__x", ""}, {"github.get", `write "github__get"`},
	} {
		c := parse(t, `{"servers": {"my-srv": {"command": "x"}}, "evaluation": {"defaultProfile": "p", "profiles": {"p": {"denylist": ["`+row.pattern+`"]}}}}`)
		got := warned(c)
		if len(c.Warnings) > 0 {
			got += " " + c.Warnings[0].Hint
		}
		if row.want == "" && got != "" || !contains(got, row.want) {
			t.Errorf("%s: got %q, want %q", row.pattern, got, row.want)
		}
	}
}

// TestFindingsAreInTheOrderOfTheFileAndPointAtIt and say what is near.
func TestFindingsAreInTheOrderOfTheFileAndPointAtIt(t *testing.T) {
	content := "{\"evaluation\": {\"defaultProfile\": \"p\", \"profiles\": {\"p\": {\r\n" +
		"\"allowlist\": [\"fs__*\",\r\n \"github__get_isue\", \"mail__*\", \"zzz__zzzzzz\"],\r\n" +
		"\"denylist\": [\"github__craete_issue\"]}}}}\r\n"
	c := parse(t, content)
	var got []string
	for _, f := range c.Lint(lintTools) {
		got = append(got, fmt.Sprintf("%d:%d %s | %s | %s", f.Line, f.Column, f.Kind, f.Hint, f.Source))
	}
	want := strings.Join([]string{
		"1:53 read-and-send | ask about what sends, or set \"raise\": {\"tainted\": \"ask\"} | {\"evaluation\": {\"defaultProfile\": \"p\", \"profiles\": {\"p\": {",
		`3:2 dead-rule | did you mean "github__get_issue"? |  "github__get_isue", "mail__*", "zzz__zzzzzz"],`,
		`3:33 dead-rule | correct it, or remove it |  "github__get_isue", "mail__*", "zzz__zzzzzz"],`,
		`4:14 dead-rule | did you mean "github__create_issue"? | "denylist": ["github__craete_issue"]}}}}`,
	}, "\n")
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// TestLintBeneathTheFloor: what rules of the floor decide together is found where the tools are known.
func TestLintBeneathTheFloor(t *testing.T) {
	for _, row := range []struct{ floor, body, want string }{
		{`"denylist": ["fs__read_file", "mail__send_mail"]`, `"allowlist": ["{fs,mail}__*"]`, "shadowed"},
		{`"denylist": ["fs__read-file", "mail__*"]`, `"allowlist": ["{fs,mail}__*"]`, "shadowed"},
		{`"asklist": ["fs__read_file", "mail__send_mail"]`, `"allowlist": ["{fs,mail}__*"]`, ""},
		{`"denylist": ["fs__read_file", {"tool": "mail__send_mail", "when": {"/x": {"eq": 1}}}]`,
			`"allowlist": ["{fs,mail}__*"]`, ""},
		{`"denylist": ["fs__read_file"]`, `"allowlist": ["{fs,mail}__*"]`, ""},
		{`"unmatched": "allow"`, `"denylist": ["fs__read_file"], "asklist": ["mail__send_mail"], "allowlist": ["{fs,mail}__*"]`, "shadowed"},
		{`"unmatched": "allow"`, `"denylist": ["fs__read_file"], "asklist": [{"tool": "mail__send_mail", "unlessAllowed": true}], "allowlist": ["{fs,mail}__*"]`, ""},
		{`"unmatched": "allow"`, `"denylist": ["fs__read_file"], "asklist": [{"tool": "mail__send_mail", "when": {"/x": {"exists": true}}}], "allowlist": ["{fs,mail}__*"]`, ""},
		{`"unmatched": "allow"`, `"denylist": ["fs__*"], "allowlist": ["fs__*"]`, "shadowed"}, // found at load, and once
	} {
		c := parse(t, `{"evaluation": {"defaultProfile": "p", "expose": ["p"], "floor": "f", "profiles": {"f": {`+row.floor+`}, "p": {"unmatched": "deny", `+row.body+`}}}}`)
		var got []string
		for _, f := range c.Lint(lintTools) {
			if f.Kind == findingShadowed {
				got = append(got, f.Kind)
			}
		}
		if strings.Join(got, ", ") != row.want {
			t.Errorf("under %s: %s: got %q, want %q", row.floor, row.body, got, row.want)
		}
	}
}

// TestCarryIsLookedForWhereAClientGets: in the default profile, and in those that are listed.
func TestCarryIsLookedForWhereAClientGets(t *testing.T) {
	for _, row := range []struct{ settings, want string }{
		{`"defaultProfile": "p", "expose": ["q"],`, "p"}, {`"defaultProfile": "q", "expose": ["p"],`, "p"},
		{`"defaultProfile": "q", "expose": ["q"],`, ""}, {`"defaultProfile": "q",`, "p"},
	} {
		c := parse(t, `{"evaluation": {`+row.settings+` "profiles": {"p": {"allowlist": ["github__get_*", "mail__*"]}, "q": {"unmatched": "deny"}}}}`)
		var got []string
		for _, f := range c.Lint(lintTools) {
			if f.Kind == findingCarry {
				got = append(got, "p")
			}
		}
		if strings.Join(got, "") != row.want {
			t.Errorf("%s: got %q, want %q", row.settings, got, row.want)
		}
	}
}

func TestListsForPeople(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	for n, want := range map[int]string{1: "a does", 2: "a, b do", 4: "a, b, c, d do", 5: "a, b, c and 2 more do"} {
		if got := plural(names[:n], "does", "do"); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

// TestLintReadsUnusualSchemas: what a schema says in a way that rules cannot follow counts as said or as not said.
func TestLintReadsUnusualSchemas(t *testing.T) {
	for _, row := range []struct {
		schema, pointer     string
		described, required bool
	}{
		{`{"patternProperties": {"(": {}, "^y": {}}}`, "/x", false, false}, {`{"patternProperties": {"(": {}}}`, "/(", false,
			false},
		{`{"additionalProperties": true}`, "/x", false, false}, {`{"additionalProperties": {"type": "string"}}`, "/x", true,
			false},
		{`{"$defs": {"a/b": {"properties": {"c": {}}}, "m~n": {"properties": {"c": {}}}}, "properties": {"x": {"$ref": "#/$defs/a~1b"}, "y": {"$ref": "#/$defs/m~0n"}}}`, "/x/c", true, false},
		{`{"$defs": {"a/b": {"properties": {"c": {}}}, "m~n": {"properties": {"c": {}}}}, "properties": {"x": {"$ref": "#/$defs/a~1b"}, "y": {"$ref": "#/$defs/m~0n"}}}`, "/y/c", true, false},
		{`{"$defs": [{"properties": {"c": {}}}], "properties": {"x": {"$ref": "#/$defs/-1"}}}`, "/x/c", false, false},
		{`{"$defs": [{"properties": {"c": {}}}], "properties": {"x": {"$ref": "#/$defs/1"}}}`, "/x/c", false, false},
		{`{"anyOf": [{"properties": {"x": {}}, "required": ["x"]}, {"properties": {"y": {}}}]}`, "/x", true, false},
		{`{"anyOf": [{"properties": {"y": {}}}, {"properties": {"x": {}}, "required": ["x"]}]}`, "/x", true, false},
		{`{"anyOf": [{"properties": {"x": {}}, "required": ["x"]}, {"properties": {"x": {}}, "required": ["x"]}]}`, "/x",
			true, true},
		{`{"items": {"properties": {"x": {}}}, "properties": {"*": {}}}`, "/*/x", true, false},
		{`{"properties": {"*": {"properties": {"x": {}}}}}`, "/*/x", false, false},
	} {
		s, _ := parseInputSchema(json.RawMessage(row.schema))
		if a := s.argument(match.ReadPointer(&settings.Reader{}, row.pointer, 0, 0)); a.described != row.described ||
			a.required != row.required {
			t.Errorf("%s in %s: got %+v", row.pointer, row.schema, a)
		}
	}
}
