package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/cachetest"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/checktest"
)

// decider is a person who answers calls and questions with a function.
type decider struct {
	answer func(*prompt.Request) call.Answer
}

func (d decider) Name() string { return "desktop" }

func (d decider) Ask(_ context.Context, r *approvals.Showing) (call.Answer, error) {
	reply := d.answer(r.Request)
	reply.Typed, reply.By = true, "local:anna"
	return reply, nil
}

// recordedRuns keeps a record of what programs do under a configuration, and gives the folder of it.
func recordedRuns(t *testing.T, rules string, run func(e *codemode.Evaluator)) (dir string) {
	t.Helper()
	dir = t.TempDir()
	cfg, err := config.Parse("codemode.json", []byte(rules))
	checktest.OK(t, err)
	e, err := codemode.New(t.Context(), codemode.Options{Config: cfg, RecordDir: dir, StateDir: dir,
		CacheDir: cachetest.Dir()})
	checktest.OK(t, err)
	run(e)
	checktest.OK(t, e.Close(t.Context()))
	return dir
}

// commandOut runs codemode with arguments and what it printed.
func commandOut(t *testing.T, args ...string) (code int, out, problems string) {
	t.Helper()
	var o, e bytes.Buffer
	code = runMain(t, cli.Streams{In: strings.NewReader(""), Out: &o, Err: &e}, args...)
	return code, o.String(), e.String()
}

const writesAfterAsking = `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"asklist": ["time__*"], "remember": {"scopes": ["run"]}}}}}`

// Whoever reads the record learns who allowed a call, for how long, and by which grant a later one went through.
func TestAuditSaysWhoAnsweredScopeAndGrant(t *testing.T) {
	dir := recordedRuns(t, writesAfterAsking, func(e *codemode.Evaluator) {
		person := decider{func(*prompt.Request) call.Answer {
			return call.Answer{Allowed: true, Scope: call.ForRun}
		}}
		r, err := e.Eval(t.Context(), codemode.Request{Unrestricted: true, Code: "await codemode.time__now({}); await codemode.time__now({})",
			Channels: []approvals.Channel{person}})
		if err != nil {
			t.Fatal(r.Text(err))
		}
	})
	_, list, problems := commandOut(t, "audit", "list", "--state", dir)
	for _, part := range []string{"by=person/desktop", "who=local:anna", "scope=run", "by=grant", "grant=g"} {
		if !strings.Contains(list, part) {
			t.Errorf("audit list does not say %q:\n%s%s", part, list, problems)
		}
	}
	run := ""
	for _, field := range strings.Fields(list) {
		if strings.HasPrefix(field, "r_") {
			run, _, _ = strings.Cut(field, "#")
		}
	}
	_, show, _ := commandOut(t, "audit", "show", run, "--state", dir)
	for _, part := range []string{"decided by person/desktop (local:anna), scope run", ", grant g"} {
		if !strings.Contains(show, part) {
			t.Errorf("audit show does not say %q:\n%s", part, show)
		}
	}
}

// What a program asks in its own words is no call, and an accepted answer no refusal.
func TestAcceptedQuestionsAreNoRefusals(t *testing.T) {
	dir := recordedRuns(t, writesAfterAsking, func(e *codemode.Evaluator) {
		person := decider{func(*prompt.Request) call.Answer {
			return call.Answer{Allowed: true, Selected: []int{0}}
		}}
		r, err := e.Eval(t.Context(),
			codemode.Request{Unrestricted: true, Code: `return codemode.ask_user({question: "Which?", options: ["a", "b"]})`,
				Channels: []approvals.Channel{person}})
		if err != nil {
			t.Fatal(r.Text(err))
		}
	})
	_, out, problems := commandOut(t, "audit", "report", "--json", "--state", dir)
	var report struct {
		Rules     []any
		Questions map[string]int
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err, problems)
	}
	if len(report.Rules) != 0 || len(report.Questions) != 1 {
		t.Errorf("got %s", out)
	}
	file := filepath.Join(t.TempDir(), "record.jsonl")
	if code, _, problems := commandOut(t, "audit", "export", "-o", file, "--state", dir); code != cli.ExitOK {
		t.Fatal(problems)
	}
	rules := filepath.Join(writeFiles(t, map[string]string{"codemode.json": writesAfterAsking}), "codemode.json")
	if _, out, problems := commandOut(t, "profiles", "replay", file, "--config", rules); !strings.HasPrefix(out,
		"0 calls") {
		t.Errorf("the question counts as a call:\n%s%s", out, problems)
	}
}

// An old record has calls under profiles that were renamed since.
func TestReplayGoesOnWhereAProfileIsGone(t *testing.T) {
	entry := func(run, profile string) string {
		return fmt.Sprintf(`{"kind":"call","state":"running","run":%q,"call":1,"profile":%q,"server":"time","tool":"time__now","verdict":"allow","decidedBy":{"how":"rule"},"args":{"redacted":{}}}`, run, profile)
	}
	dir := writeFiles(t, map[string]string{
		"codemode.json": `{"evaluation": {"profiles": {"p": {"denylist": ["time__now"]}}}}`,
		"record.jsonl":  entry("r_1", "old") + "\n" + entry("r_2", "p") + "\n",
	})
	rules, record := filepath.Join(dir, "codemode.json"), filepath.Join(dir, "record.jsonl")
	code, out, problems := commandOut(t, "profiles", "replay", record, "--config", rules)
	if code != cli.ExitOK || !strings.Contains(out, "time__now: allow -> deny") ||
		!strings.Contains(out, `not replayed: 1 call under the profile "old"`) {
		t.Errorf("exit code %d\n%s%s", code, out, problems)
	}
	if code, _, problems := commandOut(t, "profiles", "replay", record, "--config", rules, "--profile",
		"none"); code != cli.ExitUsage {
		t.Errorf("a profile that a person names and that is not there: exit code %d, %s", code, problems)
	}
}
