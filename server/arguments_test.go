package server_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/server"
)

// publishedArguments gives what each tool says that it takes.
func publishedArguments(t *testing.T, c *client) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for tool, err := range c.Tools(t.Context(), nil) {
		checktest.OK(t, err)
		raw, err := json.Marshal(tool.InputSchema)
		checktest.OK(t, err)
		var schema struct {
			Properties           map[string]json.RawMessage
			AdditionalProperties *bool
		}
		checktest.OK(t, json.Unmarshal(raw, &schema))
		if schema.AdditionalProperties == nil || *schema.AdditionalProperties {
			t.Errorf("%s says that it takes any argument", tool.Name)
		}
		all[tool.Name] = []string{}
		for name := range schema.Properties {
			all[tool.Name] = append(all[tool.Name], name)
		}
	}
	return all
}

// openWithScript has a saved program.
func openWithScript(t *testing.T) *house {
	root := t.TempDir()
	checktest.Write(t, filepath.Join(root, "one.ts"), "return 1")
	return open(t, fmt.Sprintf(`{"scripts": {"root": %q, "allow": [{"folder": ".", "pattern": "*.ts"}]},
		"evaluation": {"defaultProfile": "p", "profiles": {"p": {"allowlist": ["time__*"]}}}}`, root), server.Options{})
}

// A tool takes the arguments that its schema has, and no others: what is not read has to be said.
func TestArgumentsAreThoseOfTheSchema(t *testing.T) {
	h := openWithScript(t)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		c := h.connect(nil, version)
		tools := publishedArguments(t, c)
		if len(tools) < 6 {
			t.Fatalf("there are only the tools %v", tools)
		}
		valid := map[string]any{"code": "return 1", "query": "time", "names": []string{"time__now"}, "question": "May I?",
			"script": "one.ts"}
		for tool, taken := range tools {
			args := map[string]any{}
			for _, name := range taken {
				if v, ok := valid[name]; ok && !(name == "script" && slices.Contains(taken, "code")) {
					args[name] = v
				}
			}
			if text, _ := c.call(tool, args); strings.Contains(text, "there is no argument") {
				t.Errorf("%s %v: %s", tool, args, text)
			}
			for _, unknown := range []string{"profile", "sessionId", "session", "principal", "approved", "Code", "", "\u202e"} {
				if slices.Contains(taken, unknown) {
					continue
				}
				args[unknown] = "x"
				text, failed := c.call(tool, args)
				if !failed || !strings.Contains(text, fmt.Sprintf("there is no argument %q", unknown)) {
					t.Errorf("%s, %s with the argument %q: %v %s", version, tool, unknown, failed, text)
				}
				for _, name := range taken {
					if !strings.Contains(text, fmt.Sprintf("%q", name)) {
						t.Errorf("%s does not say that it takes %q: %s", tool, name, text)
					}
				}
				delete(args, unknown)
			}
		}
	}
}

// A model that has checked a saved program runs it with the same word.
func TestASavedProgramIsNamedTheSameByEveryTool(t *testing.T) {
	c := openWithScript(t).connect(nil, "")
	tools := publishedArguments(t, c)
	for _, tool := range []string{"codemode_check", "codemode_run_script"} {
		if !slices.Contains(tools[tool], "script") || slices.Contains(tools[tool], "name") {
			t.Errorf("%s takes %v", tool, tools[tool])
		}
		if text, failed := c.call(tool, map[string]any{"script": "one.ts"}); failed {
			t.Errorf("%s: %s", tool, text)
		}
	}
}

// A program under another name, as lines or inside of other arguments is read; what a tool could not obey is not.
func TestArgumentsAsModelsNameThem(t *testing.T) {
	h := openWithScript(t)
	c := h.connect(nil, "")
	const code = "return input === undefined ? 7 : input"
	lines := []string{"const n = 7", "return input === undefined ? n : input"}
	for _, test := range []struct {
		args map[string]any
		want string // in the answer
	}{
		{map[string]any{"js": code}, "7"},
		{map[string]any{"javascript": code}, "7"},
		{map[string]any{"program": code}, "7"},
		{map[string]any{"script": code}, "7"},
		{map[string]any{"source": code}, "7"},
		{map[string]any{"ts": code}, "7"},
		{map[string]any{"typescript": lines}, "7"},
		{map[string]any{"code": lines, "language": "ts", "description": "x", "title": "y"}, "7"},
		{map[string]any{"code": code, "js": code}, "7"},
		{map[string]any{"code": code, "js": "return 8"}, `give only "code"`},
		{map[string]any{"arguments": map[string]any{"code": code}}, "7"},
		{map[string]any{"name": "codemode_eval", "arguments": `{"code":"return 7"}`}, "7"},
		{map[string]any{"arguments": map[string]any{"js": code, "profile": "p"}}, `there is no argument "profile"`},
		{map[string]any{"arguments": 3}, `there is no argument "arguments"`},
		{map[string]any{"code": []any{1}}, `"code" has to be text`},
		{map[string]any{"code": []string{}}, "the program is empty"},
		{map[string]any{"code": nil, "input": nil}, `"code" is missing`},
		{map[string]any{"code": code, "input": `{"a":1}`}, `"a": 1`},
		{map[string]any{"code": code, "input": `[1,`}, `"[1,"`},
		{map[string]any{"code": "return JSON.parse(input).a", "input": `{"a":7}`}, "7"},
		{map[string]any{"code": code, "timeout": 3}, `there is no argument "timeout"`},
	} {
		if text, _ := c.call("codemode_eval", test.args); !strings.Contains(text, test.want) {
			t.Errorf("%v: got %s, want %s", test.args, text, test.want)
		}
	}
	for _, test := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"js": "return 1"}, "No call can be seen"},
		{map[string]any{"script": "const a = await codemode.time.now({});\nreturn a"}, "time__now: allow"},
		{map[string]any{"script": "one.ts"}, "The saved program one.ts"},
		{map[string]any{"code": "", "language": "js"}, "is missing"},
		{nil, "is missing"},
	} {
		if text, _ := c.call("codemode_check", test.args); !strings.Contains(text, test.want) {
			t.Errorf("codemode_check %v: got %s, want %s", test.args, text, test.want)
		}
	}
}
