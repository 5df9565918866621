package upstream_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/upstream"
)

// Whoever mends an entry wants to see all that is wrong with it, at the keys that are wrong.
func TestEveryMistakeOfAnEntryHasItsKey(t *testing.T) {
	for _, row := range []struct {
		entry         string
		wrong, doubts []string // PATH message, and ! in front if the key is meant
	}{
		{`{"command": "x", "args": 1, "cwd": 2, "env": {"A": [], "B": {}}, "disabled": 3, "tools": 4}`, []string{
			"args: must be a list", `env/A: value of "A"`, `env/B: value of "B"`, "cwd: must be a string", "disabled: true or false", "tools: list of strings"}, nil},
		{`{"url": 1, "headers": {"A B": "x", "C": []}, "oauth": {"clientId": 3, "callbackPort": 70000}, "timeout": {"startup": -1}}`, []string{
			"url: must be a string", "headers/C: value of", "headers/A B: cannot be sent", "oauth/clientId: must be a string", "oauth/callbackPort: 65535", "timeout/startup: negative"}, nil},
		{`{}`, []string{`!: needs a "command" or a "url"`}, nil},
		{`{"comand": "x", "arg": []}`, []string{`!comand: did you mean "command"`}, nil},
		{`{"Command": "x"}`, []string{`!Command: did you mean "command"`}, nil},
		{`{"uri": "https://a.invalid"}`, []string{`!uri: needs a "command" or a "url"`}, nil},
		{`{"type": "stdio", "args": 7}`, []string{"type: needs a command", "args: must be a list"}, nil},
		{`{"type": 5, "command": "x"}`, []string{"type: must be a string"}, nil},
		{`{"command": "x", "disable": true, "exclude_tool": ["a"]}`, []string{`!disable: did you mean "disabled"`, `!exclude_tool: did you mean "excludeTools"`}, nil},
		{`{"command": "x", "enabledTool": ["a"]}`, []string{"!enabledTool: would take nothing away"}, nil},
		{`{"command": "x", "toolset": [], "retries": 3, "description": 1, "trust": true, "sandboxEnabled": true}`, nil, []string{
			"!trust: has no effect", `!sandboxEnabled: "sandbox" has no effect`, `!retries: "retries" has no effect`, `!toolset: "toolset" has no effect`}},
		{`[]`, []string{": want an object"}, nil},
	} {
		wrong, doubts := upstream.CheckServer("s", json.RawMessage(row.entry), people)
		check := func(what string, got []upstream.Mistake, want []string) {
			fits := slices.EqualFunc(got, want, func(m upstream.Mistake, want string) bool {
				place, text, _ := strings.Cut(want, ": ")
				at := strings.Join(m.Path, "/")
				if m.Key {
					at = "!" + at
				}
				return at == place && strings.Contains(m.Message+" ("+m.Hint+")", text)
			})
			if !fits {
				t.Errorf("%s: %s are\n%+v\nwant\n%q", row.entry, what, got, want)
			}
		}
		check("mistakes", wrong, row.wrong)
		check("doubts", doubts, row.doubts)
		_, _, err := upstream.ParseServer("s", json.RawMessage(row.entry), people)
		if (err != nil) != (len(wrong) > 0) {
			t.Errorf("%s: ParseServer says %v", row.entry, err)
		}
	}
}
