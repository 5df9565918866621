package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/bench"
)

// A case is shown with its program, what it is about and what is accepted.
func TestBenchIsolationShowsACase(t *testing.T) {
	suite, err := bench.LoadSuite(bench.Attacks())
	if err != nil {
		t.Fatal(err)
	}
	show := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		code := runMain(t, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs},
			append([]string{"bench", "isolation", "--show"}, args...)...)
		return code, out.String() + errs.String()
	}
	for _, c := range suite.Cases[:min(20, len(suite.Cases))] {
		code, text := show(c.File)
		first, _, _ := strings.Cut(strings.TrimSpace(c.Program()), "\n")
		for _, want := range append([]string{c.File, c.Class, string(c.Outcome), c.Severity, c.Kind, first}, c.Needs...) {
			if code != cli.ExitOK || !strings.Contains(text, want) {
				t.Errorf("%s: exit code %d, want %q in\n%s", c.File, code, want, text)
			}
		}
	}
	name := suite.Cases[0].File
	if code, text := show(name + "s"); code != cli.ExitUsage || !strings.Contains(text, "did you mean "+name) {
		t.Errorf("a slip: exit code %d\n%s", code, text)
	}
	if code, text := show("nothing-like-it"); code != cli.ExitUsage || !strings.Contains(text, "there is no such case") {
		t.Errorf("no case: exit code %d\n%s", code, text)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "attacks.json"),
		`[{"file": "peek.js", "class": "leaks", "outcome": "value", "also": ["denied"], "expect": "nothing"}]`)
	write(t, filepath.Join(dir, "peek.js"), `return globalThis.left ?? "nothing"`)
	if code, text := show("peek.js", "--cases", dir); code != cli.ExitOK || !strings.Contains(text, "value, denied") ||
		!strings.Contains(text, `"nothing"`) || !strings.Contains(text, "globalThis.left") {
		t.Errorf("a case of one's own: exit code %d\n%s", code, text)
	}
}

// The findings of a case are at a file of the reader's project.
func TestPlaceOfFindings(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"suite/attacks.json", "engines.json", "bin/my-sandbox", ".github/workflows/ci.yml"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, name, "")
	}
	t.Setenv("GITHUB_WORKFLOW_REF", "me/project/.github/workflows/ci.yml@refs/heads/main")
	outside := t.TempDir()
	for _, row := range []struct {
		suite string
		f     otherEngines
		want  string
	}{
		{"./suite", otherEngines{list: "engines.json"}, "suite/a b.js"},
		{"", otherEngines{list: "./engines.json"}, "engines.json"},
		{"", otherEngines{commands: []string{"node bin/my-sandbox --fast"}}, "bin/my-sandbox"},
		{"", otherEngines{commands: []string{"my-sandbox"}}, ".github/workflows/ci.yml"},
		{outside, otherEngines{}, ".github/workflows/ci.yml"},
		{"", otherEngines{}, ".github/workflows/ci.yml"},
	} {
		if place := placeOf(row.suite, &row.f); place == nil || place("a b.js") != row.want {
			t.Errorf("%q, %+v: want %s", row.suite, row.f, row.want)
		}
	}
	t.Setenv("GITHUB_WORKFLOW_REF", "")
	if place := placeOf("", &otherEngines{}); place != nil {
		t.Errorf("no file: got %s", place("a.js"))
	}
}
