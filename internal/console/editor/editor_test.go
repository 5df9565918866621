package editor

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/config"
)

func TestMarksAreWhereTheProblemsAre(t *testing.T) {
	_, wrong := config.Parse("a.json", []byte("{\n  \"limits\": {\"ask\": 1}\n}\n"))
	if wrong == nil {
		t.Fatal("an unknown key is no problem")
	}
	for name, test := range map[string]struct {
		err  error
		file string
		want string
	}{
		"the file":                  {wrong, "a.json", `[{"line":2,"column":14,"length":5,"message":"unknown key`},
		"a problem that is wrapped": {fmt.Errorf("checking: %w", wrong), "a.json", `[{"line":2,`},
		"another file":              {wrong, "b.json", ""},
		"no place":                  {errors.New("a.json:1:1: it is not JSON"), "a.json", ""},
		"no problem":                {nil, "a.json", ""},
	} {
		got := Marks(test.err, test.file)
		if !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := Marks(wrong, "a.json"); !strings.Contains(got, "did you mean") {
		t.Errorf("the way out is missing: %s", got)
	}
}

func TestFiles(t *testing.T) {
	if !json.Valid(File("schema.json")) {
		t.Error("schema.json is not JSON")
	}
	for _, name := range []string{"", "editor.go", "package.json", "src/editor.js"} {
		if File(name) != nil {
			t.Errorf("%q is served", name)
		}
	}
	script := string(File("editor.js"))
	for _, licensed := range []string{"@codemirror/view", "vscode-json-languageservice", "Marijn Haverbeke"} {
		if !strings.Contains(script, licensed) {
			t.Errorf("the licences do not name %s", licensed)
		}
	}
}
