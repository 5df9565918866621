package codemode_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/report"
	"github.com/codemode-project/codemode/internal/store"
)

// callsOf is the list of calls in what a model reads of a run.
func callsOf(t *testing.T, e *codemode.Evaluator, r codemode.Request) string {
	t.Helper()
	response, err := e.Eval(t.Context(), r)
	if response == nil {
		t.Fatal(err)
	}
	_, calls, _ := strings.Cut(response.Text(err), "\ncalls: ")
	return calls
}

const noSecrets = `{"evaluation": {"profiles": {"p": {"denylist": [{"id": "no-secret", "tool": "filesystem__write_file", "when": {"/path": {"glob": "secret*"}}}]}}}}`

func TestEqualCallsShareALineAndWhatMattersComesFirst(t *testing.T) {
	got := callsOf(t, open(t, noSecrets), codemode.Request{Profile: "p", Code: `
		const read = path => codemode.filesystem__read_text_file({ path }).catch(() => "");
		const write = path => codemode.filesystem__write_file({ path, content: "x" }).catch(() => "");
		for (let i = 0; i < 150; i++) await read("a.md");
		for (let i = 0; i < 9; i++) await write("w" + i);
		for (const path of ["m1", "m2", "secret1", "secret2"]) await (path[0] === "m" ? read : write)(path);
		for (let i = 0; i < 50; i++) await codemode.time__now({});
		return 1`})
	want := `213 (209 done, 2 refused, 2 failed)
  160-161. filesystem__read_text_file x2 failed (ToolError):
    160. m1: it does not exist
    161. m2: it does not exist
  162-163. filesystem__write_file x2 refused (denied): profile p: the profile denies it (rule no-secret, codemode.json:1)
  151-159. filesystem__write_file x9 done
  1-150. filesystem__read_text_file x150 done
  164-213. time__now x50 done
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// However many calls went wrong, in however many ways, the list has the writes.
func TestWritesAreListedHoweverManyCallsFailed(t *testing.T) {
	got := callsOf(t, open(t, `{"limits": {"resultBytes": 4096}, "evaluation": {"profiles": {"p": {}}}}`), codemode.Request{Profile: "p", Code: `
		await codemode.filesystem__write_file({ path: "w", content: "x" });
		for (let i = 0; i < 300; i++) await codemode["filesystem__no_" + i]({}).catch(() => 0);
		return 1`})
	for _, part := range []string{"301 (1 done, 300 failed)", "1. filesystem__write_file done\n",
		" more are not listed)\n"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing from\n%s", part, got)
		}
	}
	if len(got) > 2048 {
		t.Errorf("the list has %d bytes", len(got))
	}
}

func TestAProgramThatThrewSaysWhatIsDone(t *testing.T) {
	e := open(t, noSecrets)
	for _, tt := range []struct{ name, code, want string }{
		{"after some of its writes", `
			await codemode.filesystem__read_text_file({ path: "a.md" });
			for (const path of ["w1", "w2", "w3", "secret", "w4"]) await codemode.filesystem__write_file({ path, content: "x" });`,
			`5 (4 done, 1 refused); what is done is not undone
  5. filesystem__write_file refused (denied): profile p: the profile denies it (rule no-secret, codemode.json:1)
  2-4. filesystem__write_file x3 done
  1. filesystem__read_text_file done
`},
		{"after it has read", `await codemode.filesystem__read_text_file({ path: "a.md" }); null.x`,
			`1 (1 done); they only read, as their servers say
  1. filesystem__read_text_file done
`},
		{"before anything", `null.x; await codemode.time__now({})`, "none\n"},
		{"when nothing got through", `await codemode.filesystem__write_file({ path: "secret", content: "x" })`,
			`1 (1 refused)
  1. filesystem__write_file refused (denied): profile p: the profile denies it (rule no-secret, codemode.json:1)
`},
	} {
		if got := callsOf(t, e, codemode.Request{Profile: "p", Code: tt.code}); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

func TestEachCallIsListedOnRequest(t *testing.T) {
	got := callsOf(t, open(t, noSecrets), codemode.Request{Profile: "p", EveryCall: true,
		Code: `for (let i = 0; i < 250; i++) await codemode.time__now({})`})
	if lines := strings.Split(strings.TrimSpace(got), "\n"); len(lines) != 251 ||
		!strings.HasPrefix(lines[250], "  250. time__now done in ") {
		t.Errorf("got\n%s", got)
	}
}

// Whoever opens the record in a spreadsheet finds a row for each call, with who decided, when it began and when it
// ended.
func TestTheTableOfCallsHasARowForEachCall(t *testing.T) {
	dir := t.TempDir()
	e := open(t, original, recorded(dir))
	person := &person{answer: func(context.Context, *prompt.Request) (call.Answer, error) { return yes, nil }}
	r, err := eval(t, e, "supervised", `
		await codemode.time__now({});
		await codemode.filesystem__read_text_file({path: "a.md"});
		try { await codemode.filesystem__delete_file({path: "a.md"}) } catch {}
		try { await codemode.filesystem__read_text_file({path: "missing.md"}) } catch {}`, person)
	if err != nil {
		t.Fatal(r.Text(err))
	}
	must(t, e.Close(t.Context()))
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "codemode.db"), ReadOnly: true})
	must(t, err)
	defer db.Close()
	var b bytes.Buffer
	n, err := report.Calls(t.Context(), &b, db, store.Query{})
	if err != nil || n != 4 {
		t.Fatalf("%d calls, %v", n, err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	must(t, err)
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	var got [][]string
	for _, row := range rows[1:] {
		at := func(name string) time.Time {
			when, err := time.Parse(time.RFC3339Nano, row[column[name]])
			if err != nil && row[column[name]] != "" {
				t.Error(err)
			}
			return when
		}
		got = append(got, []string{row[column["call"]], row[column["tool"]], row[column["decided by"]], row[column["state"]]})
		asked, started, completed := at("asked"), at("started"), at("completed")
		if person := row[column["decided by"]] == "person"; person == asked.IsZero() || person && started.Before(asked) {
			t.Errorf("call %s was asked about at %v and started at %v", row[column["call"]], asked, started)
		}
		if completed.IsZero() || started.IsZero() != (row[column["state"]] == audit.Refused) || completed.Before(started) {
			t.Errorf("call %s started at %v and completed at %v", row[column["call"]], started, completed)
		}
		if row[column["arguments"]] == "" {
			t.Errorf("call %s has no arguments", row[column["call"]])
		}
	}
	want := [][]string{
		{"1", "time__now", "default", "ok"}, {"2", "filesystem__read_text_file", "person", "ok"},
		{"3", "filesystem__delete_file", "rule", "refused"}, {"4", "filesystem__read_text_file", "person", "error"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// waits is a person who takes a while, so that nobody takes the answer for a program's.
func waits(reply call.Answer, err error) func(context.Context) (call.Answer, error) {
	return func(ctx context.Context) (call.Answer, error) {
		select {
		case <-time.After(350 * time.Millisecond):
			return reply, err
		case <-ctx.Done():
			return call.Answer{}, context.Cause(ctx)
		}
	}
}

// A slow channel answers when its function returns, with what it returns.
type slow struct {
	answer func(context.Context) (call.Answer, error)
}

func (slow) Name() string { return "elicitation" }
func (s slow) Ask(ctx context.Context, _ *approvals.Showing) (call.Answer, error) {
	return s.answer(ctx)
}

// C7: seven refusals have seven codes, and a program can catch each with toolName, reason and retryable.
func TestC7SevenRefusals(t *testing.T) {
	const (
		rules = `{"evaluation": {"profiles": {"p": {%s"asklist": ["filesystem__write_file"], "denylist": ["filesystem__delete_*"]}}}}`
		write = `filesystem__write_file({path: "a.md", content: "x"})`
	)
	yes := call.Answer{Allowed: true}
	for _, tt := range []struct {
		reason, more, call string
		person             func(context.Context) (call.Answer, error) // nil: no channel
	}{
		{"denied", "", `filesystem__delete_file({path: "a.md"})`, nil},
		{"elicitation_declined", "", write, waits(call.Answer{}, nil)},
		{"no_approver", "", write, nil},
		{"timeout", `"ask": {"timeout": "300ms"}, `, write, func(ctx context.Context) (call.Answer, error) {
			<-ctx.Done()
			return call.Answer{}, context.Cause(ctx)
		}},
		{"canceled", "", write, waits(call.Answer{}, prompt.ErrDismissed)},
		{"limit", `"limits": {"asks": 1}, `,
			`filesystem__write_file({path: "first.md", content: "x"}).catch(() => {}); await codemode.` + write,
			waits(yes, nil)},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			var people []approvals.Channel
			if tt.person != nil {
				people = append(people, slow{tt.person})
			}
			got := value[string](t, open(t, fmt.Sprintf(rules, tt.more)), "p",
				"try { await codemode."+tt.call+`; return "made" } catch (e) { return [e.name, e.toolName, e.reason, e.retryable].join(" ") }`, people...)
			tool, _, _ := strings.Cut(tt.call, "(")
			if want := "ToolCallDeniedError " + tool + " " + tt.reason + " false"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
	t.Run("policy_changed", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "codemode.json")
		put := func(text string) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Error(err)
			}
		}
		put(fmt.Sprintf(rules, ""))
		e, err := codemode.New(t.Context(), codemode.Options{ConfigPath: path, Root: t.TempDir(), CacheDir: cachetest.Dir()})
		must(t, err)
		t.Cleanup(func() { e.Close(context.Background()) })
		changed := make(chan struct{}, 100)
		defer e.Subscribe(func() { changed <- struct{}{} })()
		person := slow{func(context.Context) (call.Answer, error) {
			before := e.Config().Profile("p").Digest()
			put(strings.Replace(fmt.Sprintf(rules, ""), `"filesystem__delete_*"`, `"filesystem__*"`, 1))
			for e.Config().Profile("p").Digest() == before {
				<-changed
			}
			return yes, nil
		}}
		got := value[string](t, e, "p",
			"try { await codemode."+write+`; return "made" } catch (e) { return [e.name, e.toolName, e.reason, e.retryable].join(" ") }`, person)
		if want := "ToolCallDeniedError filesystem__write_file policy_changed false"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// C14: the reason of a refusal reaches the program as a person's words, escaped and cut.
func TestC14ReasonsReachTheProgram(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__*"]}}}}`)
	words := "use b.md\x1b[2J\u202e\n" + strings.Repeat("x", 400)
	got := value[string](t, e, "p",
		`try { await codemode.filesystem__write_file({path: "a.md", content: "x"}) } catch (e) { return e.detail }`,
		slow{waits(call.Answer{Reason: words}, nil)})
	if !strings.HasPrefix(got, `a person refused this call and wrote: "use b.md\u{1B}[2J\u{202E}\nxxx`) ||
		strings.ContainsAny(got, "\x1b\u202e\n") || len([]rune(got)) > 300+60 {
		t.Errorf("got %q", got)
	}
}

// C18: when a refusal that nobody caught stops a run, its effects so far are told: done, refused, and not started.
func TestC18EffectsSoFar(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {"asklist": [{"tool": "filesystem__write_file", "when": {"/path": {"eq": "c.md"}}}], "allowlist": ["filesystem__*"], "limits": {"refusals": 1}}}}}`)
	r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Channels: []approvals.Channel{slow{waits(call.Answer{}, nil)}}, Code: `
		for (const name of ["a", "b"]) await codemode.filesystem__write_file({path: name + ".md", content: "x"});
		await codemode.filesystem__write_file({path: "c.md", content: "x"});
		for (const name of ["d", "e"]) await codemode.filesystem__write_file({path: name + ".md", content: "x"});`})
	if err == nil || r == nil {
		t.Fatalf("got %v, %v", r, err)
	}
	var states []string
	for _, c := range r.Calls {
		states = append(states, string(c.State))
	}
	if diff := cmp.Diff([]string{"done", "done", "refused"}, states); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := r.Text(err); !strings.Contains(text, "calls: 3 (2 done, 1 refused)") {
		t.Errorf("got\n%s", text)
	}
	both, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Channels: []approvals.Channel{slow{waits(call.Answer{}, nil)}}, Code: `
		await codemode.filesystem__write_file({path: "a.md", content: "x"}); await codemode.filesystem__write_file({path: "b.md", content: "x"});
		await Promise.all(["c", "c2", "c3"].map(name => codemode.filesystem__write_file({path: "c.md", content: name})));`})
	if err == nil {
		t.Fatal("it was refused")
	}
	left := map[string]int{}
	for _, c := range both.Calls {
		left[string(c.State)]++
	}
	if left["done"] != 2 || left["refused"]+left["not started"] != 3 || left["refused"] == 0 {
		t.Errorf("two done, and of three one is refused and the others refused with it or not started: %v", left)
	}
}

// F2: the sixth identical call of a run asks, though a rule allows it.
func TestF2TheSameCallAgainAsks(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {"allowlist": ["filesystem__*"], "limits": {"repeat": 5}}}}}`)
	d := &desk{answer: refuse}
	got := value[string](t, e, "p", `
		const out = [];
		for (let i = 0; i < 6; i++) try { await codemode.filesystem__write_file({path: "a.md", content: "x"}); out.push("ok") } catch (e) { out.push(e.reason) }
		await codemode.filesystem__write_file({path: "b.md", content: "x"});
		return out.join(" ");`, d)
	if got != "ok ok ok ok ok elicitation_declined" || len(d.forms) != 1 {
		t.Errorf("got %s, asked about %v", got, d.forms)
	}
	if !strings.Contains(d.texts[0], "the same call was made 5 times already") {
		t.Errorf("why is not said:\n%s", d.texts[0])
	}
}

// A crm is a server that takes a random time for each call. Nobody has the customers from 90 on.
type crm struct {
	mu   sync.Mutex
	done []string
}

type mailArgs struct {
	ID int `json:"id"`
}

func (s *crm) does(what string) func(context.Context, mailArgs) (mailArgs, error) {
	return func(ctx context.Context, in mailArgs) (mailArgs, error) {
		select {
		case <-time.After(time.Duration(rand.IntN(3000)) * time.Microsecond):
		case <-ctx.Done():
			return in, ctx.Err()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.done = append(s.done, fmt.Sprint(what, in.ID))
		if in.ID >= 90 {
			return in, fmt.Errorf("no customer %d", in.ID)
		}
		return in, nil
	}
}

func (s *crm) server() codemode.Server {
	return codemode.Server{Name: "crm", Functions: []codemode.Function{
		codemode.Func("get", "Gets a customer.", s.does("get"), codemode.ReadOnly),
		codemode.Func("mail", "Sends a mail.", s.does("mail"), codemode.Additive),
		codemode.Func("remove", "Removes a customer.", s.does("remove"), codemode.Destructive),
	}}
}

// Each program does the same in each of 25 runs, however long the server takes, and says the same.
func TestTheSameCallsAreMadeInEveryRun(t *testing.T) {
	t.Parallel()
	const rules = `{"budgets": [{"id": "few", "tool": "crm__get", "calls": 3, "every": "day"}], "evaluation": {"profiles": {
		"p": {"allowlist": ["crm__get", "crm__mail"], "denylist": ["crm__remove"]},
		"few": {"allowlist": ["crm__mail"], "limits": {"calls": 4}},
		"ask": {"allowlist": ["crm__get"], "asklist": ["crm__mail"]}}}}`
	awaitRoom(24*time.Hour, 5*time.Minute)
	var s crm
	e := open(t, rules, embeds(s.server()))
	for _, test := range []struct{ name, profile, code, done, says string }{
		{"one mail", "p", "codemode.crm__mail({id: 1});\nreturn 'sent'", "mail1", `"sent"`},
		{"forEach", "p", "[1,2,3].forEach(async id => { await codemode.crm__mail({id}) });\nreturn 'sent'", "mail1 mail2 mail3", `"sent"`},
		{"main()", "p", "async function main() { await codemode.crm__mail({id: 1}); return codemode.crm__mail({id: 2}) }\nmain()",
			"mail1 mail2", "{\n  \"id\": 2\n}"},
		{"main().catch", "p", "async function main() { await codemode.crm__mail({id: 99}) }\nmain().catch(e => e.message)", "mail99",
			`"crm__mail: no customer 99"`},
		{"mail without await, then a call", "p", "codemode.crm__mail({id: 1});\nawait codemode.crm__mail({id: 2});\nreturn 1", "mail1 mail2", "1"},
		{"a trailing call", "p", "const id = 1;\ncodemode.crm__mail({id})", "mail1", "{\n  \"id\": 1\n}"},
		{"a failing third", "p", "return await Promise.all([1,2,99].map(id => codemode.crm__mail({id})))", "mail1 mail2 mail99",
			"error (threw): ToolError: crm__mail: no customer 99\n    at program.ts:1:54"},
		{"bad arguments third", "p", "return await Promise.all([1,2,3].map(id => codemode.crm__mail(id < 3 ? {id} : {i: id})))", "mail1 mail2",
			"error (threw): InvalidArgumentsError: crm__mail: "},
		{"bad arguments first, awaited by nobody", "p", "codemode.crm__mail({});\ncodemode.crm__mail({id: 1});\nreturn 'sent'", "mail1",
			"error (threw): InvalidArgumentsError: crm__mail: "},
		{"bad arguments in the reply", "p", "codemode.crm__mail({id: 1});\n  codemode.crm__mail({});\nreturn 'sent'", "mail1",
			"(nobody awaited this call)\n    at program.ts:2:"},
		{"refused by the profile", "p", "codemode.crm__mail({id: 1});\ncodemode.crm__remove({id: 2});\nreturn 'sent'", "mail1",
			"error (threw): ToolCallDeniedError: the call of crm__remove was refused"},
		{"no such tool", "p", "codemode.crm__mial({id: 1});\nreturn 'sent'", "", "error (threw): ToolNotFoundError: "},
		{"a budget for three of eight", "p", "return (await Promise.allSettled([1,2,3,4,5,6,7,8].map(id => codemode.crm__get({id})))).map(r => r.status[0]).join('')",
			"get1 get2 get3", `"fffrrrrr"`},
		{"a budget for three of eight that nobody awaits", "p", "for (let id = 1; id <= 8; id++) codemode.crm__get({id});\nreturn 'read'",
			"get1 get2 get3", "error (threw): LimitError: "},
		{"a limit of calls", "few", "[1,2,3,4,5,6].forEach(async id => { await codemode.crm__mail({id}) });\nreturn 'sent'",
			"mail1 mail2 mail3 mail4", "error (too many calls): the program made more than 4 calls"},
		{"asks, and nobody is there", "ask", "codemode.crm__mail({id: 1});\nreturn 'sent'", "",
			"error (threw): ToolCallDeniedError: the call of crm__mail was refused"},
		{"a promise in arguments", "p", "await codemode.crm__mail({id: codemode.crm__mail({id: 1})})", "mail1",
			"error (threw): InvalidArgumentsError: argument.id of crm__mail is a promise: await it before the call"},
		{"background", "p", "codemode.background(codemode.crm__mail({id: 99}));\nreturn 'sent'", "mail99", "calls: 1 (1 failed)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			said := map[string]int{}
			for i := range 25 {
				s.done = nil
				r, err := e.Eval(t.Context(), codemode.Request{Principal: fmt.Sprint(test.name, i), Profile: test.profile, Code: test.code})
				slices.Sort(s.done)
				text := r.Text(err)
				if done := strings.Join(s.done, " "); done != test.done || !strings.Contains(text, test.says) {
					t.Fatalf("did %q, want %q; said\n%s", done, test.done, text)
				}
				said[strings.ReplaceAll(text, fmt.Sprint(test.name, i), "")]++
			}
			if len(said) != 1 {
				t.Errorf("it said %d different things: %v", len(said), said)
			}
		})
	}
}

// In a session the same, and what is done in the end is there for the next program.
func TestASessionWaitsForWhatItsProgramsStart(t *testing.T) {
	t.Parallel()
	var s crm
	e := open(t, `{"evaluation": {"profiles": {"p": {"allowlist": ["crm__*"]}}}}`, embeds(s.server()),
		withRecord(t))
	for _, step := range []struct{ code, want string }{
		{"const out = [];\n[1,2].forEach(async id => { out.push((await codemode.crm__mail({id})).id) })", "undefined"},
		{"out.sort()", "[1,2]"},
		{"codemode.crm__mail({id: 99});\nout.push(3)", "error"},
		{"out", "[1,2,3]"},
	} {
		r, err := e.Eval(t.Context(), codemode.Request{Principal: "anna", Profile: "p", Session: "s", Code: step.code})
		got := string(r.Value)
		switch {
		case err != nil:
			got = "error"
		case got == "":
			got = "undefined"
		}
		if got != step.want {
			t.Errorf("%s: got %s, want %s\n%s", step.code, got, step.want, r.Text(err))
		}
	}
	if len(s.done) != 3 {
		t.Errorf("done: %q", s.done)
	}
}

// Calls that nobody awaits wait for people like others; a run whose program has returned is parked meanwhile.
func TestPeopleAreAskedAboutCallsThatNobodyAwaits(t *testing.T) {
	t.Parallel()
	var s crm
	e := open(t, `{"evaluation": {"profiles": {"p": {"allowlist": ["crm__get"], "asklist": ["crm__mail"]}}}}`, embeds(s.server()),
		withRecord(t))
	for _, test := range []struct {
		name    string
		allowed bool
		wait    time.Duration
		code    string
		done    string
		says    string
	}{
		{"yes at once", true, 0, "codemode.crm__mail({id: 1});\nreturn 'sent'", "mail1", `"sent"`},
		{"no at once", false, 0, "codemode.crm__mail({id: 1});\nreturn 'sent'", "", "error (threw): ToolCallDeniedError"},
		{"yes after parking", true, time.Second, "const out = [];\nsetTimeout(() => codemode.crm__get({id: 2}), 600);\n" +
			"codemode.crm__mail({id: 1}).then(r => out.push(r.id));\nreturn out", "get2 mail1", "[\n  1\n]"},
		{"yes after a throw", true, time.Second, "codemode.crm__mail({id: 1});\nthrow new Error('stop')", "mail1",
			"error (threw): Error: stop"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.done = nil
			person := approvals.Approver("chat", func(context.Context, *prompt.Request) (call.Answer, error) {
				time.Sleep(test.wait) // the person thinks
				return call.Answer{Allowed: test.allowed}, nil
			})
			r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Channels: []approvals.Channel{person}, Code: test.code})
			slices.Sort(s.done)
			if done := strings.Join(s.done, " "); done != test.done || !strings.Contains(r.Text(err), test.says) {
				t.Errorf("did %q, want %q; said\n%s", done, test.done, r.Text(err))
			}
		})
	}
}
