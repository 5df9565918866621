package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/codemode-project/codemode/internal/bench/engine"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/isolation"
)

// tested is the report of an engine. Each finding is a failed case of its own.
func tested(name string, passed, unproven int, findings ...string) *engine.Report {
	r := &engine.Report{Name: name, Engine: isolation.Hello{Version: "1.2"}, Kinds: []engine.Kind{
		{Kind: "escape", Cases: passed, Passed: passed, Skipped: 2},
		{Kind: "leak between runs", Cases: unproven + len(findings), Unproven: unproven, Skipped: 1}}}
	for _, f := range findings {
		r.Cases = append(r.Cases, engine.CaseResult{Case: f, Findings: []engine.Finding{{Case: f, Kind: "leak between runs",
			Severity: "high", Finding: engine.Leak, Detail: "a file was left"}}})
	}
	return r
}

// boardFile is a report in a file, of a day of November 2026.
func boardFile(t *testing.T, day int, engines ...*engine.Report) string {
	t.Helper()
	for i, r := range engines {
		r.Started = time.Date(2026, 11, day, 3, i, 0, 0, time.UTC)
	}
	text, err := json.Marshal(engine.Scoreboard{Engines: engines})
	checktest.OK(t, err)
	path := filepath.Join(t.TempDir(), "scoreboard.json")
	checktest.OK(t, os.WriteFile(path, text, 0o600))
	return path
}

var read = checktest.Read

func TestPagesOfTheHistory(t *testing.T) {
	dir := t.TempDir()
	broken := &engine.Report{Name: "goja", Failed: "no [such](x) | file"}
	for _, step := range []struct {
		what string
		file string
		want []string // lines of README.md
		not  string   // what is not in any page
		in   string   // what is in board.md
	}{
		{"the first week", boardFile(t, 9, tested("goja", 7, 1, "a.js", "b.js")), []string{
			"| goja | 1.2 | 7/7 | 0/2 | 1 | 3 | 2 |", "| week | goja |", "|---|---|",
			"| 2026-11-09 | leak between runs 2 |"},
			"2026-11-16", "# Findings of 2026-11-09\n"},
		{"another week, with an engine more", boardFile(t, 16, tested("deno", 5, 0), tested("goja", 8, 1, "b.js")), []string{
			"| deno | 1.2 | 5/5 | - | 0 | 3 | 0 |", "| goja | 1.2 | 8/8 | 0/1 | 1 | 3 | 1 |",
			"| week | deno | goja |", "| 2026-11-16 | none | leak between runs 1 |",
			"| 2026-11-09 | - | leak between runs 2 |"},
			"a.js", "| high | leak between runs | leak | b.js | a file was left |"},
		{"the same day once more", boardFile(t, 16, tested("goja", 9, 1)), []string{
			"| goja | 1.2 | 9/9 | - | 1 | 3 | 0 |", "| 2026-11-16 | none |", "| 2026-11-09 | leak between runs 2 |"},
			"8/8", "# Findings of 2026-11-16\n"},
		{"a week between", boardFile(t, 12, tested("goja", 6, 1, "c.js")), []string{
			"| goja | 1.2 | 9/9 | - | 1 | 3 | 0 |", "| 2026-11-16 | none |", "| 2026-11-12 | leak between runs 1 |"},
			"# Findings of 2026-11-12", "# Findings of 2026-11-16\n"},
		{"an engine that did not start", boardFile(t, 23, broken), []string{
			`| goja |  | not tested: no \[such](x) \| file |  |  |`, "| 2026-11-23 | not tested |"},
			"no [such]", `goja could not be tested: no \[such](x) \| file`},
	} {
		if err := run([]string{"-board", step.file, "-commit", "abc123", dir}); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		page, findings := read(t, filepath.Join(dir, "README.md")), read(t, filepath.Join(dir, "board.md"))
		for _, line := range step.want {
			if !strings.Contains(page, "\n"+line+"\n") {
				t.Errorf("%s: %s is not in\n%s", step.what, line, page)
			}
		}
		if !strings.Contains(page, "at commit abc123: ") || !strings.Contains(findings, step.in) {
			t.Errorf("%s: the pages are\n%s\nand\n%s", step.what, page, findings)
		}
		if strings.Contains(page, step.not) || strings.Contains(findings, step.not) {
			t.Errorf("%s: %q is in\n%s\nor\n%s", step.what, step.not, page, findings)
		}
	}
}

// A report that is none changes nothing.
func TestWhatIsNoReport(t *testing.T) {
	dir := t.TempDir()
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "scoreboard.json")
		checktest.OK(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for name, args := range map[string][]string{
		"no file": {"-board", filepath.Join(dir, "no.json"), dir}, "no JSON": {"-board", file("{"), dir},
		"no engines": {"-board", file("{}"), dir}, "no folder": {"-board", file("{}")}, "no flag": {dir},
	} {
		if err := run(args); err == nil {
			t.Errorf("%s: there is no error", name)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("it wrote %v, %v", entries, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "history.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-board", boardFile(t, 9, tested("goja", 1, 0)), dir}); err == nil {
		t.Error("a history that cannot be read is replaced")
	}
}

// The workflow publishes on the branch scoreboard: the first week begins it, and the next one adds to it.
func TestTheWorkflowPublishes(t *testing.T) {
	for _, name := range []string{"git", "bash"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("there is no %s here", name)
		}
	}
	var workflow struct {
		Jobs map[string]struct {
			Permissions map[string]string
			Steps       []struct{ Name, Run string }
		}
	}
	checktest.OK(t, yaml.Unmarshal([]byte(read(t, "../../.github/workflows/scoreboard.yml")), &workflow))
	if p := workflow.Jobs["measure"].Permissions; len(p) != 1 || p["contents"] != "read" {
		t.Errorf("the job that runs hostile programs has the permissions %v", p)
	}
	script := ""
	for _, step := range workflow.Jobs["publish"].Steps {
		if step.Name == "Publish" {
			script = step.Run
		}
	}
	root, err := filepath.Abs("../..")
	checktest.OK(t, err)
	folder := t.TempDir()
	tool := filepath.Join(folder, "scoreboard")
	run := func(dir, name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GITHUB_SHA=abc123", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
		out, err := cmd.CombinedOutput()
		if exit := (&exec.ExitError{}); errors.As(err, &exit) {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		} else if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	run(root, "go", "build", "-o", tool, "./internal/scoreboard")
	const goRun = "go run ./internal/scoreboard "
	if strings.Count(script, goRun) != 1 {
		t.Fatalf("the step runs the tool in another way:\n%s", script)
	}
	script = strings.Replace(script, goRun, tool+" ", 1) // the checkout of the test has no Go files
	remote := filepath.Join(folder, "remote")
	run(folder, "git", "init", "--quiet", "--bare", "--initial-branch=main", remote)
	for i, day := range []int{9, 16} {
		checkout := filepath.Join(folder, "checkout", string(rune('a'+i)))
		run(folder, "git", "clone", "--quiet", remote, checkout)
		if i == 0 {
			checktest.OK(t, os.WriteFile(filepath.Join(checkout, "code.go"), nil, 0o600))
			run(checkout, "git", "add", "code.go")
			run(checkout, "git", "commit", "--quiet", "--message", "code")
			run(checkout, "git", "push", "--quiet", "origin", "HEAD:main")
		}
		reports := filepath.Join(checkout, ".build", "scoreboard")
		checktest.OK(t, os.MkdirAll(reports, 0o700))
		err := os.Rename(boardFile(t, day, tested("goja", day, 0)), filepath.Join(reports, "scoreboard.json"))
		checktest.OK(t, err)
		checktest.OK(t, os.WriteFile(filepath.Join(reports, "speed.txt"), []byte("fast\n"), 0o600))
		run(checkout, "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	}
	files := strings.Fields(run(remote, "git", "ls-tree", "--name-only", "scoreboard"))
	if got, want := strings.Join(files, " "), "README.md board.md history.json speed.txt"; got != want {
		t.Errorf("the branch has %s, want %s", got, want)
	}
	page := run(remote, "git", "show", "scoreboard:README.md")
	for _, line := range []string{"| goja | 1.2 | 16/16 | - | 0 | 3 | 0 |", "| 2026-11-16 | none |",
		"| 2026-11-09 | none |"} {
		if !strings.Contains(page, line) {
			t.Errorf("%s is not in\n%s", line, page)
		}
	}
	if n := strings.TrimSpace(run(remote, "git", "rev-list", "--count", "scoreboard")); n != "2" {
		t.Errorf("the branch has %s commits, want one for each week and no code", n)
	}
}
