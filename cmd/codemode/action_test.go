package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"go.yaml.in/yaml/v3"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/bench/engine"
	"github.com/codemode-project/codemode/internal/bench/sarif/sariftest"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
)

// An action is a composite action of GitHub: what action.yml uses of it, and nothing else.
type action struct {
	Name, Description, Author string
	Branding                  map[string]string
	Inputs                    map[string]struct{ Description, Default string }
	Outputs                   map[string]struct{ Description, Value string }
	Runs                      struct {
		Using string
		Steps []actionStep
	}
}

type actionStep struct {
	Name, ID, If, Uses, Shell, Run string
	With, Env                      map[string]string
}

func readAction(t *testing.T) *action {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(readText(t, filepath.Join(checkout, "action.yml"))))
	d.KnownFields(true)
	a := &action{}
	checktest.OK(t, d.Decode(a))
	if a.Runs.Using != "composite" {
		t.Fatalf("it is no composite action, but %q", a.Runs.Using)
	}
	return a
}

// A job is a runner of GitHub Actions with a checkout, which runs one step: the action.
type job struct {
	t         *testing.T
	workspace string
	env       []string // more than a runner sets
}

func newJob(t *testing.T, files map[string]string) *job {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash here, in which the steps run")
	}
	return &job{t: t, workspace: writeFiles(t, files)}
}

// A jobResult is what became of the action.
type jobResult struct {
	failed  string // the step that failed; "" if none did
	code    int    // of that step
	log     string
	summary string
	outputs map[string]string
	used    []actionStep // with the values of their inputs; they did not run
}

// An expression of GitHub Actions is a value of one of these contexts.
var (
	anExpression = regexp.MustCompile(`\$\{\{ *([^}]*?) *\}\}`)
	aComparison  = regexp.MustCompile(`^(\S+) (==|!=|<) (\S+)$`)
)

// run runs the steps one after the other. After one that failed, no other runs.
func (j *job) run(inputs map[string]string) (r jobResult) {
	j.t.Helper()
	a := readAction(j.t)
	contexts := map[string]string{"github.token": "a-token"}
	for name, input := range a.Inputs {
		contexts["inputs."+name] = input.Default
	}
	for name, value := range inputs {
		if _, ok := a.Inputs[name]; !ok {
			j.t.Fatalf("the action has no input %q", name)
		}
		contexts["inputs."+name] = value
	}
	look := func(name string) string {
		value, ok := contexts[name]
		if !ok && !strings.HasPrefix(name, "steps.") { // a step that did not run has no outputs
			j.t.Fatalf("there is no %q", name)
		}
		return value
	}
	expand := func(text string) string {
		return anExpression.ReplaceAllStringFunc(text, func(e string) string {
			return look(anExpression.FindStringSubmatch(e)[1])
		})
	}
	for _, s := range a.Runs.Steps {
		if s.If != "" && !j.holds(s.If, look) {
			continue
		}
		if s.Uses != "" {
			used := actionStep{Name: s.Name, Uses: s.Uses, With: map[string]string{}}
			for name, value := range s.With {
				used.With[name] = expand(value)
			}
			r.used = append(r.used, used)
			continue
		}
		outputs, code := j.step(&s, expand, &r)
		if code != 0 {
			r.failed, r.code = s.Name, code
			break
		}
		for name, value := range outputs {
			contexts["steps."+s.ID+".outputs."+name] = value
		}
	}
	r.outputs = map[string]string{}
	for name, output := range a.Outputs {
		r.outputs[name] = expand(output.Value)
	}
	return r
}

// holds evaluates comparisons with && between them. Texts are compared without case, and with < as numbers.
func (j *job) holds(condition string, look func(string) string) bool {
	for _, part := range strings.Split(condition, " && ") {
		m := aComparison.FindStringSubmatch(part)
		if m == nil {
			j.t.Fatalf("the condition %q is of no form that is known", part)
		}
		value := func(word string) string {
			if text, ok := strings.CutPrefix(word, "'"); ok {
				return strings.TrimSuffix(text, "'")
			}
			if _, err := strconv.Atoi(word); err == nil {
				return word
			}
			return look(word)
		}
		left, right := value(m[1]), value(m[3])
		holds := strings.EqualFold(left, right) == (m[2] == "==")
		if m[2] == "<" {
			a, _ := strconv.Atoi(left) // "" is 0
			b, _ := strconv.Atoi(right)
			holds = a < b
		}
		if !holds {
			return false
		}
	}
	return true
}

// step runs a script as a runner does: bash --noprofile --norc -eo pipefail FILE.
func (j *job) step(s *actionStep, expand func(string) string, r *jobResult) (outputs map[string]string, code int) {
	j.t.Helper()
	if s.Shell != "bash" {
		j.t.Fatalf("%s: there is no shell %q", s.Name, s.Shell)
	}
	temp := j.t.TempDir()
	script := filepath.Join(temp, "script.sh")
	for name, text := range map[string]string{"script.sh": s.Run, "output": "", "summary": ""} {
		write(j.t, filepath.Join(temp, name), text)
	}
	cmd := exec.CommandContext(j.t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", script)
	cmd.Dir = j.workspace
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + temp, "XDG_CACHE_HOME=" + cachetest.Dir(),
		asCommand + "=codemode", "CI=true", "RUNNER_OS=Linux", "RUNNER_ARCH=X64", "RUNNER_TEMP=" + temp,
		"GITHUB_OUTPUT=" + filepath.Join(temp, "output"), "GITHUB_STEP_SUMMARY=" + filepath.Join(temp, "summary")}, j.env...)
	for name, value := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+expand(value))
	}
	out, err := cmd.CombinedOutput()
	if exit := (&exec.ExitError{}); err != nil && !errors.As(err, &exit) {
		j.t.Fatal(err)
	}
	r.log += string(out)
	r.summary += readText(j.t, filepath.Join(temp, "summary"))
	outputs = map[string]string{}
	for line := range strings.Lines(readText(j.t, filepath.Join(temp, "output"))) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !ok {
			j.t.Errorf("%s: %q is no output", s.Name, line)
		}
		outputs[name] = value
	}
	return outputs, cmd.ProcessState.ExitCode()
}

// read is a file of the checkout.
func (j *job) read(name string) string {
	j.t.Helper()
	return readText(j.t, filepath.Join(j.workspace, name))
}

// commandItself is a codemode for the input binary: this test binary.
func commandItself(t *testing.T) string {
	t.Helper()
	self, err := filepath.Abs(os.Args[0])
	checktest.OK(t, err)
	return self
}

// gojaEngine builds the driver of internal/bench/engines for goja, which is a module of its own, and returns its path.
func gojaEngine(t *testing.T) string {
	t.Helper()
	module := filepath.Join(checkout, "internal", "bench", "engines", "go")
	goCommand := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = module, append(os.Environ(), "CGO_ENABLED=0")
		return cmd.CombinedOutput()
	}
	if out, err := goCommand("mod", "download", "github.com/dop251/goja"); err != nil {
		t.Skipf("the module of goja cannot be fetched here: %v\n%s", err, out)
	}
	binary := filepath.Join(t.TempDir(), "goja")
	if out, err := goCommand("build", "-o", binary, "./goja"); err != nil {
		t.Fatalf("building the driver: %v\n%s", err, out)
	}
	return binary
}

// failures are the names of the cases of a JUnit report that failed, and how many cases it has.
func failures(t *testing.T, text string) (names []string, cases int) {
	t.Helper()
	var report struct {
		Suites []struct {
			Cases []struct {
				Name    string    `xml:"name,attr"`
				Failure *struct{} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	checktest.OK(t, xml.Unmarshal([]byte(text), &report))
	for _, s := range report.Suites {
		for _, c := range s.Cases {
			if cases++; c.Failure != nil {
				names = append(names, c.Name)
			}
		}
	}
	return names, cases
}

// states are the states of the results of a SARIF log against its baseline, in order.
func states(t *testing.T, text string) (all []string) {
	t.Helper()
	log, err := sariftest.Read([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	for _, run := range log.Runs {
		for _, r := range run.Results {
			state := "no baseline"
			if r.BaselineState != nil {
				state = *r.BaselineState
			}
			all = append(all, state)
		}
	}
	return all
}

// A team tests a sandbox of its own, first without and then with a baseline. goja fails these two cases on any machine:
// it puts one surrogate for another, and the driver ends when a text has two of them.
func TestTheActionOnASandbox(t *testing.T) {
	endToEnd(t)
	goja := gojaEngine(t)
	j := newJob(t, nil)
	checktest.OK(t, os.Rename(goja, filepath.Join(j.workspace, "goja")))
	known := []string{"b04_lone_surrogate_keys.js", "b05_separators_and_controls.js", "nothing computes after a run"}
	inputs := map[string]string{"binary": commandItself(t), "engine": "./goja", "filter": "b0[45]_*", "once": "true",
		"code-scanning": "true"}

	r := j.run(inputs)
	if r.failed != "Fail on findings" || r.code != 1 || r.outputs["code"] != "1" ||
		!strings.Contains(r.log, "::error::There are new findings") {
		t.Fatalf("with findings, the step %q ended with %d, the outputs are %v, and the log is\n%s", r.failed, r.code,
			r.outputs, r.log)
	}
	failed, cases := failures(t, j.read("codemode-isolation/isolation.xml"))
	if !slices.Equal(failed, known) || cases < 24 {
		t.Errorf("JUnit has %d cases and the failures %q, want the failures %q", cases, failed, known)
	}
	if got := states(t, j.read("codemode-isolation/isolation.sarif")); len(got) != len(known) || got[0] != "no baseline" {
		t.Errorf("the results of SARIF are %q", got)
	}
	if !strings.HasPrefix(r.summary, "# Isolation\n\n| engine | version |") ||
		!strings.Contains(r.summary, "| "+known[0]+" |") {
		t.Errorf("the summary is\n%s", r.summary)
	}
	if badge := j.read("codemode-isolation/isolation.svg"); !strings.Contains(badge, "#c62828") {
		t.Errorf("the badge is not red:\n%s", badge)
	}
	var steps []string
	for _, used := range r.used {
		steps = append(steps, used.Uses+" "+cmp.Or(used.With["sarif_file"], used.With["name"]+" "+used.With["path"]))
	}
	if want := []string{"actions/upload-artifact@v4 codemode-isolation codemode-isolation",
		"github/codeql-action/upload-sarif@v3 codemode-isolation"}; !slices.Equal(steps, want) {
		t.Errorf("it uses %q, want %q", steps, want)
	}

	// The report becomes the baseline: what is known does not fail the job.
	baseline := j.read("codemode-isolation/isolation.json")
	write(t, filepath.Join(j.workspace, "known.json"), baseline)
	inputs["baseline"] = "known.json"
	r = j.run(inputs)
	if r.failed != "" || r.outputs["code"] != "0" || !strings.Contains(r.log, "No new findings.") {
		t.Errorf("with the baseline, the step %q ended with %d, and the log is\n%s", r.failed, r.code, r.log)
	}
	got := states(t, j.read("codemode-isolation/isolation.sarif"))
	if !slices.Equal(got, []string{"unchanged", "unchanged", "unchanged"}) {
		t.Errorf("the results of SARIF are %q", got)
	}
	if badge := j.read("codemode-isolation/isolation.svg"); !strings.Contains(badge, "#8d6e00") {
		t.Errorf("the badge is not brown:\n%s", badge)
	}

	// Of a finding that the baseline lacks, the job fails.
	var board engine.Scoreboard
	checktest.OK(t, json.Unmarshal([]byte(baseline), &board))
	for i := range board.Engines[0].Cases {
		if c := &board.Engines[0].Cases[i]; c.Case == known[0] {
			c.Findings = nil
		}
	}
	text, err := json.Marshal(board)
	checktest.OK(t, err)
	write(t, filepath.Join(j.workspace, "known.json"), string(text))
	r = j.run(inputs)
	if r.failed != "Fail on findings" || r.code != 1 {
		t.Errorf("with a finding less in the baseline, the step %q ended with %d, and the log is\n%s", r.failed, r.code,
			r.log)
	}
	if failed, _ := failures(t, j.read("codemode-isolation/isolation.xml")); !slices.Equal(failed, known[:1]) {
		t.Errorf("failed %q, want %q", failed, known[:1])
	}
	got = states(t, j.read("codemode-isolation/isolation.sarif"))
	if !slices.Equal(got, []string{"new", "unchanged", "unchanged"}) {
		t.Errorf("the results of SARIF are %q", got)
	}
}

// plantedRules are the configurations of a test of package policy: one with a weakness, and the same one mended. The
// tools are in a file, as codemode profiles lint --save-tools writes it.
func plantedRules(t *testing.T) map[string]string {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join(checkout, "internal", "bench", "policy", "testdata", "traversal.txtar"))
	checktest.OK(t, err)
	files := map[string]string{}
	for _, f := range a.Files {
		switch f.Name {
		case "codemode.json", "mended.json":
			files[f.Name] = strings.Replace(string(f.Data), "SERVERS", `{"files": {"command": "no-such-server"}}`, 1)
		case "tools/files.json":
			files["tools.json"] = `{"files": ` + string(f.Data) + `}`
		}
	}
	if len(files) != 3 {
		t.Fatalf("the archive has %d of three files", len(files))
	}
	return files
}

// What the action does with codemode itself, with rules, and with what cannot be tested.
func TestTheAction(t *testing.T) {
	endToEnd(t)
	files := plantedRules(t)
	files["broken"] = "#!/bin/sh\necho 'no more' >&2\nexit 3\n"
	files["known.json"] = "{}"
	files["weak/isolation.md"], files["weak/policy.sarif"] = "of another day", "of another day"
	for _, test := range []struct {
		name    string
		inputs  string // NAME=VALUE, with ; between them
		code    int
		log     string // in the log
		summary string // in the summary
		files   string // that are there afterwards
	}{
		{"codemode itself", "filter=s29_*", 0, "No new findings.", "# Isolation\n\n| class |",
			"isolation.json isolation.md isolation.sarif isolation.svg isolation.xml"},
		{"a broken engine", "engine=./broken;filter=s29_*", 5, "no more", "could not be tested",
			"isolation.json isolation.md isolation.sarif isolation.svg isolation.xml"},
		{"an engine that is not there", "engine=./nowhere;filter=s29_*", 5, "::error::The suite is not complete", "", ""},
		{"no such case", "filter=nothing_*", 2, "no case matches", "", "none"},
		{"no such suite", "cases=nowhere", 2, "nowhere", "", "none"},
		{"a baseline that is none", "engine=./broken;baseline=known.json", 2, "it is no report of bench isolation", "",
			"none"},
		{"a baseline without an engine", "baseline=known.json;filter=s29_*", 2, "--baseline needs --engine", "", "none"},
		{"no such engines", "engines=nowhere.json", 2, "nowhere.json", "", "none"},
		{"weak rules", "config=codemode.json;tools=tools.json", 1, "::error::There are new findings",
			"# Rules\n\n| severity |", "policy.json policy.md policy.sarif policy.xml"},
		{"mended rules", "config=mended.json;tools=tools.json", 0, "No new findings.", "no findings",
			"policy.json policy.md policy.sarif policy.xml"},
		{"rules over a server that does not start", "config=codemode.json", 5, "no server listed its tools", "", "none"},
		{"no such rules", "config=nowhere.json;reports=weak", 2, "nowhere.json", "", "none"}, // nor what was there before
		{"weak rules, and a broken engine", "config=codemode.json;tools=tools.json;engine=./broken;filter=s29_*", 5,
			"no more", "# Rules", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, files)
			checktest.OK(t, os.Chmod(filepath.Join(j.workspace, "broken"), 0o700))
			inputs := map[string]string{"binary": commandItself(t), "once": "true", "code-scanning": "true"}
			for _, pair := range strings.Split(test.inputs, ";") {
				name, value, _ := strings.Cut(pair, "=")
				inputs[name] = value
			}
			r := j.run(inputs)
			if r.code != test.code || r.outputs["code"] != strconv.Itoa(test.code) || !strings.Contains(r.log, test.log) {
				t.Errorf("exit code %d, outputs %v, want %d and %q in\n%s", r.code, r.outputs, test.code, test.log, r.log)
			}
			if test.summary == "" && test.files == "none" && r.summary != "" || !strings.Contains(r.summary, test.summary) {
				t.Errorf("want %q, the summary is\n%s", test.summary, r.summary)
			}
			sent := slices.ContainsFunc(r.used, func(s actionStep) bool { return strings.Contains(s.Uses, "upload-sarif") })
			if sent != (test.code < 2) {
				t.Errorf("code scanning gets the report: %t, with the exit code %d", sent, test.code)
			}
			reports := filepath.Join(j.workspace, cmp.Or(inputs["reports"], "codemode-isolation"))
			entries, err := os.ReadDir(reports)
			checktest.OK(t, err)
			var names []string
			for _, e := range entries {
				names = append(names, e.Name())
				text := readText(t, filepath.Join(reports, e.Name()))
				switch filepath.Ext(e.Name()) {
				case ".sarif":
					states(t, text)
				case ".xml":
					failures(t, text)
				}
			}
			if got := cmp.Or(strings.Join(names, " "), "none"); test.files != "" && got != test.files {
				t.Errorf("the reports are %s, want %s", got, test.files)
			}
		})
	}
}

// Each input arrives as one word of a command, whatever is in it, and no input is a part of a script.
func TestInputsOfTheActionStayData(t *testing.T) {
	a := readAction(t)
	for _, s := range a.Runs.Steps {
		if strings.Contains(s.Run, "${{") {
			t.Errorf("%s: an expression is in the script, where its value would be run", s.Name)
		}
	}
	const hostileInput = "a'b\" $(touch pwned) `touch pwned` ; touch pwned #"
	for _, test := range []struct{ input, flag, beside string }{
		{"engine", "--engine", ""}, {"engines", "--engines", ""}, {"config", "--config", ""},
		{"tools", "--tools", "config"}, {"cases", "--cases", ""}, {"filter", "--filter", ""},
		{"baseline", "--baseline", ""}, {"reports", "--out", ""}, {"once", "", ""}, {"core", "", ""},
		{"artifact", "", ""}, {"code-scanning", "", ""}, {"binary", "", ""}, {"version", "", ""},
	} {
		delete(a.Inputs, test.input)
		for _, value := range []string{hostileInput, "--version", "-x"} {
			j := newJob(t, map[string]string{"codemode": "#!/bin/sh\nfor word; do echo \"word:$word\"; done\n", "x": ""})
			checktest.OK(t, os.Chmod(filepath.Join(j.workspace, "codemode"), 0o700))
			inputs := map[string]string{"binary": "./codemode", test.input: value}
			if test.beside != "" {
				inputs[test.beside] = "beside"
			}
			if test.input == "version" { // which matters without a binary, where gh downloads it
				inputs["binary"] = ""
				j.env = []string{"PATH=" + filepath.Dir(fakeGH(t)) + string(filepath.ListSeparator) + os.Getenv("PATH")}
			}
			r := j.run(inputs)
			if _, err := os.Stat(filepath.Join(j.workspace, "pwned")); err == nil {
				t.Errorf("%s: its value was run", test.input)
			}
			want := "word:" + test.flag + "\nword:" + value
			if test.input == "reports" {
				want += "/isolation.json"
			}
			if test.flag != "" && !strings.Contains(r.log, want+"\n") {
				t.Errorf("%s: the flag is not there in\n%s", test.input, r.log)
			}
		}
	}
	j := newJob(t, map[string]string{"codemode": "#!/bin/sh\nfor word; do echo \"word:$word\"; done\n"})
	checktest.OK(t, os.Chmod(filepath.Join(j.workspace, "codemode"), 0o700))
	j.env = []string{"CODEMODE_BIN=./codemode"}
	if r := j.run(map[string]string{"engine": "x"}); !strings.Contains(r.log, "word:--engine\nword:x\n") {
		t.Errorf("without the input binary, CODEMODE_BIN is not started:\n%s", r.log)
	}
	for name := range a.Inputs {
		t.Errorf("say here what becomes of the input %q", name)
	}
}

// fakeGH is a program gh that "downloads" the files of the folder FAKE_RELEASE that the patterns of its arguments take,
// and notes its arguments there.
func fakeGH(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gh")
	err := os.WriteFile(path, []byte(`#!/bin/bash
[ -n "$GH_TOKEN" ] || { echo "there is no token" >&2; exit 4; }
[ -n "$FAKE_RELEASE" ] || { echo "there is no release" >&2; exit 1; }
echo "$@" > "$FAKE_RELEASE/arguments"
while [ $# -gt 0 ]; do
  if [ "$1" = --pattern ]; then cp "$FAKE_RELEASE"/$2 . || exit 1; shift; fi
  shift
done
`), 0o700)
	checktest.OK(t, err)
	return path
}

// archived is an archive with one file, codemode.
func archived(t *testing.T, name, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	if strings.HasSuffix(name, ".zip") {
		w := zip.NewWriter(&b)
		head := &zip.FileHeader{Name: "codemode"}
		head.SetMode(0o755)
		f, err := w.CreateHeader(head)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	compressed := gzip.NewWriter(&b)
	w := tar.NewWriter(compressed)
	err := w.WriteHeader(&tar.Header{Name: "codemode", Mode: 0o755, Size: int64(len(text))})
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err = errors.Join(err, w.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The action installs the archive of a release for the system of the runner, if its sum is the one of the release.
func TestTheActionInstallsARelease(t *testing.T) {
	const installed = "#!/bin/sh\necho installed\n"
	for _, test := range []struct {
		name      string
		runner    string // RUNNER_OS and RUNNER_ARCH
		archive   string // of the release
		checksums string // what is done to checksums.txt
		version   string
		fails     bool
		want      string // in the arguments of gh; if it fails, in the log
	}{
		{"on Linux", "Linux X64", "codemode_0.1.0_linux_amd64.tar.gz", "", "", false,
			"release download --repo codemode-project/codemode"},
		{"on Linux, ARM", "Linux ARM64", "codemode_0.1.0_linux_arm64.tar.gz", "", "", false, "codemode_*_linux_arm64.tar.gz"},
		{"on macOS", "macOS ARM64", "codemode_0.1.0_darwin_arm64.tar.gz", "", "", false, "codemode_*_darwin_arm64.tar.gz"},
		{"on Windows", "Windows X64", "codemode_0.1.0_windows_amd64.zip", "", "", false, "codemode_*_windows_amd64.zip"},
		{"a version", "Linux X64", "codemode_0.1.0_linux_amd64.tar.gz", "", "v0.1.0", false, " -- v0.1.0\n"},
		{"another sum", "Linux X64", "codemode_0.1.0_linux_amd64.tar.gz", "wrong", "", true, "FAILED"},
		{"no sum of the archive", "Linux X64", "codemode_0.1.0_linux_amd64.tar.gz", "other", "", true,
			"no file was verified"},
		{"no sums", "Linux X64", "codemode_0.1.0_linux_amd64.tar.gz", "none", "", true, "checksums.txt"},
		{"no archive for the system", "Linux ARM64", "codemode_0.1.0_linux_amd64.tar.gz", "", "", true, "linux_arm64"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if strings.HasSuffix(test.archive, ".zip") {
				if _, err := exec.LookPath("unzip"); err != nil {
					t.Skip("there is no unzip here, which runners with Windows have")
				}
			}
			archive := archived(t, test.archive, installed)
			sums := fmt.Sprintf("%x  %s\n%x  another.deb\n", sha256.Sum256(archive), test.archive, sha256.Sum256(nil))
			switch test.checksums {
			case "wrong":
				sums = strings.Replace(sums, sums[:8], "00000000", 1)
			case "other":
				_, sums, _ = strings.Cut(sums, "\n")
			}
			release := map[string]string{test.archive: string(archive), "checksums.txt": sums}
			if test.checksums == "none" {
				delete(release, "checksums.txt")
			}
			folder := writeFiles(t, release)
			j := newJob(t, nil)
			system, machine, _ := strings.Cut(test.runner, " ")
			j.env = []string{"FAKE_RELEASE=" + folder, "RUNNER_OS=" + system, "RUNNER_ARCH=" + machine,
				"PATH=" + filepath.Dir(fakeGH(t)) + string(filepath.ListSeparator) + os.Getenv("PATH")}
			r := j.run(map[string]string{"version": cmp.Or(test.version, "latest")})
			if test.fails {
				if r.failed != "Install codemode" || strings.Contains(r.log, "installed") || !strings.Contains(r.log, test.want) {
					t.Errorf("the step %q failed, want %q in\n%s", r.failed, test.want, r.log)
				}
				return
			}
			arguments := readText(t, filepath.Join(folder, "arguments"))
			if r.failed != "" || !strings.Contains(r.log, "installed\n") || !strings.Contains(arguments, test.want) {
				t.Errorf("the step %q failed, gh had the arguments %q, and the log is\n%s", r.failed, arguments, r.log)
			}
		})
	}
}

// The page about CI names every input of the action, and every exit code that the commands have.
func TestThePageAboutCINamesEveryInput(t *testing.T) {
	page := readText(t, filepath.Join(checkout, "docs", "isolation-ci.md"))
	_, page, _ = strings.Cut(page, "\n## Inputs\n")
	page, codes, _ := strings.Cut(page, "\n## Exit codes\n")
	a := readAction(t)
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(page, -1) {
		if _, ok := a.Inputs[m[1]]; !ok {
			t.Errorf("there is no input %s", m[1])
		}
		delete(a.Inputs, m[1])
	}
	for name := range a.Inputs {
		t.Errorf("it does not name the input %s", name)
	}
	for _, code := range []int{cli.ExitOK, cli.ExitProgram, cli.ExitUsage, cli.ExitInternal} {
		if !strings.Contains(codes, fmt.Sprintf("\n| %d | ", code)) {
			t.Errorf("it does not say what the exit code %d means", code)
		}
	}
}
