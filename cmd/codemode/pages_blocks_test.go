package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/config/tenants"
	"github.com/codemode-project/codemode/internal/isolation"
)

// ownTest are the pages with a test of their own: it runs their blocks in the order of the page, with real servers.
var ownTest = map[string]string{
	"docs/tutorial.md": "TestTheTutorial",
	"docs/recipes.md":  "TestTheRecipes",
}

// notExecuted are the languages that nothing executes. TestThePagesForEmbeddersShowWhatRuns, in the root package,
// compares each block of Go with a test.
var notExecuted = map[string]string{
	"go":   "compared with what tests run",
	"text": "pictures, and messages that other tests compare",
	"http": "a header",
	"sql":  "for a database of others",
}

// written are the pages that TestReference writes: the examples of the help, which people run with what they have, and
// declarations. TestTheCommandsOfThePages reads their commands.
const written = "docs/reference/"

// TestEveryBlockOfThePages: each block names its language, configurations are read as codemode reads them, programs
// run or are checked as codemode check does, and files of others name commands and flags that exist.
func TestEveryBlockOfThePages(t *testing.T) {
	pages := readPages(t)
	for _, problem := range pages.problems {
		t.Error(problem)
	}
	e, err := codemode.New(t.Context(), codemode.Options{Config: programRules(t), Servers: []codemode.Server{github()},
		CacheDir: cachetest.Dir()})
	checktest.OK(t, err)
	defer e.Close(t.Context())
	seen, languages := map[string]bool{}, map[string]bool{}
	for _, b := range pages.blocks {
		seen[b.name()], languages[b.language] = true, true
		var err error
		if strings.HasPrefix(b.page, written) && slices.Contains([]string{"ts", "sh"}, b.language) {
			continue
		}
		switch b.language {
		case "json", "jsonc":
			err = readJSON(t, b)
		case "ts", "js":
			err = runProgram(t.Context(), e, b)
		case "yaml":
			err = errors.Join(readManifest(b), readWorkflow(t, b))
		case "ini":
			err = readUnit(b)
		case "sh", "console":
			err = accountedFor(b)
		default:
			if notExecuted[b.language] == "" {
				err = fmt.Errorf("no test executes blocks of %q", b.language)
			}
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", b.at(), err, b.text)
		}
	}
	for name := range otherJSON {
		if !seen[name] {
			t.Errorf("no block begins so: %s", name)
		}
	}
	for name := range programs {
		if !seen[name] {
			t.Errorf("no program begins so: %s", name)
		}
	}
	tests := everyTest(t)
	for name, why := range notRun {
		if !seen[name] {
			t.Errorf("no block begins so: %s", name)
		}
		known := tests[aTest.FindString(why)]
		if _, file, ok := strings.Cut(why, "stories/"); ok {
			_, err := os.Stat(filepath.Join(checkout, "testdata", "stories", file))
			known = err == nil
		}
		if !known {
			t.Errorf("%s: there is no test that does it: %s", name, why)
		}
	}
	for _, s := range scripts {
		if !seen[s.block] {
			t.Errorf("no block begins so: %s", s.block)
		}
	}
	for language := range notExecuted {
		if !languages[language] {
			t.Errorf("no page has a block of %q: remove it from those that nothing executes", language)
		}
	}
}

var aTest = regexp.MustCompile(`\bTest[A-Z]\w+`)

// everyTest has the names of the tests of this package.
func everyTest(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	benches, err := filepath.Glob(filepath.Join(checkout, "internal", "bench", "*", "*_test.go"))
	checktest.OK(t, err)
	files = append(files, benches...)
	all := map[string]bool{}
	for _, file := range files {
		for _, line := range strings.Split(readText(t, file), "\n") {
			if rest, ok := strings.CutPrefix(line, "func Test"); ok {
				name, _, _ := strings.Cut("Test"+rest, "(")
				all[name] = true
			}
		}
	}
	return all
}

// otherJSON are the blocks that are no configuration, with what they are.
var otherJSON = map[string]string{
	`docs/notifications.md: { "type": "question.waiting", "timestamp`:   "a message to a webhook",
	`examples/chat/README.md: {"conversation":"MZ5Q...","reply":"On th`: "an answer of the example",
	`examples/chat/README.md: {"conversation": "MZ5Q...", "message": "`: "a message and its answer",
}

// readJSON reads a block as what it is.
func readJSON(t *testing.T, b block) error {
	t.Helper()
	if otherJSON[b.name()] != "" {
		d := json.NewDecoder(strings.NewReader(b.text))
		for {
			var v any
			if err := d.Decode(&v); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
	if b.page == "docs/isolation-protocol.md" {
		return readMessages(b)
	}
	path := filepath.Join(t.TempDir(), "codemode.json")
	if err := os.WriteFile(path, []byte(b.text), 0o600); err != nil {
		return err
	}
	if b.page == "docs/tenants.md" && strings.Contains(b.text, `"tenants"`) {
		t.Setenv("METRICS_TOKEN", "a-token-of-the-metrics")
		_, err := tenants.Load(path)
		return err
	}
	cfg := reads(t, b.at(), b.text, func(name string) (string, bool) {
		if strings.Contains(strings.ToLower(name), "database") {
			return "postgres://user:password@host/database", true
		}
		return "a-value-for-a-test-of-" + filepath.Base(name), true
	})
	if cfg == nil {
		return fmt.Errorf("it is no configuration; if it is something else, say what in otherJSON")
	}
	for _, w := range cfg.Warnings { // readers copy rules, so that none may be without effect
		if w.Shadowed {
			return errors.New(w.Message)
		}
	}
	var file struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
		}
	}
	text, err := config.Standard(b.at(), []byte(b.text))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return err
	}
	for _, s := range file.MCPServers {
		if err := checkCommand(append([]string{s.Command}, s.Args...)); err != nil &&
			(s.Command == "codemode" || slices.Contains(s.Args, "@codemode-project/codemode")) {
			return err
		}
	}
	return nil
}

// readMessages reads messages of the isolation protocol as the harness and engines read them, and knows every field.
func readMessages(b block) error {
	var all []json.RawMessage
	for d := json.NewDecoder(strings.NewReader(b.text)); ; {
		var message json.RawMessage
		if err := d.Decode(&message); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		all = append(all, message)
	}
	for _, message := range all {
		var head struct{ Type string }
		if err := json.Unmarshal(message, &head); err != nil {
			return err
		}
		var into any
		switch head.Type {
		case "hello":
			into = &struct {
				Type string
				isolation.Hello
			}{}
		case "run":
			into = &struct {
				Type string
				isolation.Run
			}{}
		case "call":
			into = &struct {
				Type string
				isolation.Call
			}{}
		case "answer":
			into = &struct {
				Type string
				isolation.Answer
			}{}
		case "outcome":
			into = &struct {
				Type string
				isolation.Outcome
			}{}
		default:
			return fmt.Errorf("there is no message %q", head.Type)
		}
		d := json.NewDecoder(bytes.NewReader(message))
		d.DisallowUnknownFields()
		if err := d.Decode(into); err != nil {
			return err
		}
	}
	return nil
}

// A pageProgram says how a program of a page runs.
type pageProgram struct {
	before string // what the text around it says, as code
	want   string // what it returns, as JSON; what its lines give, if it has no return. "": it is only checked
	why    string // why it is only checked
}

// programs are those of the pages, by the first line.
var programs = map[string]pageProgram{
	`docs/programs.md: const issues = await codemode.github__li`: {
		want: `["Page 7 is empty"]`},
	`docs/results.md: await codemode.load(handle) // all of it`: {
		before: `const rows = Array.from({ length: 2100 }, (_, i) => ({ name: "n" + i }));
			return { rows, log: Array(100).fill("a line\n").join(""), filler: "x".repeat(70000) };`,
		want: `[3,100,"n17",700,140]`},
	`docs/apis.md: const issues = await codemode.github.iss`: {
		why: "it needs the API: TestProgramsUseAnHTTPAPI"},
	`docs/results.md: const uri = await codemode.keep(picture)`: {
		before: `const picture = await codemode.camera__shoot({});`,
		why:    "no server here has pictures; a recipe keeps one"},
}

func programRules(t *testing.T) *config.Config {
	t.Helper()
	rules, err := config.Parse("rules.json", []byte(`{"evaluation": {"defaultProfile": "p", "profiles": {"p": {
		"allowlist": ["github__get_*", "github__list_*"]}}}}`))
	checktest.OK(t, err)
	return rules
}

// github has the tools that the program of docs/programs.md calls.
func github() codemode.Server {
	type repo struct {
		Owner string `json:"owner"`
		Repo  string `json:"repo"`
		State string `json:"state,omitzero"`
	}
	type issue struct {
		Number int    `json:"number"`
		Title  string `json:"title"`
		Body   string `json:"body"`
	}
	issues := []issue{{1, "Add a page", "It would help."}, {7, "Page 7 is empty", "After the crash it stays empty."}}
	return codemode.Server{Name: "github", Functions: []codemode.Function{
		codemode.Func("list_issues", "Lists issues.", func(_ context.Context, in repo) ([]issue, error) {
			short := slices.Clone(issues)
			for i := range short {
				short[i].Body = ""
			}
			return short, nil
		}, codemode.ReadOnly),
		codemode.Func("get_issue", "Gets an issue.", func(_ context.Context, in struct {
			Owner  string `json:"owner"`
			Repo   string `json:"repo"`
			Number int    `json:"issue_number"`
		}) (issue, error) {
			for _, i := range issues {
				if i.Number == in.Number {
					return i, nil
				}
			}
			return issue{}, fmt.Errorf("there is no issue %d", in.Number)
		}, codemode.ReadOnly),
	}}
}

// aLineThatAwaits is a call whose value the page does not use.
var aLineThatAwaits = regexp.MustCompile(`(?m)^await (.*?\))( *//.*)?$`)

// runProgram runs a program of a page, or checks it.
func runProgram(ctx context.Context, e *codemode.Evaluator, b block) error {
	p, ok := programs[b.name()]
	if !ok {
		if ownTest[b.page] != "" {
			return nil
		}
		return fmt.Errorf("say in programs what it returns, or why it is only checked")
	}
	code, input := b.text, json.RawMessage("null")
	switch {
	case strings.Contains(b.text, "await codemode.load(handle"):
		kept, err := e.Eval(ctx, codemode.Request{Unrestricted: true, Code: p.before})
		if err != nil || len(kept.Kept) != 1 {
			return fmt.Errorf("nothing is kept: %v", err)
		}
		if input, err = json.Marshal(kept.Kept[0].Handle); err != nil {
			return err
		}
		code = "const handle = input, all = [];\n" + aLineThatAwaits.ReplaceAllString(code, "all.push(await $1);") +
			"return all.map(v => typeof v === 'string' && v.length < 9 ? v : v.length ?? Object.keys(v).length)"
	default:
		code = p.before + "\n" + code
	}
	if p.want == "" {
		plan, err := e.Check(ctx, codemode.Request{Unrestricted: true, Code: code})
		if err == nil && len(plan.Problems) > 0 {
			err = analysis.Problems(plan.Problems)
		}
		return err
	}
	r, err := e.Eval(ctx, codemode.Request{Unrestricted: true, Code: code, Input: input})
	if err != nil {
		return fmt.Errorf("%s", r.Text(err))
	}
	if string(r.Value) != p.want {
		return fmt.Errorf("it returns %s, want %s", r.Value, p.want)
	}
	return nil
}

// readManifest reads YAML. What its containers start is a command that codemode has.
func readManifest(b block) error {
	var m manifest
	if err := yaml.Unmarshal([]byte(b.text), &m); err != nil {
		return err
	}
	for _, c := range m.Spec.Template.Spec.Containers {
		if err := understood(c.Args); err != nil {
			return err
		}
	}
	return nil
}

// readWorkflow reads a workflow of GitHub. The inputs that it gives our action are inputs that the action has.
func readWorkflow(t *testing.T, b block) error {
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses string
				With map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(b.text), &workflow); err != nil {
		return err
	}
	ours := 0
	for _, job := range workflow.Jobs {
		for _, step := range job.Steps {
			if !strings.HasPrefix(step.Uses, "codemode-project/codemode@") {
				continue
			}
			ours++
			for name := range step.With {
				if _, ok := readAction(t).Inputs[name]; !ok {
					return fmt.Errorf("the action has no input %q", name)
				}
			}
		}
	}
	if ours != strings.Count(b.text, "codemode-project/codemode@") {
		return fmt.Errorf("the action is somewhere else than in a step")
	}
	return nil
}

// readUnit reads units of systemd. What they start is a command that codemode has.
func readUnit(b block) error {
	found := false
	for line := range strings.Lines(b.text) {
		if args, ok := strings.CutPrefix(strings.TrimSpace(line), "ExecStart=/usr/bin/codemode "); ok {
			found = true
			if err := understood(strings.Fields(args)); err != nil {
				return err
			}
		}
	}
	if !found {
		return fmt.Errorf("it starts nothing")
	}
	return nil
}

// notRun are the blocks with commands of codemode that TestTheCommandsOfThePages does not run, and why. All the same
// TestEveryCommandOfThePages parses them.
var notRun = map[string]string{
	"README.md: $ go run ./cmd/codemode run --config tes":            "TestTheFirstRunOfTheReadme runs it",
	"README.md: go run ./cmd/codemode run --config testd":            "TestTheFirstRunOfTheReadme runs it",
	"README.md: codemode init --install":                             "it needs clients: stories/init-install.txtar",
	"docs/accounts.md: codemode login linear --principal acme:a":     "it needs a hosted server: TestLoginOfAPrincipal",
	"docs/clients.md: codemode init --install # shows a plan,":       "it needs clients: stories/init-install.txtar",
	"docs/compatibility.md: codemode version --check":                "it asks the repository: TestVersionCheck",
	"docs/deploying.md: codemode bench speed --quick":                "it measures: TestEveryExampleInTheHelpOfBenchRuns",
	"docs/isolation-ci.md: codemode bench isolation --engine ./my-s": "it needs a sandbox: TestTheActionOnASandbox",
	"docs/operations.md: codemode serve --http 127.0.0.1:8808 --d":   "it serves until it is stopped: TestServeOverHTTP",
	"docs/operations.md: codemode store check":                       "restore wants an empty place: stories/store.txtar",
	"docs/operations.md: codemode serve --http unix:/run/codemode":   "it serves until it is stopped: TestServeOverHTTP",
	"docs/policy-bench.md: $ codemode bench policy --config codemod": "it has findings: TestThePageAboutBenchPolicy",
	"docs/savings.md: codemode bench savings --data tau2-bench":      "it needs data of others: TestMeasureSavings",
	"docs/savings.md: codemode bench search --corpus corpus.js":      "it needs data of others: TestPlainQuestionsFindTools",
	"docs/tenants.md: codemode console --state STATE/tenants/a":      "it needs a process with tenants: TestPathsOfTenants",

	"docs/isolation-protocol.md: codemode bench isolation --engine ./mine": "it needs an engine: TestTheActionOnASandbox",
}

// A script is a block that is run.
type script struct {
	block   string
	files   map[string]string // what the text around it says is there; "" is a folder
	before  string            // commands
	replace string            // a folder of the page that the test has below its own
}

var scripts = []script{
	{block: "docs/configuration.md: CODEMODE_ALLOWLIST='time__*' CODEMODE_UN",
		files: map[string]string{"notes/a.md": "a"}},
	{block: "docs/deploying.md: codemode audit key --state ./first", before: "codemode run --state ./first -e 'return 1'"},
	{block: "docs/deploying.md: codemode doctor --config /etc/codemode/c",
		files: map[string]string{"etc/codemode/codemode.json": "{}"}, replace: "/etc/codemode"},
	{block: "docs/installing.md: codemode doctor"},
	{block: "docs/installing.md: codemode doctor --config /etc/codemode/c",
		files: map[string]string{"etc/codemode/codemode.json": "{}"}, replace: "/etc/codemode"},
	{block: "docs/isolation-ci.md: codemode profiles lint --config codemode",
		files: map[string]string{"codemode.json": "{}"}},
	{block: "docs/operations.md: codemode audit export --out record-2026-", before: "codemode run -e 'return 1'"},
	{block: "docs/policy-bench.md: codemode profiles lint --config codemode",
		files: map[string]string{"files/reports/a.md": "a", "codemode.json": `{"evaluation": {"profiles": {"work": {
			"allowlist": [{"tool": "filesystem__read_text_file", "when": {"/path": {"under": "reports"}}}]}}, "expose": ["work"]}}`}},
	{block: "docs/sessions.md: $ codemode run --session work -e 'let n"},
	{block: "docs/sessions.md: codemode sessions list",
		before: strings.Repeat("codemode run --session work -e 'var x = 1'\n", 3)},
}

// accountedFor returns an error if nothing runs the commands of a block, and nothing says why not.
func accountedFor(b block) error {
	all, err := shellCommands(commandsOf(b))
	if err != nil {
		return err
	}
	ours := slices.ContainsFunc(all, func(words []string) bool {
		return words[0] == "codemode" || strings.HasPrefix(strings.Join(words, " "), "go run ./cmd/codemode")
	})
	runs := slices.ContainsFunc(scripts, func(s script) bool { return s.block == b.name() })
	switch {
	case ownTest[b.page] != "" && (runs || notRun[b.name()] != ""):
		return fmt.Errorf("%s runs it already", ownTest[b.page])
	case ownTest[b.page] != "" || !ours && notRun[b.name()] == "":
		return nil
	case !ours:
		return fmt.Errorf("it has no command of codemode, and needs no reason for not being run")
	case runs == (notRun[b.name()] != ""):
		return fmt.Errorf("either run it (scripts), or say why not (notRun)")
	}
	return nil
}

// commandsOf is the script of a block.
func commandsOf(b block) string {
	if b.language == "console" {
		return strings.Join(typed(b.text), "\n") + "\n"
	}
	return b.text
}

// TestTheCommandsOfThePages runs commands of the pages in an empty home, and compares what a page shows of their
// output.
func TestTheCommandsOfThePages(t *testing.T) {
	endToEnd(t)
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh here")
	}
	byName := map[string]block{}
	for _, b := range readPages(t).blocks {
		byName[b.name()] = b
	}
	for _, s := range scripts {
		t.Run(s.block, func(t *testing.T) {
			t.Parallel()
			b := byName[s.block]
			home := newNewcomer(t, s.files)
			text := commandsOf(b)
			all, err := shellCommands(text)
			checktest.OK(t, err)
			if slices.ContainsFunc(all, func(words []string) bool { return words[0] != "codemode" }) { // only ours
				text = ""
				for _, words := range all {
					if words[0] == "codemode" {
						for i := range words {
							words[i] = cli.ShellWord(words[i])
						}
						text += strings.Join(words, " ") + "\n"
					}
				}
			}
			if s.replace != "" {
				text = strings.ReplaceAll(text, s.replace, filepath.Join(home.folder, s.replace))
			}
			if s.before != "" {
				home.run(s.before)
			}
			got := home.run(text)
			if b.language != "console" {
				return
			}
			if want := shown(b.text); !sameOutput(got, want) {
				t.Errorf("%s shows\n%s\nand it prints\n%s", b.at(), want, got)
			}
		})
	}
}
