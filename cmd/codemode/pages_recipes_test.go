package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// A recipe is a section of docs/recipes.md.
type recipe struct {
	title    string
	rules    string // a configuration with its profile; "" if that of the page decides
	programs []block
	outputs  []block // the last one is what the last program gives; one before it is the question
}

// inSessions are the recipes whose programs run in one session; withHandle those whose last program has the handle of
// the first one's result as input.
var (
	inSessions = []string{"Go on where the last program ended"}
	withHandle = []string{"Keep a large result, and page through it"}
)

// readRecipes takes the page apart: the configuration above the first section, and the sections.
func readRecipes(t *testing.T, name, text string) (rules string, all []*recipe) {
	t.Helper()
	lines := strings.Split(text, "\n")
	for _, b := range readPage(name, text).blocks {
		title := ""
		for _, line := range lines[:b.line] {
			if found, ok := strings.CutPrefix(line, "## "); ok {
				title = found
			}
		}
		if title == "" {
			rules = b.text
			continue
		}
		if len(all) == 0 || all[len(all)-1].title != title {
			all = append(all, &recipe{title: title})
		}
		switch r := all[len(all)-1]; b.language {
		case "json":
			r.rules = b.text
		case "ts":
			r.programs = append(r.programs, b)
		case "text":
			r.outputs = append(r.outputs, b)
		default:
			t.Errorf("%s: nothing runs a block of %q", b.at(), b.language)
		}
	}
	return rules, all
}

// TestTheRecipes runs the programs of docs/recipes.md on the servers of testdata/npm, which it starts once.
func TestTheRecipes(t *testing.T) {
	t.Parallel()
	npm := npmDir(t)
	const name = "docs/recipes.md"
	text := readText(t, filepath.Join(checkout, name))
	rules, all := readRecipes(t, name, text)
	if len(all) < 20 {
		t.Errorf("the page has %d recipes", len(all))
	}
	folder, err := filepath.EvalSymlinks(t.TempDir())
	checktest.OK(t, err)
	work := filepath.Join(folder, "work")
	checktest.OK(t, os.CopyFS(work, os.DirFS(filepath.Join(checkout, "testdata", "recipes"))))
	home := newNewcomer(t, nil)
	home.installNPX(npm)
	rules = strings.NewReplacer(`"npx"`, fmt.Sprintf("%q", filepath.Join(home.bin, "npx")),
		`"work"]`, fmt.Sprintf("%q]", work),
		`"/home/you/work/memory.json"`, fmt.Sprintf("%q", filepath.Join(folder, "memory.json"))).Replace(rules)
	e := openRecipes(t, rules, all)
	for _, r := range all {
		t.Run(r.title, func(t *testing.T) {
			question, output := r.run(t, e)
			output = aBlankAtAnEnd.ReplaceAllString(output, "\n")
			got := []string{strings.ReplaceAll(output, folder, "/home/you")}
			if len(r.outputs) == 2 {
				got = []string{strings.ReplaceAll(question, folder, "/home/you"), got[0]}
			}
			if len(r.outputs) != len(got) {
				t.Fatalf("the page shows %d outputs", len(r.outputs))
			}
			for i, b := range r.outputs {
				if sameOutput(got[i], b.text) {
					continue
				}
				if !updatePages {
					t.Errorf("%s shows\n%s\nand the program gives\n%s", b.at(), b.text, got[i])
				}
				last := r.programs[len(r.programs)-1].text
				at := strings.Index(text, last) + len(last)
				for range i {
					at += strings.Index(text[at:], "```text\n") + 8
				}
				at += strings.Index(text[at:], "```text\n") + 8
				text = text[:at] + strings.TrimRight(got[i], "\n") + "\n" + text[at+len(b.text):]
			}
		})
	}
	if updatePages {
		write(t, filepath.Join(checkout, name), text)
	}
}

// openRecipes opens an Evaluator with the rules of the page and of its recipes, and waits for the servers.
func openRecipes(t *testing.T, rules string, all []*recipe) *codemode.Evaluator {
	t.Helper()
	var file map[string]any
	checktest.OK(t, json.Unmarshal([]byte(rules), &file))
	profiles := file["evaluation"].(map[string]any)["profiles"].(map[string]any)
	for _, r := range all {
		maps.Copy(profiles, r.profiles(t))
		var more struct{ Budgets []any }
		checktest.OK(t, json.Unmarshal([]byte(cmp.Or(r.rules, "{}")), &more))
		if more.Budgets != nil {
			file["budgets"] = more.Budgets
		}
	}
	text, err := json.Marshal(file)
	checktest.OK(t, err)
	cfg, err := config.Parse("codemode.json", text)
	checktest.OK(t, err)
	e, err := codemode.New(t.Context(), codemode.Options{Config: cfg, CacheDir: cachetest.Dir(), RecordDir: t.TempDir()})
	checktest.OK(t, err)
	t.Cleanup(func() { e.Close(context.Background()) })
	ready := `const all = await codemode.search_tools({ query: "", limit: 200 });
		return ["files__", "memory__", "demo__"].every((s) => all.some((t) => t.name.startsWith(s)))`
	if !testwait.Holds(func() bool {
		yes, _, err := codemode.Eval[bool](t.Context(), e, codemode.Request{Unrestricted: true, Code: ready})
		return err == nil && yes
	}) {
		t.Fatal("the servers do not start")
	}
	return e
}

// profiles has the one profile of a recipe, or none.
func (r *recipe) profiles(t *testing.T) map[string]any {
	t.Helper()
	var file struct {
		Evaluation struct{ Profiles map[string]any }
	}
	if r.rules == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(r.rules), &file); err != nil || len(file.Evaluation.Profiles) != 1 {
		t.Errorf("%s: one profile is wanted: %v", r.title, err)
	}
	return file.Evaluation.Profiles
}

// run runs the programs of a recipe, and returns the first question and what the last program gives to a model.
func (r *recipe) run(t *testing.T, e *codemode.Evaluator) (question, output string) {
	t.Helper()
	profile := "work"
	for name := range r.profiles(t) {
		profile = name
	}
	var input json.RawMessage
	for i, b := range r.programs {
		person := &onePerson{answer: b.answer}
		request := codemode.Request{Profile: profile, Code: b.text, Name: "program.ts", Input: input, Principal: "you",
			Channels: []approvals.Channel{approvals.Approver("page", person.decide)}}
		if slices.Contains(inSessions, r.title) {
			request.Session = "recipes"
		}
		response, err := e.Eval(t.Context(), request)
		output = response.Text(err)
		if err != nil {
			t.Errorf("%s: %v\n%s", b.at(), err, output)
		}
		if (person.question != "") != (b.answer != "") {
			t.Errorf("%s: the page says to answer %q, and the question is %q", b.at(), b.answer, person.question)
		}
		question = person.question
		if slices.Contains(withHandle, r.title) && i == 0 {
			if len(response.Kept) != 1 {
				t.Fatalf("%s: nothing is kept:\n%s", b.at(), output)
			}
			if input, err = json.Marshal(response.Kept[0].Handle); err != nil {
				t.Fatal(err)
			}
		}
	}
	return question, output
}

// A onePerson is a person who gives one answer to every question.
type onePerson struct {
	answer   string
	mu       sync.Mutex
	question string // the first one
}

func (p *onePerson) decide(_ context.Context, q *prompt.Request) (call.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.question == "" {
		p.question = prompt.Text(q, prompt.RenderOptions{})
	}
	return call.Answer{Allowed: p.answer == "yes"}, nil
}
