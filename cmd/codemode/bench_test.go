package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeFiles makes a folder of the given files.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// benchmark runs codemode bench with arguments.
func benchmark(t *testing.T, args ...string) (code int, out, problems string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", testCache())
	var o, e bytes.Buffer
	code = runMain(t, streams{in: strings.NewReader(""), out: &o, err: &e}, append([]string{"bench"}, args...)...)
	return code, o.String(), e.String()
}

func TestBenchIsolation(t *testing.T) {
	good := writeFiles(t, map[string]string{
		"attacks.json": `[{"file": "a.js", "class": "plain", "outcome": "value", "expect": 2}, {"file": "b.js", "class": "throws", "outcome": "error"}]`,
		"a.js":         "return 1 + 1", "b.js": "throw 1",
	})
	bad := writeFiles(t, map[string]string{"attacks.json": `[{"file": "a.js", "class": "plain", "outcome": "denied"}]`, "a.js": "return 1"})
	for _, test := range []struct {
		name string
		args []string
		code int
		want string // in what is printed
	}{
		{"every case accepted", []string{"--cases", good}, exitOK, "2 of 2 cases accepted, 2 exact"},
		{"every case listed", []string{"--cases", good, "-v"}, exitOK, "a.js"},
		{"some of the cases", []string{"--cases", good, "--filter", "b*"}, exitOK, "1 of 1 cases accepted"},
		{"a case that is not accepted", []string{"--cases", bad}, exitProgram, "value for denied"},
		{"a case that is not accepted, as JUnit", []string{"--cases", bad, "--format", "junit"}, exitProgram, "<failure"},
		{"as markdown", []string{"--cases", good, "--format", "markdown"}, exitOK, "| plain | 1 | 1 | 1 |"},
		{"some of our own cases", []string{"--filter", "s29_*"}, exitOK, "s29"},
		{"a folder that is not there", []string{"--cases", filepath.Join(good, "no")}, exitUsage, ""},
		{"a folder without a list", []string{"--cases", t.TempDir()}, exitUsage, "attacks.json"},
		{"a pattern that matches nothing", []string{"--cases", good, "--filter", "x*"}, exitUsage, "no case matches"},
		{"an unknown format", []string{"--format", "yaml"}, exitUsage, "table, json, junit, markdown"},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, out, problems := benchmark(t, append([]string{"isolation"}, test.args...)...)
			if code != test.code || !strings.Contains(out+problems, test.want) {
				t.Errorf("got exit code %d and\n%s%s\nwant %d and %q", code, out, problems, test.code, test.want)
			}
			if code != exitUsage && problems != "" {
				t.Errorf("it is not quiet: %q", problems)
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

func TestBenchLanguage(t *testing.T) {
	checkout := writeFiles(t, map[string]string{
		"harness/assert.js": "", "harness/sta.js": "",
		"test/language/good.js": "/*---\n---*/ 1;", "test/built-ins/bad.js": "/*---\n---*/ throw new TypeError('bad');",
	})
	baseline := filepath.Join(t.TempDir(), "known.txt")
	for _, test := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"a failure", nil, exitProgram, "built-ins/bad.js (strict): TypeError: bad"},
		{"only what passes", []string{"--filter", "language"}, exitOK, "2  variants passed"},
		{"a baseline that is not there", []string{"--baseline", baseline}, exitUsage, "--baseline"},
		{"no baseline to update", []string{"--update"}, exitUsage, "--baseline"},
		{"a baseline that is made", []string{"--baseline", baseline, "--update"}, exitProgram, ""},
		{"a baseline without reasons", []string{"--baseline", baseline}, exitProgram, "no reason"},
		{"as JSON", []string{"--format", "json", "--filter", "language"}, exitOK, `"passed": 2`},
		{"an unknown format", []string{"--format", "junit"}, exitUsage, "table, json"},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, out, problems := benchmark(t, append([]string{"language", "--test262", checkout}, test.args...)...)
			if code != test.code || !strings.Contains(out+problems, test.want) {
				t.Errorf("got exit code %d and\n%s%s\nwant %d and %q", code, out, problems, test.code, test.want)
			}
		})
	}
	text, err := os.ReadFile(baseline)
	if err != nil {
		t.Fatal(err)
	}
	explained := bytes.Replace(text, []byte("unexplained: TypeError: bad"), []byte("engine"), 1)
	if err := os.WriteFile(baseline, explained, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, problems := benchmark(t, "language", "--test262", checkout, "--baseline", baseline); code != exitOK {
		t.Errorf("with every failure explained: exit code %d and\n%s%s", code, out, problems)
	}
	if code, _, problems := benchmark(t, "language"); code != exitUsage || !strings.Contains(problems, "--test262") {
		t.Errorf("without --test262: exit code %d, %q", code, problems)
	}
}

func TestBenchSpeedFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"table, json": {"speed", "--format", "junit"},
		"--unchecked": {"speed", "--unchecked", filepath.Join(t.TempDir(), "no.wasm")},
	} {
		if code, _, problems := benchmark(t, args...); code != exitUsage || !strings.Contains(problems, want) {
			t.Errorf("%v: exit code %d, %q, want %d and %q", args, code, problems, exitUsage, want)
		}
	}
	if code, out, _ := benchmark(t); code != exitOK || !strings.Contains(out, "isolation") {
		t.Errorf("without a command: exit code %d and\n%s", code, out)
	}
}

// The list of cases in the help is one that loads.
func TestExampleInTheHelpOfBenchLoads(t *testing.T) {
	_, help, _ := benchmark(t, "isolation", "--help")
	from, to := strings.Index(help, "[{"), strings.Index(help, "}]")
	if from < 0 || to < from {
		t.Fatalf("there is no list in\n%s", help)
	}
	dir := writeFiles(t, map[string]string{"attacks.json": help[from : to+2], "loop.js": "for (;;);", "plant.js": "return 1", "peek.js": `return "nothing"`})
	if code, out, problems := benchmark(t, "isolation", "--cases", dir, "--filter", "leaks"); code != exitOK {
		t.Errorf("exit code %d\n%s%s", code, out, problems)
	}
}
