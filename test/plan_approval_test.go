package codemode_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/cachetest"
)

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
		if entry.Kind == "running" {
			how[entry.DecidedBy]++
			if entry.Scope == string(call.ForPlan) {
				plan = entry.Grant
			} else if !strings.HasPrefix(entry.Grant, plan+"_") || plan == "" {
				t.Errorf("call %d was allowed by %q, which is not of the plan %q", entry.Call, entry.Grant, plan)
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
		if err := os.WriteFile(path, []byte(fmt.Sprintf(remembersRuns, more)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	e, err := codemode.New(t.Context(), codemode.Options{ConfigPath: path, Root: t.TempDir(), CacheDir: cachetest.Dir()})
	if err != nil {
		t.Fatal(err)
	}
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
