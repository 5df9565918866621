package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
)

// writeFiles makes a folder of the given files.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		checktest.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		checktest.Write(t, path, text)
	}
	return dir
}

// benchmark runs codemode bench with arguments.
func benchmark(t *testing.T, args ...string) (code int, out, problems string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", cachetest.Dir())
	t.Setenv(asCommand, "codemode") // what it starts of itself
	var o, e bytes.Buffer
	code = runMain(t, cli.Streams{In: strings.NewReader(""), Out: &o, Err: &e}, append([]string{"bench"}, args...)...)
	return code, o.String(), e.String()
}

func TestBenchIsolation(t *testing.T) {
	good := writeFiles(t, map[string]string{
		"attacks.json": `[{"file": "a.js", "class": "plain", "outcome": "value", "expect": 2}, {"file": "b.js", "class": "throws", "outcome": "error"}]`,
		"a.js":         "return 1 + 1", "b.js": "throw 1",
	})
	bad := writeFiles(t, map[string]string{"attacks.json": `[{"file": "a.js", "class": "plain", "outcome": "denied"}]`,
		"a.js": "return 1"})
	known := writeFiles(t, map[string]string{"null.json": `{"engines": [null]}`, "none.json": `{"engines": []}`,
		"speed.json": `{"engines": [{"name": "a"}]}`})
	noBaseline := func(file string) []string {
		return []string{"--cases", good, "--engine", "no-such-engine", "--baseline", filepath.Join(known, file)}
	}
	for _, test := range []struct {
		name string
		args []string
		code int
		want string // in what is printed
	}{
		{"every case accepted", []string{"--cases", good}, cli.ExitOK, "2 of 2 cases accepted, 2 exact"},
		{"every case listed", []string{"--cases", good, "-v"}, cli.ExitOK, "a.js"},
		{"some of the cases", []string{"--cases", good, "--filter", "b*"}, cli.ExitOK, "1 of 1 cases accepted"},
		{"a case that is not accepted", []string{"--cases", bad}, cli.ExitProgram, "value for denied"},
		{"a case that is not accepted, as JUnit", []string{"--cases", bad, "--format", "junit"}, cli.ExitProgram, "<failure"},
		{"a case that is not accepted, as SARIF", []string{"--cases", bad, "--format", "sarif"}, cli.ExitProgram, `"ruleId": "plain"`},
		{"as a badge", []string{"--cases", good, "--format", "badge"}, cli.ExitOK, "isolation: 3 of 3"},
		{"a baseline without an engine", []string{"--baseline", "b.json"}, cli.ExitUsage, "--baseline needs --engine"},
		{"a baseline without engines", noBaseline("none.json"), cli.ExitUsage, "none.json: it is no report"},
		{"a baseline with no engine in it", noBaseline("null.json"), cli.ExitUsage, "null.json: it is no report"},
		{"a baseline of another benchmark", noBaseline("speed.json"), cli.ExitUsage, "speed.json: it is no report"},
		{"a format for several files", []string{"--out", "a.json", "--out", "b.xml", "--format", "json"}, cli.ExitUsage,
			"the extension of each file decides"},
		{"an engine that is not there", []string{"--cases", good, "--engine", "no-such-engine"}, cli.ExitInternal,
			`"no-such-engine" was not found in PATH`},
		{"an engine in sessions", []string{"--cases", good, "--engine", "x", "--session"}, cli.ExitUsage, "session"},
		{"an engine without words", []string{"--cases", good, "--engine", " "}, cli.ExitUsage, "there is no command"},
		{"as markdown", []string{"--cases", good, "--format", "markdown"}, cli.ExitOK, "| plain | 1 | 1 | 1 |"},
		{"some of our own cases", []string{"--filter", "s29_*"}, cli.ExitOK, "s29"},
		{"a folder that is not there", []string{"--cases", filepath.Join(good, "no")}, cli.ExitUsage, ""},
		{"a folder without a list", []string{"--cases", t.TempDir()}, cli.ExitUsage, "attacks.json"},
		{"a pattern that matches nothing", []string{"--cases", good, "--filter", "x*"}, cli.ExitUsage, "no case matches"},
		{"an unknown format", []string{"--format", "yaml"}, cli.ExitUsage, "table, json, junit, sarif, markdown, badge"},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, out, problems := benchmark(t, append([]string{"isolation"}, test.args...)...)
			if code != test.code || !strings.Contains(out+problems, test.want) {
				t.Errorf("got exit code %d and\n%s%s\nwant %d and %q", code, out, problems, test.code, test.want)
			}
			for line := range strings.Lines(problems) { // on a slow machine there is one now and then
				if code != cli.ExitUsage && code != cli.ExitInternal && !strings.Contains(line, " after ") {
					t.Errorf("it is not quiet: %q", problems)
				}
			}
		})
	}

	_, out, _ := benchmark(t, "isolation", "--cases", good, "--format", "json")
	var report struct {
		Cases   []struct{ File, Expected, Got string }
		Summary struct{ Cases, OK int }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Cases) != 2 || report.Summary.OK != 2 {
		t.Errorf("got %+v, %v from\n%s", report, err, out)
	}
}

func TestBenchSpeedFlags(t *testing.T) {
	if code, out, problems := benchmark(t, "speed", "--quick", "--engine", "no-such-engine"); code != cli.ExitInternal ||
		!strings.Contains(out, "no-such-engine") || !strings.Contains(problems, `"no-such-engine" was not found in PATH`) {
		t.Errorf("an engine that is not there: exit code %d, %q, %q", code, out, problems)
	}
	if code, _, problems := benchmark(t, "speed", "--format", "junit"); code != cli.ExitUsage ||
		!strings.Contains(problems, "table, json") {
		t.Errorf("exit code %d, %q", code, problems)
	}
	if code, out, _ := benchmark(t); code != cli.ExitOK || !strings.Contains(out, "isolation") {
		t.Errorf("without a command: exit code %d and\n%s", code, out)
	}
}

// exampleSuite is the folder that the help of bench isolation describes: its list, and programs for it.
func exampleSuite(t *testing.T) (help string, files map[string]string) {
	t.Helper()
	var out bytes.Buffer
	runMain(t, cli.Streams{Out: &out, Err: &out}, "bench", "isolation", "--help")
	help = out.String()
	from, to := strings.Index(help, "[{"), strings.Index(help, "}]")
	if from < 0 || to < from {
		t.Fatalf("there is no list in\n%s", help)
	}
	return help, map[string]string{
		"attacks.json": help[from : to+2],
		"loop.js":      "for (;;);", "plant.js": "return 1", "peek.js": `return "nothing"`,
	}
}

// The list of cases in the help is one that loads and runs.
func TestExampleInTheHelpOfBenchLoads(t *testing.T) {
	_, files := exampleSuite(t)
	if code, out, problems := benchmark(t, "isolation", "--cases", writeFiles(t, files), "--once"); code != cli.ExitOK {
		t.Errorf("exit code %d\n%s%s", code, out, problems)
	}
}

// Each command in the help of bench isolation runs as it stands there, beside a folder my-attacks that is as the help
// describes it, and an engine my-sandbox.
func TestEveryExampleInTheHelpOfBenchRuns(t *testing.T) {
	endToEnd(t)
	help, files := exampleSuite(t)
	dir, self := t.TempDir(), commandItself(t)
	checktest.OK(t, os.Rename(writeFiles(t, files), filepath.Join(dir, "my-attacks")))
	sandbox := write(t, filepath.Join(dir, "my-sandbox"), "#!/bin/sh\n"+asCommand+"=codemode exec "+self+" bench engine\n")
	checktest.OK(t, os.Chmod(sandbox, 0o700))
	examples := 0
	for line := range strings.Lines(help) {
		command := strings.TrimSpace(line)
		rest, ok := strings.CutPrefix(command, "codemode bench isolation ")
		if !ok || strings.HasPrefix(rest, "[") {
			continue
		}
		examples++
		args := append([]string{"bench", "isolation"}, strings.Fields(strings.ReplaceAll(rest, "'", ""))...)
		cmd := exec.Command(self, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "XDG_CACHE_HOME="+cachetest.Dir(), asCommand+"=codemode")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
	if examples < 3 {
		t.Errorf("the help has %d examples:\n%s", examples, help)
	}
}

// With --out the report is in the file, in the form of its name or of --format, and nothing is on stdout.
func TestBenchIsolationWritesItsReportToAFile(t *testing.T) {
	suite := writeFiles(t, map[string]string{
		"attacks.json": `[{"file": "a.js", "class": "plain", "outcome": "value", "expect": 2}]`, "a.js": "return 1 + 1",
	})
	bad := writeFiles(t, map[string]string{
		"attacks.json": `[{"file": "a.js", "class": "plain", "outcome": "denied"}]`, "a.js": "return 1",
	})
	for _, test := range []struct {
		name string
		args []string
		file string
		code int
		want string // at the beginning of the file
	}{
		{"as JSON", nil, "report.json", cli.ExitOK, "{\n"},
		{"as JUnit", nil, "report.xml", cli.ExitOK, "<?xml"},
		{"as markdown", nil, "report.md", cli.ExitOK, "| class |"},
		{"as a table", nil, "report.txt", cli.ExitOK, "class "},
		{"as --format says", []string{"--format", "junit"}, "report.json", cli.ExitOK, "<?xml"},
		{"under any name with --format", []string{"--format", "json"}, "report", cli.ExitOK, "{\n"},
		{"of cases that are not accepted", []string{"--cases", bad}, "report.json", cli.ExitProgram, "{\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), test.file)
			args := append([]string{"isolation", "--cases", suite, "--out", path}, test.args...)
			code, out, problems := benchmark(t, args...)
			text, err := os.ReadFile(path)
			if code != test.code || err != nil || !strings.HasPrefix(string(text), test.want) || out != "" {
				t.Errorf("got exit code %d, %v, stdout %q, stderr %q, and the file\n%s", code, err, out, problems, text)
			}
			if !strings.Contains(problems, path) {
				t.Errorf("stderr does not say where the report is: %q", problems)
			}
		})
	}
	folder := filepath.Join(t.TempDir(), "report.json")
	checktest.OK(t, os.Mkdir(folder, 0o700))
	for name, path := range map[string]string{
		"a form that is not known": filepath.Join(t.TempDir(), "report.pdf"),
		"a folder":                 folder,
		"no name":                  "",
		"no folder":                filepath.Join(t.TempDir(), "no", "report.json"),
	} {
		code, out, problems := benchmark(t, "isolation", "--cases", suite, "--out", path)
		if code != cli.ExitUsage || out != "" || !strings.Contains(problems, "--out") {
			t.Errorf("%s: got exit code %d, %q, %q", name, code, out, problems)
		}
	}
	kept := filepath.Join(t.TempDir(), "kept.json")
	checktest.Write(t, kept, "kept")
	if code, _, _ := benchmark(t, "isolation", "--cases", t.TempDir(), "--out", kept); code != cli.ExitUsage {
		t.Errorf("no suite: got exit code %d", code)
	}
	if text, err := os.ReadFile(kept); string(text) != "kept" {
		t.Errorf("a run that made no report changed the file: %q, %v", text, err)
	}
}

// The shards of a suite are disjoint and together all of it; other values are errors.
func TestBenchIsolationShards(t *testing.T) {
	suite := writeFiles(t, map[string]string{
		"attacks.json": `[{"file": "a.js", "outcome": "value"}, {"file": "b.js", "outcome": "value"},
			{"file": "c.js", "outcome": "value", "after": "a.js"}]`,
		"a.js": "return 1", "b.js": "return 1", "c.js": "return 1",
	})
	seen := map[string]int{}
	for _, shard := range []string{"1/2", "2/2"} {
		code, out, problems := benchmark(t, "isolation", "--cases", suite, "--once", "--shard", shard, "--format", "json")
		var report struct{ Cases []struct{ File string } }
		if err := json.Unmarshal([]byte(out), &report); err != nil || code != cli.ExitOK {
			t.Fatalf("%s: exit code %d, %v\n%s%s", shard, code, err, out, problems)
		}
		for _, c := range report.Cases {
			seen[c.File]++
		}
	}
	if len(seen) != 3 || seen["a.js"] != 1 || seen["b.js"] != 1 || seen["c.js"] != 1 {
		t.Errorf("got %v, want each case once", seen)
	}
	for _, wrong := range []string{"0/2", "3/2", "1/0", "-1/2", "1", "1/", "/2", "a/b", "1/2/3", "+1/2", "01/2", " 1/2",
		"4/4", ""} {
		code, out, problems := benchmark(t, "isolation", "--cases", suite, "--shard", wrong)
		if code != cli.ExitUsage || out != "" || !strings.Contains(problems, "--shard") {
			t.Errorf("--shard %q: got exit code %d, %q, %q", wrong, code, out, problems)
		}
	}
}

// Beside a terminal there is a line every some seconds, with how far it is; on one the line is drawn anew.
func TestProgressOfABenchmark(t *testing.T) {
	var out bytes.Buffer
	clock := time.Unix(0, 0)
	b := &bar{out: &out, now: func() time.Time { return clock }, began: clock, last: clock}
	b.show(0, 40, "a.js")
	if out.Len() > 0 {
		t.Errorf("it begins with %q", &out)
	}
	clock = clock.Add(lineEvery)
	b.show(10, 40, "b\x1b.js")
	b.show(11, 40, "c.js")
	clock = clock.Add(lineEvery)
	b.show(30, 40, "d.js")
	b.clear()
	if got, want := out.String(),
		"codemode: 10 of 40 after 10s: b\\u{1b}.js\ncodemode: 30 of 40 after 20s: d.js\n"; got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	out.Reset()
	b.terminal, b.width = true, 60
	clock = clock.Add(barEvery)
	b.show(31, 40, "e.js")
	if got := out.String(); strings.Contains(got, "\n") || !strings.Contains(got, "31/40") {
		t.Errorf("on a terminal: %q", got)
	}
}
