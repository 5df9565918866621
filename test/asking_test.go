package codemode_test

import (
	"context"
	"encoding/json"
	"fmt"
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
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/runs/asking"
	"github.com/codemode-project/codemode/internal/tools/registry"
)

// desk is a person who is shown several calls at once, as over a form.
type desk struct {
	mu     sync.Mutex
	forms  [][]string // the arguments of the calls of each form
	texts  []string
	answer func(r *prompt.Request) call.Answer
	edits  bool
}

func (d *desk) Name() string { return "elicitation" }
func (d *desk) Edits() bool  { return d.edits }

func (d *desk) Ask(ctx context.Context, r *approvals.Showing) (call.Answer, error) {
	results, err := d.AskAll(ctx, r)
	return results[0], err
}

func (d *desk) AskAll(_ context.Context, s *approvals.Showing) ([]call.Answer, error) {
	calls := s.Calls
	d.mu.Lock()
	defer d.mu.Unlock()
	var form []string
	var results []call.Answer
	for _, r := range calls {
		form = append(form, r.Tool+string(r.Args))
		reply := d.answer(r)
		reply.Typed = true
		results = append(results, reply)
	}
	slices.Sort(form)
	d.forms, d.texts = append(d.forms, form), append(d.texts, prompt.RenderAll(calls, prompt.RenderOptions{}).Text())
	return results, nil
}

func allow(*prompt.Request) call.Answer { return call.Answer{Allowed: true} }

// remembering says yes, for as long as scope says where that is offered.
func remembering(scope call.Scope) func(*prompt.Request) call.Answer {
	return func(*prompt.Request) call.Answer {
		return call.Answer{Allowed: true, Scope: scope}
	}
}

// attempts is a program that calls write_file for paths, together or one after the other, and says what became of each.
func attempts(together bool, paths ...string) string {
	js, _ := json.Marshal(paths)
	body := "const out = []; for (const p of paths) out.push(await attempt(p)); return out;"
	if together {
		body = "return await Promise.all(paths.map(attempt));"
	}
	return fmt.Sprintf(`const paths = %s;
		const attempt = async path => { try { await codemode.filesystem__write_file({path, content: "x"}); return "ok" } catch (e) { return e.reason } };
		%s`, js, body)
}

const writing = `{"evaluation": {"profiles": {"p": {"asklist": [{"id": "fs-write", "tool": "filesystem__write_file", "when": {"/path": {"exists": true}}}], "limits": {"refusals": 100}%s}}}}`

// C2, N1: the questions of a Promise.all are one form with a decision each, whatever else the program calls; mixed
// answers are honoured, and there is an entry for each call.
func TestC2PromiseAllIsOneForm(t *testing.T) {
	for _, n := range []int{5, 20} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			e := open(t, fmt.Sprintf(writing, ""))
			d := &desk{answer: func(r *prompt.Request) call.Answer {
				if strings.Contains(string(r.Args), "f3") {
					return call.Answer{Reason: "not this one"}
				}
				return allow(r)
			}}
			var paths, want []string
			for i := range n {
				paths, want = append(paths, fmt.Sprintf("f%02d.md", i*10)), append(want, "ok")
			}
			want[3] = "elicitation_declined"
			got := value[[]string](t, e, "p", attempts(true, paths...), d)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(d.forms) != 1 || len(d.forms[0]) != n {
				t.Errorf("%d forms: %v", len(d.forms), d.forms)
			}
			kinds := map[string]int{}
			for _, entry := range e.Record().Journal().Entries() {
				kinds[entry.State]++
			}
			if kinds["running"] != n-1 || kinds["refused"] != 1 {
				t.Errorf("entries: %v", kinds)
			}
		})
	}
}

// A profile may want one question at a time; and what comes one after the other is never one form.
func TestQuestionsOneByOne(t *testing.T) {
	d := &desk{answer: allow}
	value[[]string](t, open(t, fmt.Sprintf(writing, `, "ask": {"batch": false}`)), "p",
		attempts(true, "a.md", "b.md", "c.md"), d)
	if len(d.forms) != 3 {
		t.Errorf("forms with batch false: %v", d.forms)
	}
	d = &desk{answer: allow}
	value[[]string](t, open(t, fmt.Sprintf(writing, "")), "p", attempts(false, "a.md", "b.md"), d)
	if len(d.forms) != 2 {
		t.Errorf("forms of calls that follow one another: %v", d.forms)
	}
}

// Two calls that are the same need two answers (THREATS.md A08).
func TestTheSameCallTwiceAtOnce(t *testing.T) {
	first := true
	d := &desk{answer: func(r *prompt.Request) call.Answer {
		defer func() { first = false }()
		if first {
			return allow(r)
		}
		return call.Answer{}
	}}
	got := value[[]string](t, open(t, fmt.Sprintf(writing, "")), "p", attempts(true, "a.md", "a.md"), d)
	slices.Sort(got)
	if diff := cmp.Diff([]string{"elicitation_declined", "ok"}, got); diff != "" || len(d.forms) != 1 {
		t.Errorf("(-want +got):\n%s\n%v", diff, d.forms)
	}
}

// F1: the 21st question of a run is not put, also when all are asked at once.
func TestF1QuestionsOfARun(t *testing.T) {
	for _, together := range []bool{true, false} {
		d := &desk{answer: allow}
		var paths []string
		for i := range 21 {
			paths = append(paths, fmt.Sprintf("f%d.md", i))
		}
		got := value[[]string](t, open(t,
			`{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__write_file"], "limits": {"asks": 20}}}}}`), "p",
			attempts(together, paths...), d)
		asked := 0
		for _, form := range d.forms {
			asked += len(form)
		}
		limits := 0
		for _, reason := range got {
			if reason == "limit" {
				limits++
			}
		}
		if asked != 20 || limits != 1 {
			t.Errorf("together %v: %d asked, %d over the limit: %v", together, asked, limits, got)
		}
	}
}

// E1, E2, E4, E8 in a running program: what is remembered, for what, until when.
func TestGrantsInAProgram(t *testing.T) {
	const remember = `, "remember": {"scopes": ["run", "count", "time"], "default": "5m", "max": "8h"}`
	tests := []struct {
		why      string
		settings string
		answer   func(*prompt.Request) call.Answer
		together bool
		paths    []string
		want     string // for each call: asked or not, by its result
		forms    int
	}{
		{"once", remember, allow, false, []string{"a.md", "a.md"}, "ok ok", 2},
		{"for the run, the same path", remember, remembering(call.ForRun), false, []string{"a.md", "a.md", "b.md", "a.md"},
			"ok ok ok ok", 2},
		{"for a time", remember, remembering(call.ForTime), false, []string{"a.md", "a.md"}, "ok ok", 1},
		{"nothing may be remembered", "", remembering(call.ForRun), false, []string{"a.md"}, "no_approver", 1},
		{"E8: a refusal is", remember, func(*prompt.Request) call.Answer { return call.Answer{} }, false,
			[]string{"a.md", "a.md", "b.md"}, "elicitation_declined elicitation_declined elicitation_declined", 2},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			e := open(t, fmt.Sprintf(writing, test.settings))
			d := &desk{answer: test.answer}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			r, err := e.Eval(ctx, codemode.Request{Profile: "p", Code: attempts(test.together, test.paths...),
				Channels: []approvals.Channel{d}, Principal: "local:anna", ClientSession: "s1"})
			must(t, err)
			var got []string
			must(t, json.Unmarshal(r.Value, &got))
			if strings.Join(got, " ") != test.want || len(d.forms) != test.forms {
				t.Errorf("got %v in %d forms, want %s in %d", got, len(d.forms), test.want, test.forms)
			}
			for _, g := range checktest.Must(e.People().Grants.All(ctx, "")) {
				if g.Run != "" {
					t.Errorf("%s outlives the run", g.Text())
				}
			}
			for _, entry := range e.Record().Journal().Entries() {
				if entry.State == "running" && entry.DecidedBy.How != "person" && entry.DecidedBy.How != "grant" {
					t.Errorf("decided by %s", entry.DecidedBy.How)
				}
			}
		})
	}
}

// E1: what was allowed for a time serves the principal it was allowed for; E4: until it is revoked; E5: while the
// profile stays as it is.
func TestGrantsOutliveARunAndEnd(t *testing.T) {
	const settings = `, "remember": {"scopes": ["time"]}`
	e := open(t, fmt.Sprintf(writing, settings))
	asked := func(principal string) int {
		t.Helper()
		d := &desk{answer: remembering(call.ForTime)}
		if _, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: attempts(false, "a.md"),
			Channels: []approvals.Channel{d}, Principal: principal}); err != nil {
			t.Fatal(err)
		}
		return len(d.forms)
	}
	if asked("anna") != 1 || asked("anna") != 0 || asked("ben") != 1 {
		t.Error("a grant serves another principal, or not its own")
	}
	for _, g := range checktest.Must(e.People().Grants.All(t.Context(), "anna")) {
		if err := e.People().Grants.Revoke(t.Context(), g.ID); err != nil {
			t.Error(err)
		}
	}
	if asked("anna") != 1 || asked("ben") != 0 {
		t.Error("after it was revoked")
	}
}

// C13: arguments that a person changed are checked like the program's own, both are recorded, and what is sent is what
// was allowed.
func TestC13EditedArguments(t *testing.T) {
	const config = `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__write_file"], "ask": {"edit": %v},
		"denylist": [{"id": "no-secrets", "tool": "filesystem__*", "when": {"/path": {"prefix": "secret"}}}]}}}}`
	tests := []struct {
		why, args string
		edit      bool
		want      string
		path      string // of the file that is written
	}{
		{"another path", `{"path":"b.md","content":"edited"}`, true, "ok", "b.md"},
		{"another path, laid out", "{\n  \"path\": \"b.md\",\n  \"content\": \"edited\"\n}\n", true, "ok", "b.md"},
		{"a path that is denied", `{"path":"secret.md","content":"x"}`, true, "no_approver", ""},
		{"arguments that do not fit", `{"path":7}`, true, "no_approver", ""},
		{"no JSON", `{"path":`, true, "no_approver", ""},
		{"where it is not allowed", `{"path":"b.md","content":"edited"}`, false, "no_approver", ""},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			e := open(t, fmt.Sprintf(config, test.edit))
			d := &desk{edits: true, answer: func(*prompt.Request) call.Answer {
				return call.Answer{Allowed: true, Args: json.RawMessage(test.args)}
			}}
			got := value[[]string](t, e, "p", attempts(false, "a.md"), d)
			if got[0] != test.want {
				t.Errorf("got %v, want %s", got, test.want)
			}
			for _, entry := range e.Record().Journal().Entries() {
				if entry.State != "running" {
					continue
				}
				args := entry.Args
				if test.path == "" {
					t.Errorf("it ran: %s", args.RawExecuted)
				} else if !strings.Contains(args.RawProposed.String(), "a.md") ||
					args.RawExecuted.String() != `{"path":"b.md","content":"edited"}` {
					t.Errorf("proposed %s, executed %s", args.RawProposed, args.RawExecuted)
				}
			}
		})
	}
}

// Whoever sent the program is told where a person changed the arguments of a call, and nothing of the kind about
// others.
func TestTheModelIsToldThatAPersonChangedArguments(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{`{"path":"a.md","content":"edited"}`, "changed: /content"},
		{`{"path":"b.md","content":"edited"}`, "changed: /content, /path"},
		{`{"content":"text of a.md","path":"a.md"}`, ""},
		{"", ""},
	} {
		e := open(t, `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__write_file"], "ask": {"edit": true}}}}}`)
		d := &desk{edits: true, answer: func(*prompt.Request) call.Answer {
			reply := call.Answer{Allowed: true}
			if test.args != "" {
				reply.Args = json.RawMessage(test.args)
			}
			return reply
		}}
		r, err := eval(t, e, "p", `await codemode.time__now({}); await codemode.filesystem__write_file({path: "a.md", content: "text of a.md"}); return 1`, d)
		text := r.Text(err)
		if err != nil || strings.Count(text, "a person changed") != min(len(test.want), 1) ||
			!strings.Contains(text, test.want) {
			t.Errorf("after %s (%v):\n%s", test.args, err, text)
		}
		if got := r.CallsJSON(); len(got) != 2 || got[0].Changed != nil || (got[1].Changed == nil) != (test.want == "") {
			t.Errorf("after %s: %+v", test.args, got)
		}
	}
}

// D5, N5: the person is told which argument the program read somewhere.
func TestD5ArgumentsSayWhereTheyComeFrom(t *testing.T) {
	d := &desk{answer: allow}
	value[any](t, open(t, fmt.Sprintf(writing, "")), "p", `
		const { content } = await codemode.filesystem__read_text_file({path: "a.md"});
		await codemode.filesystem__write_file({path: "written-here.md", content: "Fwd: " + content});
		return 1;`, d)
	if len(d.texts) != 1 || !strings.Contains(d.texts[0], `path: "written-here.md" (written in the program)`) ||
		!strings.Contains(d.texts[0], "(from filesystem.read_text_file, call 1)") {
		t.Errorf("got\n%s", strings.Join(d.texts, "\n"))
	}
}

// deaf answers after its question is over: a client that does not honour a cancellation.
type deaf struct {
	over chan struct{} // closed when the question is
	said chan struct{}
}

func (*deaf) Name() string { return "elicitation" }

func (d *deaf) Ask(ctx context.Context, _ *approvals.Showing) (call.Answer, error) {
	<-ctx.Done()
	close(d.over)
	<-d.said
	return yes, nil
}

// C11: an answer that comes too late does nothing, and there is an entry about it.
func TestC11LateAnswersAreRecorded(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__write_file"], "ask": {"timeout": "50ms"}}}}}`)
	d := &deaf{over: make(chan struct{}), said: make(chan struct{})}
	if got := value[[]string](t, e, "p", attempts(false, "a.md"), d); got[0] != "timeout" {
		t.Errorf("got %v", got)
	}
	<-d.over
	close(d.said)
	late := func() (found bool) {
		for _, entry := range e.Record().Journal().Entries() {
			if entry.State == "running" || entry.State == "ok" {
				t.Fatalf("it ran: %+v", entry)
			}
			found = found || entry.State == call.Late && entry.Tool == "filesystem__write_file" &&
				entry.DecidedBy.Channel == "elicitation"
		}
		return found
	}
	eventually(t, "the entry about the late answer", late)
}

// A call that only the page may approve says so, and how a person gets there, whatever else could be asked.
func TestACriticalCallSaysWhereItIsApproved(t *testing.T) {
	config := `{"evaluation": {"profiles": {"p": {"asklist": [{"tool": "filesystem__*", "risk": "critical"}], "ask": {"absent": "refuse"}}}}}`
	call := refused(`codemode.filesystem__write_file({path: "n.md", content: ""})`)
	nobody := approvals.NewStrongQueue("web")
	for name, test := range map[string]struct {
		channels []approvals.Channel
		says     string
	}{
		"a client that shows forms":   {[]approvals.Channel{says(yes, nil)}, "codemode serve --console"},
		"nobody at all":               {nil, "codemode serve --console"},
		"a page that nobody has open": {[]approvals.Channel{says(yes, nil), nobody}, "codemode console opens it"},
	} {
		e := open(t, config, func(o *codemode.Options) { o.Channels = test.channels })
		got := value[refusal](t, e, "p", call)
		if got.Name != "ToolCallDeniedError" || !strings.Contains(got.Detail, test.says) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What a person allows is done, told and recorded, though the refusal beside it ends the program while the server is
// still at it.
func TestMixedAnswersAreCarriedOut(t *testing.T) {
	up := newPerformed(t)
	up.takes = 500 * time.Millisecond
	e := open(t, fmt.Sprintf(`{"mcpServers": {"up": {"type": "http", "url": %q}}, "evaluation": {"profiles": {"p": {"asklist": ["up__second"]}}}}`, up.url))
	d := &desk{answer: func(r *prompt.Request) call.Answer {
		if string(r.Args) == `{"n":2}` {
			return call.Answer{Reason: "not this one"}
		}
		return allow(r)
	}}
	r, err := eval(t, e, "p", `await Promise.all([1, 2, 3].map(n => codemode.up__second({n})))`, d)
	if err == nil || len(r.Calls) != 3 {
		t.Fatalf("got %v, %v", r, err)
	}
	for i, want := range []hostfns.State{hostfns.Done, hostfns.Refused, hostfns.Done} {
		if c := r.Calls[i]; c.State != want {
			t.Errorf("call %d is told as %s %s %s, want %s", c.Call, c.State, c.Reason, c.Detail, want)
		}
	}
	if diff := cmp.Diff(map[string]int{`second {"n":1}`: 1, `second {"n":3}`: 1}, up.times()); diff != "" {
		t.Errorf("the server did (-want +got):\n%s", diff)
	}
	record := map[int][]string{}
	for _, entry := range e.Record().Journal().Entries() {
		if entry.Call > 0 && entry.State != call.Pending && entry.Kind != call.KindApproval {
			record[entry.Call] = append(record[entry.Call], strings.TrimSpace(entry.State+" "+entry.Reason))
		}
	}
	done := []string{"running", "ok"}
	want := map[int][]string{1: done, 2: {"refused elicitation_declined"}, 3: done}
	if diff := cmp.Diff(want, record); diff != "" {
		t.Errorf("the record has (-want +got):\n%s", diff)
	}
}

// A limit of so many questions a minute lets so many calls be approved.
func TestTheLastQuestionThatALimitLetsPassCounts(t *testing.T) {
	for _, limit := range []string{"asks", "asksPerMinute"} {
		e := open(t, fmt.Sprintf(strings.Replace(writing, `"refusals": 100`, `"refusals": 100, "%s": 2`, 1), limit, ""))
		d := &desk{answer: allow}
		got := value[[]string](t, e, "p", attempts(false, "a.md", "b.md", "c.md"), d)
		if diff := cmp.Diff([]string{"ok", "ok", "limit"}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", limit, diff)
		}
	}
}

// A question waits for people who may be expected, even if nobody is there yet, unless the profile says otherwise; why
// nobody answered is told as it was.
func TestAQuestionWaitsForPeopleWhoAreExpected(t *testing.T) {
	for _, test := range []struct {
		why, absent string
		expected    bool // there is a page or a terminal where somebody may come
		reason      string
	}{
		{"a page where nobody is", "", true, "timeout"},
		{"a page where nobody is, and the profile refuses", `, "absent": "refuse"`, true, "no_approver"},
		{"no page and no terminal", "", false, "elicitation_unsupported"},
		{"no page and no terminal, and the profile waits", `, "absent": "wait"`, false, "timeout"},
	} {
		t.Run(test.why, func(t *testing.T) {
			q := approvals.NewQueue("web")
			q.Where, q.Expects = "codemode console", func() bool { return test.expected }
			e := open(t, fmt.Sprintf(writing, `, "ask": {"timeout": "300ms"`+test.absent+`}`))
			var told []string
			r, err := e.Eval(t.Context(), codemode.Request{
				Profile: "p", Code: attempts(false, "a.md"), Channels: []approvals.Channel{says(call.Answer{},
					approvals.ErrCannotAsk), q},
				Caller: &registry.Caller{Asked: func(about string, where []string, until time.Time) (over func()) {
					told = append(told, fmt.Sprint(about, " ", where, " ", !until.IsZero()))
					return func() {}
				}},
			})
			if err != nil || string(r.Value) != `["`+test.reason+`"]` {
				t.Errorf("got %s, %v, want %s", r.Value, err, test.reason)
			}
			said, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Channels: []approvals.Channel{says(call.Answer{},
				approvals.ErrCannotAsk), q},
				Code: `try { await codemode.filesystem.write_file({path: "a.md", content: ""}) } catch (e) { return e.detail }`})
			names := strings.Contains(string(said.Value), "A person answers codemode console; then run the program again")
			if err != nil || names != (test.reason != "timeout") {
				t.Errorf("the refusal says %s, %v", said.Value, err)
			}
			if diff := cmp.Diff([]string{"filesystem.write_file [codemode console] true"}, told); diff != "" {
				t.Errorf("the client is told (-want +got):\n%s", diff)
			}
		})
	}
}

// A respondent is a person who is asked things by programs.
type respondent struct {
	mu     sync.Mutex
	asked  []string // what was shown
	answer func(r *prompt.Request) (call.Answer, error)
}

func (*respondent) Name() string   { return "elicitation" }
func (*respondent) Inquires() bool { return true }

func (p *respondent) Ask(ctx context.Context, r *approvals.Showing) (call.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, prompt.Text(r.Request, prompt.RenderOptions{}))
	reply, err := p.answer(r.Request)
	reply.Typed = true
	return reply, err
}

func answers(reply call.Answer) func(*prompt.Request) (call.Answer, error) {
	return func(*prompt.Request) (call.Answer, error) { return reply, nil }
}

const asks = `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__*"]%s}}}}`

// S3.6: a program asks a person something and gets the answer, or is told that nobody gave one.
func TestAskUserInAProgram(t *testing.T) {
	accept := func(selected []int, text string) call.Answer {
		return call.Answer{Allowed: true, Selected: selected, Text: text}
	}
	const places = `{header: "Deploy", question: "Where to?", options: ["staging", {label: "production", description: "the real one"}]%s}`
	tests := []struct {
		why, question string
		channel       func(*prompt.Request) (call.Answer, error) // nil: no channel
		want          string
	}{
		{"one of them", fmt.Sprintf(places, ""), answers(accept([]int{1}, "")),
			`{"action":"accept","answer":"production","selected":["production"],"text":""}`},
		{"some of them", fmt.Sprintf(places, ", multiple: true"), answers(accept([]int{1, 0}, "")),
			`{"action":"accept","answer":"production, staging","selected":["production","staging"],"text":""}`},
		{"words", fmt.Sprintf(places, ", freeText: true"), answers(accept(nil, "nowhere")),
			`{"action":"accept","answer":"nowhere","selected":[],"text":"nowhere"}`},
		{"a question alone", `"How many?"`, answers(accept(nil, "3")),
			`{"action":"accept","answer":"3","selected":[],"text":"3"}`},
		{"declined", fmt.Sprintf(places, ""), answers(call.Answer{}),
			`{"action":"decline","answer":"","selected":[],"text":"","detail":"a person declined to answer"}`},
		{"closed", fmt.Sprintf(places, ""), func(*prompt.Request) (call.Answer, error) {
			time.Sleep(400 * time.Millisecond) // what is closed faster was closed by a program
			return call.Answer{}, prompt.ErrDismissed
		}, `{"action":"cancel","answer":"","selected":[],"text":"","reason":"canceled","detail":"the question was closed without an answer"}`},
		{"nobody there", fmt.Sprintf(places, ""), nil,
			`{"action":"cancel","answer":"","selected":[],"text":"","reason":"elicitation_unsupported","detail":"there is no means of asking a person here"}`},
		{"a yes without an answer", fmt.Sprintf(places, ""), answers(call.Answer{Allowed: true}),
			`{"action":"cancel","answer":"","selected":[],"text":"","reason":"no_approver","detail":"nobody could be asked: elicitation gave no clear answer"}`},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			e := open(t, fmt.Sprintf(asks, ""))
			var channels []approvals.Channel
			if tt.channel != nil {
				channels = append(channels, &respondent{answer: tt.channel})
			}
			got := value[json.RawMessage](t, e, "p", "return await codemode.ask_user("+tt.question+")", channels...)
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// S3.6: what a program asks is on record, with who answered and what, and no call is allowed by it.
func TestAskUserIsRecordedAndAllowsNothing(t *testing.T) {
	e := open(t, fmt.Sprintf(asks, ""))
	p := &respondent{answer: func(r *prompt.Request) (call.Answer, error) {
		if r.Inquiry == nil {
			return call.Answer{Reason: "no"}, nil
		}
		return call.Answer{Allowed: true, Selected: []int{0}, By: "local:anna"}, nil
	}}
	got := value[string](t, e, "p", `
		const { answer } = await codemode.ask_user({ question: "May I write a.md?", options: ["yes, write it"] });
		try { await codemode.filesystem__write_file({ path: "a.md", content: "x" }); return answer + ", written" } catch (e) { return answer + ", " + e.reason }`, p)
	if got != "yes, write it, elicitation_declined" {
		t.Errorf("got %q", got)
	}
	if !strings.Contains(p.asked[0],
		"A program asks you something, in its own words.\nYour answer goes to the program, and allows no call.") ||
		!strings.Contains(p.asked[0], `question: "May I write a.md?"`) {
		t.Errorf("shown:\n%s", p.asked[0])
	}
	var kept []string
	for _, entry := range e.Record().Journal().Entries() {
		switch by := entry.DecidedBy; {
		case entry.Tool == "ask_user" && entry.State == call.Pending:
			kept = append(kept, "pending "+entry.Args.RawShown.String())
		case entry.Tool == "ask_user":
			kept = append(kept, strings.Join([]string{entry.State, by.How, by.Channel, by.Principal, entry.Reason,
				string(entry.Result.Raw)}, " "))
		}
	}
	want := []string{
		`pending {"question":"May I write a.md?","options":[{"label":"yes, write it"}]}`,
		`answered person elicitation local:anna answered {"action":"accept","answer":"yes, write it","selected":["yes, write it"],"text":""}`,
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
}

// S3.6, F1: the questions of programs are limited like those about calls, and count with them.
func TestF1QuestionsOfProgramsAreLimited(t *testing.T) {
	const three = `const out = [];
		for (let i = 0; i < 3; i++) try { out.push((await codemode.ask_user({question: "again?"})).action) } catch (e) { out.push(e.name + " " + e.reason) }
		try { await codemode.filesystem__write_file({path: "a.md", content: "x"}); out.push("written") } catch (e) { out.push(e.reason) }
		return out.join(", ");`
	for limit, want := range map[string]string{
		`"asks": 2`:          "decline, decline, ToolCallDeniedError limit, limit",
		`"asks": 3`:          "decline, decline, decline, limit",
		`"asksPerMinute": 1`: "decline, ToolCallDeniedError limit, ToolCallDeniedError limit, limit",
	} {
		t.Run(limit, func(t *testing.T) {
			p := &respondent{answer: answers(call.Answer{})}
			e := open(t, fmt.Sprintf(asks, `, "limits": {`+limit+`}`))
			if got := value[string](t, e, "p", three, p); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
	p := &respondent{answer: answers(call.Answer{})}
	e := open(t, fmt.Sprintf(asks, ""))
	got := value[int](t, e, "p",
		`let n = 0; for (let i = 0; i < 30; i++) try { await codemode.ask_user({question: "again?"}); n++ } catch {} return n`, p)
	if got != 20 || len(p.asked) != 20 {
		t.Errorf("without limits in the profile %d questions were let through, %d asked", got, len(p.asked))
	}
}

// One question is open at a time, whether a program asks or the rules do.
func TestAskUserTakesTurns(t *testing.T) {
	e := open(t, fmt.Sprintf(asks, ""))
	open := 0
	p := &respondent{}
	var guard sync.Mutex
	p.answer = func(r *prompt.Request) (call.Answer, error) {
		guard.Lock()
		open++
		if open > 1 {
			t.Error("two questions are open")
		}
		guard.Unlock()
		defer func() { guard.Lock(); open--; guard.Unlock() }()
		if r.Inquiry != nil {
			return call.Answer{Allowed: true, Text: "fine"}, nil
		}
		return allow(r), nil
	}
	got := value[string](t, e, "p", `
		const all = await Promise.all([
			codemode.ask_user("one?"), codemode.filesystem__write_file({path: "a.md", content: "x"}).then(() => ({answer: "written"})), codemode.ask_user("two?"),
		]);
		return all.map(a => a.answer).join(" ");`, p)
	if got != "fine written fine" {
		t.Errorf("got %q", got)
	}
}

// C10: the time that a person takes to answer is not the program's.
func TestAskUserStopsTheClock(t *testing.T) {
	e := open(t, fmt.Sprintf(asks, `, "limits": {"wall": "500ms"}`))
	p := &respondent{answer: func(*prompt.Request) (call.Answer, error) {
		time.Sleep(1500 * time.Millisecond) // a person who takes longer than the program may
		return call.Answer{Allowed: true, Text: "later"}, nil
	}}
	if got := value[string](t, e, "p", `return (await codemode.ask_user("when?")).text`, p); got != "later" {
		t.Errorf("got %q", got)
	}
}

// What is no question is an exception that says what is wrong, and nobody is asked.
func TestAskUserArguments(t *testing.T) {
	p := &respondent{answer: answers(call.Answer{})}
	e := open(t, fmt.Sprintf(asks, ""))
	for args, want := range map[string]string{
		``:                                    "expected an object with a question",
		`{}`:                                  "there is no question",
		`{question: 7}`:                       "/question: expected text",
		`{question: "?", option: []}`:         "/option: expected one of the keys header, question, options, multiple and freeText",
		`{question: "?", options: [1]}`:       "/options: expected an array of texts, or of {label, description}",
		`{question: "?", options: ["a","a"]}`: "option 2 has the label of another one",
		`{question: "?", multiple: true}`:     "multiple needs options",
		`{question: "x".repeat(3000)}`:        "the question has 3000 characters, and 2000 is the most",
	} {
		got := value[string](t, e, "p",
			`try { await codemode.ask_user(`+args+`); return "asked" } catch (e) { return e.name + " " + e.message }`, p)
		if !strings.HasPrefix(got, "InvalidArgumentsError ask_user: ") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
	if len(p.asked) > 0 {
		t.Errorf("asked %d times", len(p.asked))
	}
}

// G6: where it cannot be recorded that a person is asked, nobody is.
func TestAskUserNeedsARecord(t *testing.T) {
	e := open(t, fmt.Sprintf(asks, ""), func(o *codemode.Options) { o.Recorder = full{} })
	p := &respondent{answer: answers(call.Answer{Allowed: true, Text: "x"})}
	got := value[string](t, e, "p",
		`try { await codemode.ask_user("?"); return "asked" } catch (e) { return e.reason + ": " + e.detail }`, p)
	if !strings.HasPrefix(got, "denied: recording that a person is asked failed") || len(p.asked) > 0 {
		t.Errorf("got %q, asked %d times", got, len(p.asked))
	}
}

// S3.6: a front end asks on behalf of a session, without a program.
func TestAskUserWithoutAProgram(t *testing.T) {
	e := open(t, fmt.Sprintf(asks, `, "limits": {"asksPerMinute": 1}`))
	p := &respondent{answer: answers(call.Answer{Allowed: true, Text: "here"})}
	r := codemode.Request{Profile: "p", Principal: "local:anna", Channels: []approvals.Channel{p}}
	got, err := e.Runs().AskUser(t.Context(), r, json.RawMessage(`{"question":"Where?"}`))
	if err != nil || got.Action != asking.ActionAccept || got.Text != "here" {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := e.Runs().AskUser(t.Context(), r, json.RawMessage(`{"question":"Where?"}`)); err == nil ||
		!strings.Contains(err.Error(), "questions within a minute") {
		t.Errorf("over the limit: %+v, %v", got, err)
	}
	r.Principal = "local:bob"
	if _, err := e.Runs().AskUser(t.Context(), r, json.RawMessage(`{"question":"Where?"}`)); err != nil {
		t.Errorf("somebody else's limit: %v", err)
	}
	r.Profile = "none"
	if _, err := e.Runs().AskUser(t.Context(), r, json.RawMessage(`{"question":"Where?"}`)); err == nil {
		t.Error("a profile that there is not")
	}
}
