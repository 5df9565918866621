package servers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/settings"
)

// Whoever mends an entry wants to see all that is wrong with it, at the keys and values that are wrong.
func TestEveryProblemOfAnEntryHasItsPlace(t *testing.T) {
	for _, row := range []struct {
		entry         string
		wrong, doubts []string // the marked text, and a part of the message with its hint
	}{
		{`{"command": "x", "args": 1, "cwd": 2, "env": {"A": [], "B": {}}, "disabled": 3, "tools": 4}`, []string{
			"1: must be a list", `[]: value of "A"`, `{}: value of "B"`, "2: must be a string", "3: true or false",
			"4: list of strings"}, nil},
		{`{"command": ["x", 7], "args": ["a", null]}`, []string{"7: list of strings, this is a number",
			"null: list of strings, this is null"}, nil},
		{`{"url": 1, "headers": {"A B": "x", "C": []}, "oauth": {"clientId": 3, "callbackPort": 70000}, "timeout": {"startup": -1}}`, []string{
			"1: must be a string", "[]: value of", `"x": cannot be sent`, `3: "oauth": "clientId" must be a string`,
			"70000: 65535", "-1: negative"}, nil},
		{`{}`, []string{`{: needs a "command" or a "url"`}, nil},
		{`{"comand": "x", "arg": []}`, []string{`"comand": did you mean "command"`}, nil},
		{`{"Command": "x"}`, []string{`"Command": did you mean "command"`}, nil},
		{`{"uri": "https://a.invalid"}`, []string{`"uri": needs a "command" or a "url"`}, nil},
		{`{"type": "stdio", "args": 7}`, []string{`"stdio": needs a command`, "7: must be a list"}, nil},
		{`{"type": 5, "command": "x"}`, []string{"5: must be a string"}, nil},
		{`{"command": "x", "disable": true, "exclude_tool": ["a"]}`, []string{`"disable": did you mean "disabled"`,
			`"exclude_tool": did you mean "excludeTools"`}, nil},
		{`{"command": "x", "enabledTool": ["a"]}`, []string{`"enabledTool": would take nothing away`}, nil},
		{`{"command": "x", "toolset": [], "retries": 3, "description": 1, "trust": true, "sandboxEnabled": true}`, nil,
			[]string{
				`"trust": has no effect`, `"sandboxEnabled": "sandbox" has no effect`, `"toolset": "toolset" has no effect`,
				`"retries": "retries" has no effect`}},
		{`{"command": "x", "confine": {"network": false}}`, []string{`"confine": a container of its own`}, nil},
		{`{"url": "https://a.invalid", "confine": true}`, []string{`"confine": would bound nothing`}, nil},
		{`{"url": "https://a.invalid", "oauth": {"per": "principal"}}`, nil, nil},
		{`{"url": "https://a.invalid", "auth": {"per": "session"}}`, []string{
			`"session": write "principal", or leave it out: then all principals share one login`}, nil},
		{`{"url": "https://a.invalid", "oauth": {"per": true}}`, []string{`true: "oauth": "per" must be a string`}, nil},
		{`{"url": "https://a.invalid", "oauth": {"pre": "x", "Per": "principal"}}`, []string{
			`"pre": did you mean "per"`, `"Per": did you mean "per"`}, nil},
		{`{"url": "https://a.invalid", "oauth": {"clientId": "c"}, "auth": {"per":"principal"}}`, []string{
			`{"per":"principal"}: put all of it into one of them`}, nil},
		{`{"url": "https://a.invalid", "oauth": {"per": "principal"}, "headers": {"authorization":"Bearer x"}}`, []string{
			`{"authorization":"Bearer x"}: leave the Authorization header out`}, nil},
		{`{"command": "x", "oauth": {"per":"principal"}}`, []string{
			`{"per":"principal"}: process on this machine`}, nil},
		{`{"url": "https://a.invalid", "oauth": {"exchange": {"tokenUrl": "https://i.invalid/token", "clientId": "c",
			"audience": "a", "resource": "https://a.invalid/", "scope": "read write"}}}`, nil, nil},
		{`{"url": "https://a.invalid", "oauth": {"exchange": {"tokenUrl": "http://i.invalid/token"}}}`, []string{
			`"exchange": "clientId" is missing`, `"http://i.invalid/token": write https:// and a host`}, nil},
		{`{"url": "https://a.invalid", "oauth": {"exchanges": {}}}`, []string{`"exchanges": did you mean "exchange"`}, nil},
		{`{"url": "https://a.invalid", "oauth": {"exchange": {"tokenUrl": "https://i.invalid/", "clientId": "c", "scopes": 1}}}`,
			[]string{`"scopes": is not a key of an exchange`}, nil},
		{`[]`, []string{`[]: must be an object`}, nil},
	} {
		root, bad := settings.ParseFile(row.entry)
		if bad != nil {
			t.Fatal(bad)
		}
		r := &settings.Reader{File: "f", Src: row.entry, Root: root}
		Read(r, "s", root, people)
		check := func(what string, got settings.Problems, want []string) {
			fits := slices.EqualFunc(got, want, func(p settings.Problem, want string) bool {
				place, text, _ := strings.Cut(want, ": ")
				at := string([]rune(p.Source)[p.Column-1 : p.Column-1+p.Length])
				return at == place && strings.Contains(p.Message+" ("+p.Hint+")", text)
			})
			if !fits {
				t.Errorf("%s: %s are\n%v\nwant\n%q", row.entry, what, got, want)
			}
		}
		check("problems", r.Problems, row.wrong)
		if len(r.Problems) == 0 {
			check("warnings", r.Warnings, row.doubts)
		}
		_, _, err := Parse("s", []byte(row.entry), people)
		if (err != nil) != (len(r.Problems) > 0) {
			t.Errorf("%s: Parse says %v", row.entry, err)
		}
	}
}

func TestParseRefusesWhatIsNoEntry(t *testing.T) {
	for _, raw := range []string{``, `{"command": "x"`, `{"command": "x"}, "y": {}`, `{"command": "x", "command": "y"}`,
		"{\"command\": \"\xff\"}"} {
		if s, _, err := Parse("s", []byte(raw), nil); err == nil || !strings.HasPrefix(err.Error(), `server "s": `) &&
			!strings.Contains(raw, "y") {
			t.Errorf("%s: got %s, %v", raw, fmt.Sprint(s), err)
		}
	}
}
