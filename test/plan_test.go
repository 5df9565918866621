package codemode_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/record/report"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/internal/store"
)

const aheadProgram = `
	const out = [], write = ["filesystem", "write_file"].join("__");
	const attempt = async (what, call) => { try { await call(); out.push(what + " ok") } catch (e) { out.push(what + " " + e.reason) } };
	await attempt("a", () => codemode.filesystem__write_file({path: "a.md", content: "1"}));
	for (const i of [1, 2]) await attempt("log", () => codemode.filesystem__write_file({path: "log.md", content: "line " + i}));
	await attempt("c", () => codemode[write]({path: "c.md", content: "3"}));
	return out.join(", ");`

// ahead asks people about a program before it runs.
func ahead(t *testing.T, e *codemode.Evaluator, principal, code string,
	channels ...approvals.Channel) *preflight.PlanAnswer {
	t.Helper()
	answer, err := e.Runs().AllowPlan(t.Context(), codemode.Request{Profile: "p", Code: code, Channels: channels,
		Principal: principal})
	must(t, err)
	return answer
}

func evaluates(t *testing.T, e *codemode.Evaluator, principal, code string, channels ...approvals.Channel) string {
	t.Helper()
	r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: code, Channels: channels, Principal: principal})
	if err != nil {
		t.Fatalf("the program did not finish:\n%s", r.Text(err))
	}
	return strings.Trim(string(r.Value), `"`)
}

// N2: a person allows the plan of a program before it runs. In one run of it the planned calls then pass without a
// question; what is not planned is asked about, and so is everything in the next run.
func TestN2APlanIsAllowedBeforeTheRun(t *testing.T) {
	for where, change := range map[string]func(*codemode.Options){
		"in memory":   func(*codemode.Options) {},
		"in a record": recorded(t.TempDir()),
	} {
		t.Run(where, func(t *testing.T) {
			e := open(t, fmt.Sprintf(remembersRuns, ""), change)
			before := &desk{answer: allow}
			answer := ahead(t, e, "local:anna", aheadProgram, before)
			if !answer.Allowed || len(before.texts) != 1 || !answer.Until.After(time.Now()) ||
				answer.Until.After(time.Now().Add(11*time.Minute)) {
				t.Fatalf("got %+v", answer)
			}
			for _, part := range []string{
				"You can allow calls of a program before it runs.",
				"1. filesystem.write_file, further calls of line 4 (50 at most), with", `/path "a.md"`,
				"2. filesystem.write_file, further calls of line 5 (50 at most), with", "any /content",
				"calls whose names are made while the program runs",
			} {
				if !strings.Contains(before.texts[0], part) {
					t.Errorf("%q is not in the question:\n%s", part, before.texts[0])
				}
			}
			if left, err := e.People().Grants.All(t.Context(), "local:anna"); err != nil || len(left) != 1 ||
				!strings.Contains(left[0].Allows(), "filesystem.write_file") {
				t.Errorf("grants: %v, %v", left, err)
			}
			d := &desk{answer: refuse}
			if got := evaluates(t, e, "local:anna", aheadProgram, d); got != "a ok, log ok, log ok, c elicitation_declined" {
				t.Errorf("got %s", got)
			}
			if want := [][]string{{`write_file{"path":"c.md","content":"3"}`}}; !cmp.Equal(want, d.forms) {
				t.Errorf("asked about %v", d.forms)
			}
			if len(d.texts) > 0 && strings.Contains(d.texts[0], "You can allow these calls with it") {
				t.Errorf("the plan is offered again:\n%s", d.texts[0])
			}
			if left, err := e.People().Grants.All(t.Context(), ""); err != nil || len(left) != 0 {
				t.Errorf("what was granted outlives the run: %v, %v", left, err)
			}
			again := &desk{answer: allow}
			if evaluates(t, e, "local:anna", aheadProgram, again); len(again.forms) != 4 {
				t.Errorf("in the next run people are asked about %v", again.forms)
			}
		})
	}
}

// N2: what was allowed is for this program, this principal and the profile as it is; it can be revoked, and is over
// after a while.
func TestN2APlanIsForOneProgramOfOnePrincipal(t *testing.T) {
	for why, change := range map[string]func(t *testing.T, e *codemode.Evaluator) (principal, code string){
		"another program": func(*testing.T, *codemode.Evaluator) (string, string) { return "local:anna", aheadProgram + " " },
		"somebody else":   func(*testing.T, *codemode.Evaluator) (string, string) { return "local:ben", aheadProgram },
		"revoked": func(t *testing.T, e *codemode.Evaluator) (string, string) {
			all, err := e.People().Grants.All(t.Context(), "local:anna")
			if err != nil || len(all) != 1 {
				t.Fatalf("%v, %v", all, err)
			}
			must(t, e.People().Grants.Revoke(t.Context(), all[0].ID))
			return "local:anna", aheadProgram
		},
	} {
		t.Run(why, func(t *testing.T) {
			e := open(t, fmt.Sprintf(remembersRuns, ""))
			if answer := ahead(t, e, "local:anna", aheadProgram, &desk{answer: allow}); !answer.Allowed {
				t.Fatalf("got %+v", answer)
			}
			principal, code := change(t, e)
			d := &desk{answer: allow}
			if evaluates(t, e, principal, code, d); len(d.forms) != 4 {
				t.Errorf("asked about %v", d.forms)
			}
		})
	}
	t.Run("other rules on who may answer", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "codemode.json")
		write := func(more string) {
			t.Helper()
			must(t, os.WriteFile(path, fmt.Appendf(nil, remembersRuns, more), 0o600))
		}
		write("")
		e, err := codemode.New(t.Context(), codemode.Options{ConfigPath: path, Root: t.TempDir(), CacheDir: cachetest.Dir()})
		must(t, err)
		t.Cleanup(func() { e.Close(context.Background()) })
		changed := make(chan struct{}, 1)
		defer e.Subscribe(func() {
			select {
			case changed <- struct{}{}:
			default:
			}
		})()
		if answer := ahead(t, e, "local:anna", aheadProgram, &desk{answer: allow}); !answer.Allowed {
			t.Fatalf("got %+v", answer)
		}
		before := e.Config().Profile("p").Digest()
		write(`, "ask": {"minHuman": "1ms"}`)
		for e.Config().Profile("p").Digest() == before {
			<-changed
		}
		d := &desk{answer: allow}
		if evaluates(t, e, "local:anna", aheadProgram, d); len(d.forms) != 4 {
			t.Errorf("asked about %v", d.forms)
		}
	})
}

// N2: a denied call stays denied, whatever was allowed before the run; a no is a no to the plan, and the run asks call
// by call.
func TestN2APlanThatIsRefusedChangesNothing(t *testing.T) {
	e := open(t, fmt.Sprintf(remembersRuns, ""))
	answer := ahead(t, e, "local:anna", aheadProgram,
		&desk{answer: func(*prompt.Request) call.Answer { return call.Answer{Reason: "not today"} }})
	if answer.Allowed || answer.Reason != call.CodeDeclined || !strings.Contains(answer.Text(), "not today") {
		t.Errorf("got %+v: %s", answer, answer.Text())
	}
	d := &desk{answer: allow}
	if evaluates(t, e, "local:anna", aheadProgram, d); len(d.forms) != 4 {
		t.Errorf("asked about %v", d.forms)
	}
}

// N2: nobody is asked where there is nothing to allow, and nobody to ask is told apart from a no.
func TestN2WhenNobodyIsAskedAboutAPlan(t *testing.T) {
	noRuns := strings.Replace(fmt.Sprintf(remembersRuns, ""), `"run"`, `"time"`, 1)
	for why, tt := range map[string]struct {
		config, principal, program string
		channel                    bool
		want                       string // in the text
	}{
		"nothing would be asked": {fmt.Sprintf(remembersRuns, ""), "local:anna", "return 1", true,
			"no call of its text"},
		"nothing may be remembered": {noRuns, "local:anna", aheadProgram, true, "no call of its text"},
		"nobody knows for whom":     {fmt.Sprintf(remembersRuns, ""), "", aheadProgram, true, "nobody knows for whom"},
		"nobody is there to be asked": {fmt.Sprintf(remembersRuns, ""), "local:anna", aheadProgram, false,
			"no means of asking"},
	} {
		t.Run(why, func(t *testing.T) {
			e := open(t, tt.config)
			d := &desk{answer: allow}
			var channels []approvals.Channel
			if tt.channel {
				channels = append(channels, d)
			}
			answer := ahead(t, e, tt.principal, tt.program, channels...)
			if answer.Allowed || !strings.Contains(answer.Text(), tt.want) || len(d.forms) != 0 {
				t.Errorf("asked about %v, and got %+v: %s", d.forms, answer, answer.Text())
			}
		})
	}
	e := open(t, fmt.Sprintf(remembersRuns, ""))
	if answer, err := e.Runs().AllowPlan(t.Context(), codemode.Request{Profile: "p", Code: "return (",
		Principal: "local:anna"}); err == nil {
		t.Errorf("a program that cannot run: %+v", answer)
	}
}

// N2: who allowed what, before which run, is in the record, and is no call there.
func TestN2APlanIsOnRecord(t *testing.T) {
	dir := t.TempDir()
	e := open(t, fmt.Sprintf(remembersRuns, ""), recorded(dir))
	ahead(t, e, "local:anna", aheadProgram, &desk{answer: allow})
	evaluates(t, e, "local:anna", aheadProgram, &desk{answer: refuse})
	must(t, e.Close(t.Context()))
	var grant string
	used := 0
	for _, entry := range readRecord(t, dir) {
		switch {
		case entry.Tool == "plan" && entry.State == "pending":
			if entry.Args == nil || !strings.Contains(string(entry.Args.Redacted), "log.md") {
				t.Errorf("what was asked is not in the record: %+v", entry.Args)
			}
		case entry.Tool == "plan":
			if grant = entry.DecidedBy.Grant; entry.State != "allowed" || entry.DecidedBy.How != "person" ||
				entry.DecidedBy.Scope != "plan" || !strings.HasPrefix(entry.ToolDefinition, "sha256:") {
				t.Errorf("got %+v, %+v", entry, entry.DecidedBy)
			}
		case entry.State == "running" && entry.DecidedBy != nil && entry.DecidedBy.How == "grant":
			if used++; grant == "" || !strings.HasPrefix(entry.DecidedBy.Grant, grant+"_") {
				t.Errorf("a call was allowed by %q, and the plan is %q", entry.DecidedBy.Grant, grant)
			}
		}
	}
	if grant == "" || used != 3 {
		t.Errorf("grant %q answered for %d calls, want 3", grant, used)
	}
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "codemode.db"), ReadOnly: true})
	must(t, err)
	defer db.Close()
	summary, err := report.Summarise(t.Context(), db, store.Query{})
	must(t, err)
	if want := map[string]int{"allowed": 1}; !cmp.Equal(summary.Plans, want) || len(summary.Rules) != 1 ||
		summary.Rules[0].Rule != "fs-write" {
		t.Errorf("plans %v, rules that asked %+v", summary.Plans, summary.Rules)
	}
	var csv strings.Builder
	if n, err := report.Calls(t.Context(), &csv, db, store.Query{}); err != nil || n != 4 {
		t.Errorf("%d calls, %v:\n%s", n, err, csv.String())
	}
}

const remembersRuns = `{"evaluation": {"profiles": {"p": {
	"asklist": [{"id": "fs-write", "tool": "filesystem__write_file"}],
	"denylist": [{"id": "no-secret", "tool": "filesystem__*", "when": {"/path": {"glob": "secret*"}}}],
	"remember": {"scopes": ["run"]}%s}}}}`

// planner is a person who approves the plan where it is offered, and else says what then says.
func planner(then func(*prompt.Request) call.Answer) *desk {
	return &desk{answer: func(r *prompt.Request) call.Answer {
		if len(r.Plan) > 0 {
			return call.Answer{Allowed: true, Scope: call.ForPlan}
		}
		return then(r)
	}}
}

func refuse(*prompt.Request) call.Answer { return call.Answer{} }

const planProgram = `
	const out = [], write = ["filesystem", "write_file"].join("__");
	try { await codemode.filesystem__write_file({path: "a.md", content: "1"}); out.push("a ok") } catch (e) { out.push("a " + e.reason) }
	try { await codemode.filesystem__write_file({path: "b.md", content: "2"}); out.push("b ok") } catch (e) { out.push("b " + e.reason) }
	for (const i of [1, 2, 3]) {
		try { await codemode.filesystem__write_file({path: "log.md", content: "line " + i}); out.push("log ok") } catch (e) { out.push("log " + e.reason) }
	}
	try { await codemode[write]({path: "c.md", content: "3"}); out.push("c ok") } catch (e) { out.push("c " + e.reason) }
	try { await codemode.filesystem__write_file({path: "b.md", content: "2"}); out.push("b ok") } catch (e) { out.push("b " + e.reason) }
	try { await codemode[write]({path: "b.md", content: "4"}); out.push("b ok") } catch (e) { out.push("b " + e.reason) }
	return out;`

// N2: the first question of a run offers the plan of its text. Planned calls then pass without a question, what is not
// planned is asked about, the grants are in the record, and none of them outlives the run.
func TestN2PlanApproval(t *testing.T) {
	e := open(t, fmt.Sprintf(remembersRuns, ""))
	d := planner(refuse)
	got := value[[]string](t, e, "p", planProgram, d)
	want := []string{"a ok", "b ok", "log ok", "log ok", "log ok", "c elicitation_declined", "b ok",
		"b elicitation_declined"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := [][]string{{`write_file{"path":"a.md","content":"1"}`}, {`write_file{"path":"c.md","content":"3"}`},
		{`write_file{"path":"b.md","content":"4"}`}}; !cmp.Equal(want, d.forms) {
		t.Errorf("asked about %v", d.forms)
	}
	for _, part := range []string{"filesystem.write_file, at most 2 times, with", `/path "b.md"`, `/content "2"`,
		"filesystem.write_file, further calls of line 6 (50 at most), with", `/path "log.md"`, "any /content"} {
		if !strings.Contains(d.texts[0], part) {
			t.Errorf("%q is not in the question:\n%s", part, d.texts[0])
		}
	}
	if strings.Contains(d.texts[1], "log.md") {
		t.Errorf("the second question offers the plan again:\n%s", d.texts[1])
	}
	how := map[string]int{}
	var plan string
	for _, entry := range e.Record().Journal().Entries() {
		if by := entry.DecidedBy; entry.State == "running" {
			how[by.How]++
			if by.Scope == string(call.ForPlan) {
				plan = by.Grant
			} else if !strings.HasPrefix(by.Grant, plan+"_") || plan == "" {
				t.Errorf("call %d was allowed by %q, which is not of the plan %q", entry.Call, by.Grant, plan)
			}
		}
	}
	if !cmp.Equal(how, map[string]int{"person": 1, "grant": 5}) {
		t.Errorf("decided by %v", how)
	}
	if left, err := e.People().Grants.All(t.Context(), ""); err != nil || len(left) != 0 {
		t.Errorf("unused grants outlive the run: %v, %v", left, err)
	}
}

// N2: what was approved with the plan is decided when it is made: a rule that came since denies it, and another profile
// or another tool leaves no plan.
func TestN2PlannedCallsAreDecidedAgain(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "codemode.json")
	write := func(more string) {
		t.Helper()
		must(t, os.WriteFile(path, []byte(fmt.Sprintf(remembersRuns, more)), 0o600))
	}
	write("")
	e, err := codemode.New(t.Context(), codemode.Options{ConfigPath: path, Root: t.TempDir(), CacheDir: cachetest.Dir()})
	must(t, err)
	t.Cleanup(func() { e.Close(t.Context()) })
	changed := make(chan struct{}, 1)
	defer e.Subscribe(func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})()
	before := ""
	d := planner(func(r *prompt.Request) call.Answer { return allow(r) })
	inner := d.answer
	d.answer = func(r *prompt.Request) call.Answer {
		reply := inner(r)
		if reply.Scope == call.ForPlan { // while the question is open the profile says otherwise who may answer
			before = e.Config().Profile("p").Digest()
			for len(changed) > 0 {
				<-changed
			}
			write(`, "ask": {"minHuman": "1ms"}`)
			for e.Config().Profile("p").Digest() == before {
				<-changed
			}
		}
		return reply
	}
	const program = `
		const out = [];
		for (const call of [() => codemode.filesystem__write_file({path: "a.md", content: "1"}), () => codemode.filesystem__write_file({path: "b.md", content: "2"})])
			try { await call(); out.push("ok") } catch (e) { out.push(e.reason) }
		return out;`
	got := value[[]string](t, e, "p", program, d)
	if !slices.Contains(got, "policy_changed") && len(d.forms) < 2 {
		t.Errorf("a changed profile left the plan as it was: %v, asked about %v", got, d.forms)
	}
}

// N2: who does not want the plan allows one call; where answers are not remembered for a run, where a call is denied or
// of a high risk, it is no part of a plan.
func TestN2WhatIsNoPlan(t *testing.T) {
	const two = `await codemode.filesystem__write_file({path: "a.md", content: "1"}); await codemode.filesystem__write_file({path: "b.md", content: "2"}); return 1`
	for why, tt := range map[string]struct {
		config, program string
		plan            int
	}{
		"two calls":          {fmt.Sprintf(remembersRuns, ""), two, 1},
		"nothing remembered": {strings.Replace(fmt.Sprintf(remembersRuns, ""), `"run"`, `"time"`, 1), two, 0},
		"a high risk": {strings.Replace(fmt.Sprintf(remembersRuns, ""), `"id": "fs-write",`,
			`"id": "fs-write", "risk": "high",`, 1), two, 0},
		"one call": {fmt.Sprintf(remembersRuns, ""),
			`await codemode.filesystem__write_file({path: "a.md", content: "1"}); return 1`, 0},
		"a denied one": {fmt.Sprintf(remembersRuns, ""),
			`await codemode.filesystem__write_file({path: "a.md", content: "1"}); try { await codemode.filesystem__write_file({path: "secret.md", content: "2"}) } catch {} return 1`, 0},
		"one that does not exist": {fmt.Sprintf(remembersRuns, ""),
			`await codemode.filesystem__write_file({path: "a.md", content: "1"}); try { await codemode.filesystem__write_files({path: "b.md"}) } catch {} return 1`, 0},
		"a long text": {fmt.Sprintf(remembersRuns, ""),
			`await codemode.filesystem__write_file({path: "a.md", content: "1"}); await codemode.filesystem__write_file({path: "b.md", content: "` + strings.Repeat("x", 300) + `"}); return 1`, 0},
		"a secret": {fmt.Sprintf(remembersRuns, ""),
			`await codemode.filesystem__write_file({path: "a.md", content: "1"}); await codemode.filesystem__write_file({path: "b.md", content: "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"}); return 1`, 0},
	} {
		t.Run(why, func(t *testing.T) {
			e := open(t, tt.config)
			lines := -1
			d := &desk{answer: func(r *prompt.Request) call.Answer {
				if lines < 0 {
					lines = len(r.Plan)
				}
				return allow(r)
			}}
			value[int](t, e, "p", tt.program, d)
			if lines != tt.plan {
				t.Errorf("a plan of %d lines, want %d:\n%s", lines, tt.plan, d.texts[0])
			}
		})
	}
}

// A plan is offered for calls that can still come, and says of which line where nobody knows how many: what is all
// there with the first question, or lies behind it, is no plan.
func TestAPlanIsOfferedForCallsThatCanStillCome(t *testing.T) {
	const write = "codemode.filesystem__write_file"
	offFor := strings.Replace(fmt.Sprintf(remembersRuns, ""), `"remember"`, `"ask": {"batch": false}, "remember"`, 1)
	for why, tt := range map[string]struct {
		config, program string
		want            []string // the lines of the plan, in their order; none is no plan
	}{
		"all of them are there": {"", `await Promise.all([1, 2, 3, 4, 5].map(i => ` + write +
			`({path: "a.md", content: "x" + i}))); return 1`, nil},
		"all of them are there, in a function of its own": {"", `const one = async i => await ` + write + `({path: "a.md", content: "x" + i});
			await Promise.all([1, 2, 3, 4, 5].map(one)); return 1`, nil},
		"all of them are there, and one comes after": {"", `await Promise.all([1, 2].map(i => ` + write + `({path: "a.md", content: "x" + i})));
			await ` + write + `({path: "log.md", content: "x"}); return 1`, []string{`filesystem.write_file, once, with`}},
		"all of them come later": {"", `await ` + write + `({path: "log.md", content: "x"});
			await Promise.all([1, 2].map(i => ` + write + `({path: "a.md", content: "x" + i}))); return 1`, []string{`filesystem.write_file, further calls of line 2 (50 at most), with`}},
		"one after the other": {"", `for (const i of [1, 2, 3])
			await ` + write + `({path: "a.md", content: "x" + i});
			return 1`, []string{`filesystem.write_file, further calls of line 2 (50 at most), with`}},
		"in chunks": {"", `for (const c of [[1, 2], [3]]) await Promise.all(c.map(i => ` + write +
			`({path: "a.md", content: "x" + i}))); return 1`,
			[]string{`filesystem.write_file, further calls of line 1 (50 at most), with`}},
		"a loop that is over": {"", `for (const i of []) await ` + write + `({path: "a.md", content: "x" + i});
			await ` + write + `({path: "log.md", content: "x"}); return 1`, nil},
		"a branch that was not taken": {"", `if (input) await ` + write + `({path: "a.md", content: "x"});
			await ` + write + `({path: "b.md", content: "x"}); return 1`, nil},
		"two loops that say the same": {"", `for (const i of [1]) await ` + write + `({path: "a.md", content: i + ""});
			for (const i of [1]) await ` + write + `({path: "a.md", content: i + ""}); return 1`,
			[]string{`filesystem.write_file, further calls of lines 1 and 2 (50 at most), with`}},
		"one by one": {offFor, `await Promise.all([1, 2, 3].map(i => ` + write +
			`({path: "a.md", content: "x" + i}))); return 1`,
			[]string{`filesystem.write_file, further calls of line 1 (50 at most), with`}},
		"more than may be under way": {strings.Replace(fmt.Sprintf(remembersRuns, ""), `"remember"`,
			`"limits": {"inFlight": 1}, "remember"`, 1),
			`await Promise.all([1, 2, 3].map(i => ` + write + `({path: "a.md", content: "x" + i}))); return 1`, nil},
	} {
		t.Run(why, func(t *testing.T) {
			config := tt.config
			if config == "" {
				config = fmt.Sprintf(remembersRuns, "")
			}
			e := open(t, config)
			d := &desk{answer: allow}
			value[int](t, e, "p", tt.program, d)
			var got []string
			for line := range strings.Lines(d.texts[0]) {
				if i := strings.Index(line, "filesystem.write_file, "); i >= 0 {
					got = append(got, strings.TrimSpace(line[i:]))
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q:\n%s", got, tt.want, d.texts[0])
			}
		})
	}
}
