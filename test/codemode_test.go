package codemode_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/cachetest"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/profiles"
	"github.com/codemode-project/codemode/sandbox"
)

// sharedEngine is compiled once for all tests.
var sharedEngine = sync.OnceValues(func() (*sandbox.Engine, error) {
	return sandbox.New(context.Background(), sandbox.Options{CacheDir: cachetest.Dir()})
})

// open makes an Evaluator over a folder with a few notes. config is the text
// of the configuration; "" is none.
func open(t *testing.T, rules string, change ...func(*codemode.Options)) *codemode.Evaluator {
	t.Helper()
	engine, err := sharedEngine()
	must(t, err)
	root := t.TempDir()
	for name, text := range map[string]string{"a.md": "alpha", "b.md": "beta"} {
		must(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	o := codemode.Options{Engine: engine, Root: root}
	if rules != "" {
		if o.Config, err = config.Parse("codemode.json", []byte(rules)); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range change {
		f(&o)
	}
	e, err := codemode.New(t.Context(), o)
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return e
}

// person answers questions and remembers them.
type person struct {
	mu     sync.Mutex
	asked  []prompt.Request
	answer func(ctx context.Context, r *prompt.Request) (call.Answer, error)
}

func (p *person) Name() string { return "test" }

func (p *person) Ask(ctx context.Context, r *approvals.Showing) (call.Answer, error) {
	p.mu.Lock()
	p.asked = append(p.asked, *r.Request)
	p.mu.Unlock()
	return p.answer(ctx, r.Request)
}

func says(reply call.Answer, err error) *person {
	return &person{answer: func(context.Context, *prompt.Request) (call.Answer, error) { return reply, err }}
}

var (
	yes = call.Answer{Allowed: true, Typed: true}
	no  = call.Answer{Reason: "not now", Typed: true}
)

func eval(t *testing.T, e *codemode.Evaluator, profile, code string, channels ...approvals.Channel) (*codemode.Response,
	error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := e.Eval(ctx, codemode.Request{Profile: profile, Unrestricted: profile == "", Code: code, Channels: channels})
	if r.Run == "" {
		t.Fatalf("no run began: %v", err)
	}
	return r, err
}

// value runs a program that has to finish and decodes what it returns.
func value[T any](t *testing.T, e *codemode.Evaluator, profile, code string, channels ...approvals.Channel) T {
	t.Helper()
	r, err := eval(t, e, profile, code, channels...)
	if err != nil {
		t.Fatalf("the program did not finish:\n%s", r.Text(err))
	}
	var v T
	if err := json.Unmarshal(r.Value, &v); err != nil {
		t.Fatalf("value %s: %v", r.Value, err)
	}
	return v
}

// A refusal is what a program sees of a call that was not allowed.
type refusal struct {
	Name, ToolName, Reason, Detail, Rule string
	Retryable                            bool
}

// refused is the rest of a program that calls something and returns what is thrown.
func refused(call string) string {
	return "try { await " + call +
		"; return {Name: 'none'} } catch (e) { return {Name: e.name, ToolName: e.toolName, Reason: e.reason, Detail: e.detail, Rule: e.rule, Retryable: e.retryable} }"
}

// original is the configuration of the original plan (POLICY.md A1).
const original = `{
  "evaluation": {
    "profiles": {
      "safe": { "allowlist": ["time__*"] },
      "supervised": {
        "denylist": ["filesystem__delete_*"],
        "asklist": ["filesystem__*"],
        "elicitationFallback": "deny"
      }
    }
  }
}`

func TestVerdictsOfTheOriginalPlan(t *testing.T) {
	e := open(t, original)
	const read = `codemode.filesystem__read_text_file({path: "a.md"})`
	tests := []struct {
		name, profile, call string
		reason              string // "" is allowed
		asked               int
	}{
		{"safe allows the time", "safe", `codemode.time__now({})`, "", 0},
		{"safe denies a file", "safe", read, "denied", 0},
		{"safe denies an alias", "safe", `(c => c({path: "a.md"}))(codemode.filesystem__read_text_file)`, "denied", 0},
		{"safe denies a name made while running", "safe",
			`codemode["file" + ["system", "read_text_file"].join("__")]({path: "a.md"})`, "denied", 0},
		{"safe denies by server and tool", "safe", `codemode.filesystem.read_text_file({path: "a.md"})`, "denied", 0},
		{"safe denies inside Promise.all", "safe", `Promise.all([1, 2].map(() => ` + read + `))`, "denied", 0},
		{"safe denies in a timer", "safe", `new Promise((ok, fail) => setTimeout(() => ` + read + `.then(ok, fail), 1))`,
			"denied", 0},
		{"supervised denies deletion", "supervised", `codemode.filesystem__delete_file({path: "a.md"})`, "denied", 0},
		{"supervised asks before reading", "supervised", read, "", 1},
		{"supervised allows the rest", "supervised", `codemode.time__now({})`, "", 0},
		{"the base tool is unrestricted", "", `codemode.filesystem__delete_file({path: "b.md"})`, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := says(yes, nil)
			got := value[refusal](t, e, tt.profile, refused(tt.call), p)
			if tt.reason == "" && got.Name != "none" || tt.reason != "" && (got.Name != "ToolCallDeniedError" ||
				got.Reason != tt.reason) {
				t.Errorf("got %+v, want reason %q", got, tt.reason)
			}
			if len(p.asked) != tt.asked {
				t.Errorf("asked %d times, want %d", len(p.asked), tt.asked)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	const rules = `{"evaluation": {"profiles": {
		"strict": {"asklist": ["filesystem__*"]},
		"lenient": {"asklist": ["filesystem__*"], "elicitationFallback": "allow"}
	}}}`
	tests := []struct {
		name    string
		channel approvals.Channel
		strict  string // the reason under fallback deny; "" is allowed
		lenient string // and under fallback allow
	}{
		{"a yes", says(yes, nil), "", ""},
		{"a no", says(no, nil), "elicitation_declined", "elicitation_declined"},
		{"a dialog that was closed", &person{answer: func(context.Context, *prompt.Request) (call.Answer, error) {
			time.Sleep(2 * approvals.DefaultMinHuman) // a closing that is faster is a program's
			return call.Answer{}, prompt.ErrDismissed
		}}, "canceled", "canceled"},
		{"an answer that is neither", says(yes, prompt.ErrUnclear), "no_approver", "no_approver"},
		{"an automatic no", says(call.Answer{}, nil), "no_approver", "no_approver"},
		{"a client that cannot ask", says(yes, approvals.ErrCannotAsk), "elicitation_unsupported", ""},
		{"nobody there", says(yes, approvals.ErrNoPerson), "no_approver", ""},
		{"no channel at all", nil, "no_approver", ""},
		{"a channel that crashes", &person{answer: func(context.Context, *prompt.Request) (call.Answer,
			error) {
			panic("boom")
		}}, "no_approver", "no_approver"},
	}
	e := open(t, rules)
	for _, tt := range tests {
		for profile, reason := range map[string]string{"strict": tt.strict, "lenient": tt.lenient} {
			t.Run(tt.name+", "+profile, func(t *testing.T) {
				var channels []approvals.Channel
				if tt.channel != nil {
					channels = append(channels, tt.channel)
				}
				got := value[refusal](t, e, profile, refused(`codemode.filesystem__write_file({path: "new.md", content: "x"})`),
					channels...)
				switch {
				case reason == "" && got.Name != "none":
					t.Errorf("refused: %+v", got)
				case reason != "" && (got.Reason != reason || got.ToolName != "filesystem__write_file" || got.Retryable ||
					got.Rule != "filesystem__*"):
					t.Errorf("got %+v, want reason %q", got, reason)
				}
				files := value[map[string]any](t, e, "", `return await codemode.filesystem__list_directory({path: "."})`)
				if written := strings.Contains(fmt.Sprint(files), "new.md"); written != (reason == "") {
					t.Errorf("the file was written: %v", written)
				}
				if reason == "" {
					value[any](t, e, "", `return await codemode.filesystem__delete_file({path: "new.md"})`)
				}
			})
		}
	}
}

func TestWhatAPersonIsShown(t *testing.T) {
	e := open(t, original)
	p := says(no, nil)
	r, err := eval(t, e, "supervised", "const read = codemode.filesystem__read_text_file;\nawait read({path: 'a.md'});", p)
	if err == nil || len(p.asked) != 1 {
		t.Fatalf("asked %d times, error %v", len(p.asked), err)
	}
	q := p.asked[0]
	got := []string{q.Server, q.Tool, q.Name, q.Profile, q.Rule, string(q.Risk), string(q.Args), q.Run}
	want := []string{"filesystem", "read_text_file", "filesystem__read_text_file", "supervised", "filesystem__*", "medium",
		`{"path":"a.md"}`, r.Run}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the question (-want +got):\n%s", diff)
	}
	wantCalls := []prompt.PreviewCall{{Name: "filesystem__read_text_file", Line: 2, Column: 7}}
	if diff := cmp.Diff(wantCalls, q.Preview.Calls); diff != "" {
		t.Errorf("the calls seen in the text (-want +got):\n%s", diff)
	}
	text := r.Text(err)
	for _, part := range []string{
		"error (threw): ToolCallDeniedError: the call of filesystem__read_text_file was refused (elicitation_declined)",
		"program.ts:2:", "\n    await read({path: 'a.md'});\n",
		"calls: 1 (1 refused)\n  1. filesystem__read_text_file refused (elicitation_declined)", "not now",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing from\n%s", part, text)
		}
	}
}

func TestProgramsSeeTypedErrors(t *testing.T) {
	e := open(t, original)
	tests := []struct{ name, call, want string }{
		{"a misspelt tool", `codemode.filesystem__read_text_fiel({path: "a.md"})`,
			`{"name":"ToolNotFoundError","toolName":"filesystem__read_text_fiel","nearest":["filesystem__read_text_file"]}`},
		{"an argument of the wrong type", `codemode.filesystem__read_text_file({path: 1})`,
			`{"name":"InvalidArgumentsError","toolName":"filesystem__read_text_file","path":"/path"}`},
		{"a tool that fails", `codemode.filesystem__read_text_file({path: "missing.md"})`,
			`{"name":"ToolError","toolName":"filesystem__read_text_file"}`},
		{"a function as an argument", `codemode.filesystem__read_text_file({path: () => 1})`,
			`{"name":"TypeError"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := value[map[string]any](t, e, "", `try { await `+tt.call+` } catch (e) {
				return {name: e.name, toolName: e.toolName, path: e.path, nearest: e.nearest && e.nearest.slice(0, 1)} }`)
			var want map[string]any
			must(t, json.Unmarshal([]byte(tt.want), &want))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNothingIsAllowedWithoutAConfiguration(t *testing.T) {
	e := open(t, "")
	if got := value[int](t, e, "", "return 6 * 7"); got != 42 {
		t.Errorf("got %d, want 42", got)
	}
	for _, call := range []string{`codemode.time__now({})`, `codemode.filesystem__list_directory({path: "."})`} {
		if got := value[refusal](t, e, "", refused(call)); got.Name != "ToolNotFoundError" {
			t.Errorf("%s: got %+v, want ToolNotFoundError", call, got)
		}
	}
	if tools := value[[]any](t, e, "", `return await codemode.search_tools("")`); len(tools) != 0 {
		t.Errorf("tools can be discovered: %v", tools)
	}
}

func TestUnknownProfile(t *testing.T) {
	e := open(t, original)
	_, err := e.Eval(t.Context(), codemode.Request{Profile: "sfae", Code: "return 1"})
	if unknown, ok := errors.AsType[*inforce.UnknownProfileError](err); !ok || len(unknown.Names) != 2 {
		t.Errorf("got %v, want an UnknownProfileError", err)
	}
}

func TestDeniedToolsCannotBeDiscovered(t *testing.T) {
	e := open(t, original)
	for profile, want := range map[string]bool{"safe": false, "supervised": true, "": true} {
		found := value[[]struct{ Name string }](t, e, profile, `return await codemode.search_tools("delete file")`)
		names := fmt.Sprint(found)
		if got := strings.Contains(names, "filesystem__read_text_file") ||
			strings.Contains(names, "filesystem__write_file"); got != want {
			t.Errorf("profile %q finds files: %v, want %v (%s)", profile, got, want, names)
		}
		if profile != "" && strings.Contains(names, "filesystem__delete_file") {
			t.Errorf("profile %q finds what it denies: %s", profile, names)
		}
	}
	if got := value[refusal](t, e, "supervised", refused(`codemode.filesystem__delete_file({})`)); got.Reason != "denied" {
		t.Errorf("a direct call: got %+v, want denied", got)
	}
	if got := value[refusal](t, e, "supervised",
		refused(`codemode.get_tools(["filesystem__delete_file"])`)); got.Name != "ToolNotFoundError" {
		t.Errorf("the declaration of a denied tool: got %+v, want ToolNotFoundError", got)
	}
	if got := value[string](t, e, "safe", `return await codemode.get_tools()`); !strings.Contains(got, "now") ||
		strings.Contains(got, "write_file") {
		t.Errorf("declarations under safe:\n%s", got)
	}
	tools, err := e.Discovery().Search(t.Context(), registry.Query{Profiles: []string{"safe"}})
	if err != nil || len(tools) != 2 {
		t.Errorf("tools under safe: %v, %v; want the two of time", tools, err)
	}
	if _, err := e.Discovery().Declarations(t.Context(), []string{"filesystem__write_file"},
		registry.Query{Profiles: []string{"safe"}}); err == nil {
		t.Error("a hidden tool was declared")
	}
}

func TestCallsInFlightTogether(t *testing.T) {
	e := open(t, original)
	got := value[[]string](t, e, "", `
		const files = await Promise.all(["a.md", "b.md"].map(path => codemode.filesystem__read_text_file({path})));
		return files.map(f => f.content ?? f);`)
	if diff := cmp.Diff([]string{"alpha", "beta"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProfileChangesInsideARunningProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "codemode.json")
	write := func(text string) {
		t.Helper()
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write(original)
	var log testwait.Buffer
	e := open(t, "", func(o *codemode.Options) { o.ConfigPath, o.Log = path, log.Logger() })
	changed := make(chan struct{}, 100)
	defer e.Subscribe(func() { changed <- struct{}{} })()

	// The program asks twice; the first question is answered once the file has changed.
	tightened := strings.Replace(original, `"denylist": [`, `"denylist": ["time__*", "filesystem__write_*", `, 1)
	p := &person{answer: func(ctx context.Context, r *prompt.Request) (call.Answer, error) {
		write(tightened)
		for e.Config().Profile("supervised").Decide(profiles.Call{Server: "time", Tool: "now"}).Verdict != call.Deny {
			select {
			case <-changed:
			case <-ctx.Done():
				return call.Answer{}, ctx.Err()
			}
		}
		return yes, nil
	}}
	got := value[[]refusal](t, e, "supervised", `
		const attempt = async call => { `+refused("call()")+` };
		return [
			await attempt(() => codemode.time__now({})),
			await attempt(() => codemode.filesystem__write_file({path: "x.md", content: ""})),
			await attempt(() => codemode.time__now({})),
		]`, p)
	reasons := []string{got[0].Reason, got[1].Reason, got[2].Reason}
	if diff := cmp.Diff([]string{"", "policy_changed", "denied"}, reasons); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}

	// A broken file changes nothing and says where it is broken.
	write(strings.Replace(tightened, `"asklist"`, `"asklst"`, 1))
	if !testwait.Holds(func() bool { return e.Rules().Now().Stale != nil }) {
		t.Fatal("the broken file was not noticed")
	}
	if got := value[refusal](t, e, "supervised", refused(`codemode.time__now({})`)); got.Reason != "denied" {
		t.Errorf("under the broken file: got %+v, want the old rule", got)
	}
	if text := log.String(); !strings.Contains(text, "codemode.json:7:9") || !strings.Contains(text, "asklist") {
		t.Errorf("the log does not name the place and the way out:\n%s", text)
	}
	write(original)
	if !testwait.Holds(func() bool { return e.Rules().Now().Stale == nil }) {
		t.Fatal("the mended file was not noticed")
	}
}

// What was allowed under a profile ends with it, also for programs that run; what it limits and hides stays.
func TestARemovedProfileAllowsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "codemode.json")
	put := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	put(original)
	e := open(t, "", func(o *codemode.Options) { o.ConfigPath = path })
	p := &person{answer: func(ctx context.Context, r *prompt.Request) (call.Answer, error) {
		put(`{"evaluation": {"profiles": {"other": {}}}}`)
		if !testwait.Holds(func() bool { return e.Config().Profile("supervised") == nil || ctx.Err() != nil }) {
			t.Error("the watcher has not seen it")
		}
		return yes, nil
	}}
	got := value[[]refusal](t, e, "supervised", `
		const attempt = async call => { `+refused("call()")+` };
		return [
			await attempt(() => codemode.filesystem__read_text_file({path: "a.md"})), // asked about
			await attempt(() => codemode.time__now({})),                              // allowed until now
			await attempt(() => codemode.filesystem__delete_file({path: "a.md"})),
		]`, p)
	if got[0].Reason != "policy_changed" {
		t.Errorf("a call that was approved while its profile was removed: %+v", got[0])
	}
	for _, r := range got[1:] {
		if r.Reason != "denied" || !strings.Contains(r.Detail, "the profile supervised was removed from the configuration") {
			t.Errorf("after its profile was removed: %+v", r)
		}
	}
	if _, err := e.Eval(t.Context(), codemode.Request{Profile: "supervised", Code: "return 1"}); err == nil {
		t.Error("a run began under a profile that was removed")
	}
}

func TestRefusalsEndTheRun(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__*"], "limits": {"refusals": 2}}}}}`)
	r, err := eval(t, e, "p", `for (let i = 0; i < 5; i++) { try { await codemode.filesystem__write_file({path: "f" + i, content: ""}) } catch {} }`, says(no, nil))
	if ended, ok := errors.AsType[*sandbox.Error](err); !ok || ended.Kind != sandbox.Canceled ||
		!strings.Contains(err.Error(), "too_many_refusals") {
		t.Errorf("got %v, want too_many_refusals", err)
	}
	if len(r.Calls) < 2 || r.Calls[0].State != hostfns.Refused || r.Calls[1].State != hostfns.Refused {
		t.Errorf("calls: %+v", r.Calls)
	}
}

func TestRecordOfACall(t *testing.T) {
	e := open(t, original)
	r, _ := eval(t, e, "safe", `await codemode.time__now({}); await codemode.filesystem__read_text_file({path: "a.md"})`)
	var got []string
	for _, entry := range e.Record().Journal().Entries() {
		if entry.Run != r.Run || entry.Profile != "safe" || entry.ProfileDigest == "" {
			t.Errorf("entry %+v", entry)
		}
		got = append(got, strings.TrimSpace(strings.Join([]string{entry.State, entry.Tool, entry.Verdict, entry.DecidedBy.How,
			entry.Reason}, " ")))
	}
	want := []string{
		"running time__now allow rule",
		"ok time__now allow rule",
		"refused filesystem__read_text_file deny default denied",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// full is a recorder that has no room left.
type full struct{}

func (full) Record(context.Context, call.Entry) error {
	return errors.New("no space left on device")
}

func TestWhatCannotBeRecordedDoesNotHappen(t *testing.T) {
	e := open(t, original, func(o *codemode.Options) { o.Recorder = full{} })
	got := value[refusal](t, e, "", refused(`codemode.filesystem__delete_file({path: "a.md"})`))
	if got.Name != "ToolCallDeniedError" || got.Reason != "denied" {
		t.Errorf("got %+v", got)
	}
	if e.Record().Journal() != nil {
		t.Error("there is a journal beside the recorder")
	}
}

func TestCheck(t *testing.T) {
	e := open(t, original)
	plan, err := e.Check(t.Context(), codemode.Request{Profile: "supervised", Code: `
const now = await codemode.time__now({});
await codemode.filesystem__write_file({path: 1, content: "x"});
await codemode.filesystem__delete_file({path: "a"});
await codemode.filesystem__raed({});
await codemode[now]({});
await codemode.search_tools("x");`})
	must(t, err)
	var got []string
	for _, c := range plan.Calls {
		got = append(got, fmt.Sprintf("%d %s %s", c.Line, c.Tool, c.Verdict))
	}
	want := []string{"2 time__now allow", "3 filesystem__write_file ask", "4 filesystem__delete_file deny",
		"5 filesystem__raed unknown tool"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if len(plan.Dynamic) != 1 || plan.Dynamic[0].Line != 6 {
		t.Errorf("calls by a name unknown before: %v", plan.Dynamic)
	}
	if plan.Denied() != 3 { // the write has wrong arguments
		t.Errorf("%d would not get through, want 3", plan.Denied())
	}
	text := plan.Text()
	for _, part := range []string{"under the profile supervised", "codemode.json:7", "/path", "deny"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing from\n%s", part, text)
		}
	}
}

func TestSyntaxProblems(t *testing.T) {
	e := open(t, original)
	r, err := eval(t, e, "", "const a = 1;\nconst b = a +* 2;\nreturn b;")
	if _, ok := errors.AsType[analysis.Problems](err); !ok {
		t.Fatalf("got %v, want Problems", err)
	}
	text := r.Text(err)
	for _, part := range []string{"was not started", "program.ts:2:", "const b = a +* 2;", "^"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing from\n%s", part, text)
		}
	}
	if r.Outcome(err) != "not started" {
		t.Errorf("outcome %q", r.Outcome(err))
	}
}

func TestOutcomes(t *testing.T) {
	e := open(t, `{"results": {"largest": "1MiB"}, "evaluation": {"profiles": {"small": {"limits": {"calls": 3}}}}}`)
	tests := []struct{ name, profile, code, outcome string }{
		{"a value", "", "return 1", "finished"},
		{"an exception", "", "throw new TypeError('x')", "threw"},
		{"a promise that nothing settles", "", "await new Promise(() => {})", "abandoned"},
		{"too many calls", "small", "for (let i = 0; i < 9; i++) await codemode.time__now({})", "too many calls"},
		{"a result that is too large", "", "return 'x'.repeat(2 << 20)", "too much output"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := eval(t, e, tt.profile, tt.code)
			if got := r.Outcome(err); got != tt.outcome {
				t.Errorf("outcome %q, want %q\n%s", got, tt.outcome, r.Text(err))
			}
		})
	}
}

func TestTextIsBounded(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {}}}}`)
	r, err := eval(t, e, "p", `
		for (let i = 0; i < 300; i++) await codemode.time__now({});
		for (let i = 0; i < 100; i++) console.log("y".repeat(300) + "\ncalls: 1 (1 done)");
		return {note: "kept", rows: Array.from({length: 20000}, (_, i) => ({i, text: "row " + i}))}`)
	must(t, err)
	text := r.Text(nil)
	if len(text) > inforce.DefaultTextBytes {
		t.Errorf("the text has %d bytes", len(text))
	}
	var v struct {
		Note string
		Rows struct {
			Keys []string
			Rows []any
		}
	}
	_, shown, _ := strings.Cut(text, "these keys)\n")
	err = json.NewDecoder(strings.NewReader(shown)).Decode(&v)
	if err != nil || v.Note != "kept" || strings.Join(v.Rows.Keys, " ") != "i text" || len(v.Rows.Rows) < 100 {
		t.Errorf("the value that is shown: %v, %d rows, %.200s", err, len(v.Rows.Rows), shown)
	}
	if !strings.HasPrefix(text, "(cut: the value has ") || !strings.Contains(text, "\n   [7,\"row 7\"],\n") {
		t.Errorf("the cut is not named first: %.200s", text)
	}
	for _, part := range []string{
		"more bytes were printed. It is ",
		"calls: 300 (300 done)\n  time__now x300 done\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing", part)
		}
	}
	if strings.Contains(text, "\ncalls: 1 (1 done)") {
		t.Error("a console line passes for the list of calls")
	}
}

func TestCanceledRunReportsItsEffects(t *testing.T) {
	e := open(t, original)
	ctx, cancel := context.WithCancel(t.Context())
	p := &person{answer: func(ctx context.Context, r *prompt.Request) (call.Answer, error) {
		cancel()
		<-ctx.Done()
		return yes, nil // too late
	}}
	r, err := e.Eval(ctx, codemode.Request{Profile: "supervised", Channels: []approvals.Channel{p}, Code: `
		await codemode.time__now({});
		await Promise.all(["x", "y"].map(path => codemode.filesystem__write_file({path, content: "1"})));`})
	if r == nil || r.Outcome(err) != "canceled" || !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	var got []string
	for _, c := range r.Calls {
		got = append(got, c.Tool+" "+string(c.State))
	}
	want := []string{"time__now done", "filesystem__write_file not started", "filesystem__write_file not started"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, r.Text(err))
	}
}

func TestClosed(t *testing.T) {
	e := open(t, original)
	started := make(chan struct{})
	p := &person{answer: func(ctx context.Context, r *prompt.Request) (call.Answer, error) {
		close(started)
		<-ctx.Done()
		return call.Answer{}, ctx.Err()
	}}
	ended := make(chan error, 1)
	go func() {
		_, err := e.Eval(t.Context(), codemode.Request{Profile: "supervised",
			Code: `await codemode.filesystem__read_text_file({path: "a.md"})`, Channels: []approvals.Channel{p}})
		ended <- err
	}()
	<-started
	if err := e.Close(t.Context()); err != nil {
		t.Errorf("closing: %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the running program: got %v, want canceled", err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	if _, err := e.Eval(t.Context(), codemode.Request{Code: "return 1"}); !errors.Is(err, codemode.ErrClosed) {
		t.Errorf("after closing: got %v, want ErrClosed", err)
	}
}

func TestManyRunsAtOnce(t *testing.T) {
	e := open(t, original)
	var wrong atomic.Int32
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			r, err := e.Eval(t.Context(), codemode.Request{Profile: "supervised", Code: fmt.Sprintf(
				`const r = await Promise.all([1,2,3].map(() => codemode.time__now({}))); return r.length * 100 + %d`, i)})
			if err != nil || string(r.Value) != fmt.Sprint(300+i) || len(r.Calls) != 3 {
				wrong.Add(1)
				t.Logf("run %d: %s", i, r.Text(err))
			}
		})
	}
	wg.Wait()
	if n := wrong.Load(); n != 0 {
		t.Errorf("%d of 40 runs went wrong", n)
	}
}
