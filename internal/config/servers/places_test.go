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
		{`{"openapi": "a.json", "baseURL": "https://a.invalid/v1", "auth": {"bearer": "x"}, "slashes": ["path"],
			"allowPrivate": ["10.0.0.0/8", "api.local"], "effects": {"search": "reads"}}`, nil, nil},
		{`{"openapi": "a.json", "baseURL": "https://u:p@a.invalid", "allowPrivate": ["10.0.0.0/99"],
			"effects": {"x": "harmless"}}`, []string{
			`["10.0.0.0/99"]: has no network in "10.0.0.0/99"`, `"harmless": write one of reads`,
			`"https://u:p@a.invalid": without a user name`}, nil},
		{`{"openapi": "a.json", "auth": {"apiKey": {"in": "cookie", "value": "x", "key": 1}}}`, []string{
			`"key": is not one of its keys`, `"cookie": a key cannot be in`}, nil},
		{`{"openapi": "a.json", "auth": {"bearer": "x", "basic": {"username": "u"}}}`, []string{
			`"basic": is a second credential, beside "bearer"`}, nil},
		{`{"openapi": "a.json", "auth": {"token": "x"}}`, []string{`"token": is no kind of credential`}, nil},
		{`{"openapi": "a.json", "auth": {"clientCredentials": {"tokenUrl": "http://i.invalid", "clientSecret": "x"}}}`,
			[]string{`"clientCredentials": "clientId" is missing`, `"http://i.invalid": write https:// and a host`}, nil},
		{`{"openapi": "a.json", "auth": {"oauth": {"tokenUrl": "https://i.invalid", "clientId": "c"}}}`,
			[]string{`"oauth": "authorizationUrl" is missing`}, nil},
		{`{"cli": {"command": "git", "tools": {"log": {"args": ["log", "--max-count={count}", ["--grep", "{word}"],
			{"flag": "--all", "if": "all"}, "--", "{paths...}", "{}", "{{.Name}}", "${{}word}"], "stdin": "{word}", "required": ["count"],
			"output": "lines", "effect": "reads", "timeout": 30000, "maxOutput": "1MiB", "exitCodes": [0, 1],
			"input": {"count": {"type": "integer", "default": 10}, "word": {"type": "string", "allowAt": true},
			"all": {"type": "boolean"}, "paths": {"type": "array", "items": {"type": "string"}}}}}},
			"cwd": "/repo", "env": {"LANG": "C"}, "includeTools": ["log"]}`, nil, nil},
		{`{"cli": "git"}`, []string{`"git": must be an object`}, nil},
		{`{"cli": {"tool":{}}}`, []string{`"tool": did you mean "tools"`, `{"tool":{}}: add the program`, `{"tool":{}}: add {"log"`}, nil},
		{`{"cli": {"command": "", "tools": {"a b": {"args": "x"}}}}`, []string{`"": must not be empty`,
			`"a b": is no name of a tool`, `"x": "cli": "a b": "args" must be a list`}, nil},
		{`{"cli": {"command": "c", "tools": {"t": {"args": [7, "{x}", ["{x...}"], {"flag":"-a"}, "--{y}"], "output": "xml",
			"effect": "harmless", "timeout": 600001, "maxOutput": "33MiB", "exitCodes": [256], "arg": 1}}}}`, []string{
			`"xml": text`, `"harmless": reads`, `600001: at most 600000`, `"33MiB": must be a number of bytes`, `256: at most 255`,
			`"arg": did you mean "args"`, `7: must be an object`, `"{x}": {x} names no argument (add it to input`,
			`"{x...}": names no argument`, `{"flag":"-a"}: add an argument that is true or false`,
			`{"flag":"-a"}: "" is no argument that is true or false`, `"--{y}": names no argument`,
			`"--{y}": an argument would choose the option`}, nil},
		{`{"cli": {"command": "c", "tools": {"t": {"args": ["{a}", "{b...}", "{a}{c...}{c...}"], "stdin": "{c...}", "required": ["d"],
			"input": {"a": {"type": "array", "items": {"type": "string"}}, "b": {"type": "string"}, "e": {"type":"null"},
			"c": {"type":"array","items":{"type":"string","pattern":"("}}}}}}}`, []string{
			`{"type":"null"}: the argument "e" has no type that is a word`,
			`{"type":"array","items":{"type":"string","pattern":"("}}: the schema of the argument "c" cannot be used`,
			`"{a}": the argument "a" has no place here in this form (a list is {a...} in args, once in a word`,
			`"{b...}": "b" has no place here`, `"{a}{c...}{c...}": "a" has no place`, `"{a}{c...}{c...}": "c" has no place`,
			`"{c...}": "c" has no place here`, `"e": is used nowhere`, `["d"]: "required" has "d", which is no argument`}, nil},
		{`{"cli": {"command": "env", "tools": {"t": {"args": ["sh", "-c", "echo {x}"], "input": {"x": {"type": "string"}}}}}}`,
			[]string{`["sh", "-c", "echo {x}"]: sh reads an argument as a script: a program's text would be a script`}, nil},
		{`{"url": "https://a.invalid", "oauth": {"clientMetadataUrl": "https://b.example:8443/c.json?x=1"}}`, nil, nil},
		{`{"url": "https://127.0.0.1/", "oauth": {"clientMetadataUrl": "https://localhost/c.json"}}`, nil, nil},
		{`{"url": "https://10.0.0.2/", "oauth": {"clientMetadataUrl": "https://10.0.0.1/c.json"}}`, nil, nil},
		{`{"url": "https://a.invalid", "oauth": {"clientMetadataUrl": "http://b.example/c.json"}}`, []string{
			`"http://b.example/c.json": "clientMetadataUrl" must begin with https:// and a host (write it as`}, nil},
		{`{"url": "https://a.invalid", "oauth": {"clientMetadataUrl": "https:c.json"}}`, []string{
			`"https:c.json": must begin with https:// and a host`}, nil},
		{`{"url": "https://a.invalid", "oauth": {"clientMetadataUrl": "https://b.example"}}`, []string{
			`"https://b.example": has no path`}, nil},
		{`{"url": "https://a.invalid", "oauth": {"clientMetadataUrl": "https://b.example/"}}`, []string{
			`"https://b.example/": has no path`}, nil},
		{`{"url": "https://a.invalid", "oauth": {"clientMetadataUrl": "https://u@b.example/c"}}`, []string{
			`"https://u@b.example/c": has a user name`}, nil},
		{`{"url": "https://a.invalid", "oauth": {"clientMetadataUrl": "https://b.example/c#"}}`, []string{
			`"https://b.example/c#": has a fragment`}, nil},
		{`{"url": "https://a.invalid", "oauth": {"clientMetadataUrl": "https://b.example/a/%2E%2e/c"}}`, []string{
			`"https://b.example/a/%2E%2e/c": "." or ".." in its path`}, nil},
		{`{"url": "https://a.invalid", "oauth": {"clientMetadataUrl": "https://b.example/./c"}}`, []string{
			`"https://b.example/./c": "." or ".." in its path`}, nil},
		{`{"url": "https://a.invalid", "oauth": {"clientMetadataUrl": "https://127.0.0.1/c"}}`, []string{
			`"https://127.0.0.1/c": on this machine, where no authorization server elsewhere can fetch it (publish what`}, nil},
		{`{"url": "https://a.invalid", "oauth": {"clientMetadataUrl": "https://[::ffff:10.0.0.1]/c"}}`, []string{
			`"https://[::ffff:10.0.0.1]/c": is in a private network`}, nil},
		{`{"url": "https://a.invalid", "oauth": {"clientMetadataUrl": "https://169.254.169.254/c"}}`, []string{
			`"https://169.254.169.254/c": is in a private network`}, nil},
		{`{"url": "https://a.invalid", "oauth": {"clientMetadataUrl": "https://App.LocalHost./c"}}`, []string{
			`"https://App.LocalHost./c": is in a private network`}, nil},
		{`{"url": "https://a.invalid", "oauth": {"clientMetadataUrl": 7}}`, []string{
			`7: "clientMetadataUrl" must be a string`}, nil},
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
