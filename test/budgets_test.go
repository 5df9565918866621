package codemode_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
)

// awaitRoom returns when there is room for what a test does soon in a minute, an hour or a day.
func awaitRoom(window, room time.Duration) {
	if left := time.Until(time.Now().Truncate(window).Add(window)); left < room {
		time.Sleep(left) // until the next window
	}
}

const tries = `
	const arguments_ = {filesystem__read_text_file: {path: "a.md"}, filesystem__write_file: {path: "new.md", content: "x"}, time__now: {}}
	const outcomes = []
	for (const tool of input) {
		try { await codemode[tool](arguments_[tool]); outcomes.push("ok") }
		catch (e) { outcomes.push(e.budget ?? e.message) }
	}
	return outcomes.join(" ")`

func TestBudgets(t *testing.T) {
	t.Parallel()
	everyStore(t, func(t *testing.T, open func(*testing.T, string) *codemode.Evaluator) {
		const read, write = "filesystem__read_text_file", "filesystem__write_file"
		for _, test := range []struct{ why, budgets, principals, tools, want string }{
			{"calls of every principal", `{"id": "a", "calls": 3, "every": "hour"}`, "anna bert", read, "ok ok ok a|ok ok ok a"},
			{"of all together", `{"id": "a", "calls": 3, "every": "day", "each": []}`, "anna bert", read, "ok ok ok a|a a a a"},
			{"of one profile", `{"id": "a", "calls": 0, "every": "day", "profile": "other"}`, "anna", read, "ok ok ok ok"},
			{"of this profile", `{"id": "a", "calls": 0, "every": "day", "profile": "p"}`, "anna", read, "a a a a"},
			{"of some tools", `{"id": "a", "tool": "*__write_*", "calls": 1, "every": "day"}`, "anna", read + " " + write,
				"ok ok ok ok ok a a a"},
			{"of each tool", `{"id": "a", "calls": 2, "every": "minute", "each": ["tool"]}`, "anna", read + " " + write,
				"ok ok a a ok ok a a"},
			{"of each server", `{"id": "a", "calls": 2, "every": "minute", "each": ["server"]}`, "anna", read + " time__now",
				"ok ok a a ok ok a a"},
			{"writes, when nobody believes the server", `{"id": "a", "writes": 1, "every": "hour"}`, "anna", read, "ok a a a"},
			{"the first budget without room", `{"id": "b", "calls": 9, "every": "hour"}, {"id": "a", "calls": 1, "every": "hour"}`,
				"anna", read, "ok a a a"},
			{"bytes of arguments and answers", `{"id": "a", "bytes": 90, "every": "hour"}`, "anna", read, "ok ok ok a"},
		} {
			t.Run(test.why, func(t *testing.T) {
				e := open(t, `{"budgets": [`+test.budgets+`], "evaluation": {"profiles": {"p": {"allowlist": ["*"]}, "other": {}}}}`)
				awaitRoom(time.Minute, 10*time.Second)
				var got []string
				for principal := range strings.FieldsSeq(test.principals) {
					var tools []string
					for tool := range strings.FieldsSeq(test.tools) {
						tools = append(tools, tool, tool, tool, tool)
					}
					input := fmt.Sprintf("[\"%s\"]", strings.Join(tools, `","`))
					r, err := e.Eval(t.Context(), codemode.Request{Principal: principal, Profile: "p", Code: tries,
						Input: []byte(input)})
					if err != nil {
						t.Fatal(r.Text(err))
					}
					got = append(got, strings.Trim(string(r.Value), `"`))
				}
				if s := strings.Join(got, "|"); s != test.want {
					t.Errorf("got %s, want %s", s, test.want)
				}
			})
		}
	})
}

// A program learns when it can go on. The record has a refusal once, and nobody is asked in vain.
func TestABudgetThatIsUsedUp(t *testing.T) {
	t.Parallel()
	awaitRoom(24*time.Hour, time.Minute)
	e := open(t, `{"budgets": [{"id": "mine", "calls": 1, "every": "day"}], "evaluation": {"profiles": {
		"p": {"allowlist": ["time__now"], "asklist": ["filesystem__*"]}}}}`,
		withRecord(t))
	r, err := e.Eval(t.Context(), codemode.Request{Principal: "anna", Profile: "p", Code: `
		await codemode.time__now({})
		for (let i = 0; i < 100; i++) await codemode.time__now({}).catch(() => 1)
		return await codemode.filesystem__read_text_file({path: "a.md"}).catch(e => [e.name, e instanceof LimitError,
			e instanceof ToolCallDeniedError, e.constructor === LimitError, e.reason, e.budget, e.until,
			e.retryable, e.retryAfter > 0 && e.retryAfter <= 86401, e.detail])`})
	if err != nil {
		t.Fatal(r.Text(err))
	}
	end := time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour).Format(time.RFC3339)
	want := fmt.Sprintf(`["LimitError",true,true,true,"limit","mine","%s",true,true,"the budget \"mine\" (1 calls a day `+
		`for principal anna) has no room for it until %[1]s"]`, end)
	if string(r.Value) != want {
		t.Errorf("got  %s\nwant %s", r.Value, want)
	}
	kinds := map[string]int{}
	must(t, e.Record().Flush(t.Context()))
	db, err := e.Record().DB(t.Context())
	must(t, err)
	must(t, audit.Entries(t.Context(), db, store.Query{}, func(e *audit.Entry) error {
		kinds[e.Kind+" "+e.State]++
		return nil
	}))
	if kinds["call running"] != 1 || kinds["call refused"] != 1 || kinds["call asked"] != 0 {
		t.Errorf("the record has %v", kinds)
	}
}

// Four replicas and a thousand runs at once use a budget up, and nothing more.
func TestBudgetsOfAFleet(t *testing.T) {
	for _, row := range sharedStores {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			up := newPerformed(t)
			up.takes = 0
			dir := fleetFolder(t, up, row.store(t))
			path := filepath.Join(dir, "codemode.json")
			text, err := os.ReadFile(path)
			must(t, err)
			const replicas, runs, most = 4, 1000, 700
			text = fmt.Appendf(nil, `{"budgets": [{"id": "all", "calls": %d, "every": "day"}], %s`, most, text[1:])
			must(t, os.WriteFile(path, text, 0o600))
			var all []*codemode.Evaluator
			for range replicas {
				e, _ := newReplica(t, dir)
				defer e.Close(context.WithoutCancel(t.Context()))
				all = append(all, e)
			}
			awaitRoom(24*time.Hour, 5*time.Minute)
			var mu sync.Mutex
			got := map[string]int{}
			var group sync.WaitGroup
			slots := make(chan struct{}, 64)
			for i := range runs {
				group.Go(func() {
					slots <- struct{}{}
					defer func() { <-slots }()
					r, err := all[i%replicas].Eval(t.Context(), codemode.Request{Principal: "anna", Profile: "q",
						Code: `return await codemode.up__first({}).then(() => "ok", e => e.budget ?? e.message)`})
					mu.Lock()
					defer mu.Unlock()
					got[fmt.Sprint(string(r.Value), err)]++
				})
			}
			group.Wait()
			checkFleet(t, up.times()["first {}"], runs, most, got)
		})
	}
}

// checkFleet checks how many runs of each outcome there were. A call that a slow machine's store did not take in time is
// refused with words for that, and may have been counted: then it was not sent, and others find less room.
func checkFleet(t *testing.T, sent, runs, most int, got map[string]int) {
	t.Helper()
	ok, full, slow := got[`"ok"<nil>`], got[`"all"<nil>`], 0
	for outcome, n := range got {
		if strings.Contains(outcome, "did not answer in time") || strings.Contains(outcome, "its budget is unknown") {
			slow += n
		}
	}
	if slow > 0 {
		t.Logf("the store was too slow for %d of %d calls", slow, runs)
	}
	if sent != ok || sent > most || ok+full+slow != runs || full > 0 && ok+slow < most || slow == 0 && sent != most ||
		slow > runs/2 {
		t.Errorf("%d calls reached the server, of %d that fit; %v", sent, most, got)
	}
}

// Callers whom nobody verified choose their names, so they share what everybody without a name may use.
func TestP39_8InventedTokensShareABudget(t *testing.T) {
	t.Parallel()
	awaitRoom(24*time.Hour, time.Minute)
	e := open(t, `{"budgets": [{"id": "mine", "calls": 2, "every": "day"}], "evaluation": {"profiles": {"p": {"allowlist": ["*"]}}}}`)
	for i, want := range []string{"ok", "ok", "mine", "mine"} {
		r, err := e.Eval(t.Context(), codemode.Request{Principal: fmt.Sprint("invented-", i), Unchecked: true, Profile: "p",
			Code: tries, Input: []byte(`["time__now"]`)})
		if err != nil || string(r.Value) != `"`+want+`"` {
			t.Errorf("caller %d: got %s (%v), want %s", i, r.Value, err, want)
		}
	}
	r, err := e.Eval(t.Context(), codemode.Request{Principal: "anna", Profile: "p", Code: tries, Input: []byte(`["time__now"]`)})
	if err != nil || string(r.Value) != `"ok"` {
		t.Errorf("a caller who is known: got %s (%v), want ok", r.Value, err)
	}
}

func TestP39_8ErrorsHaveBytes(t *testing.T) {
	t.Parallel()
	awaitRoom(24*time.Hour, time.Minute)
	e := open(t, `{"budgets": [{"id": "mine", "bytes": 60, "every": "day"}], "evaluation": {"profiles": {"p": {"allowlist": ["*"]}}}}`)
	r, err := e.Eval(t.Context(), codemode.Request{Principal: "anna", Profile: "p", Code: `
		const got = []
		for (let i = 0; i < 4; i++) await codemode.filesystem__read_text_file({path: "no.md"}).catch(e => got.push(e.budget ?? e.name))
		return got.join(" ")`})
	if err != nil || !strings.HasPrefix(string(r.Value), `"ToolError `) || !strings.HasSuffix(string(r.Value), ` mine mine"`) {
		t.Errorf("got %s (%v), want errors of the tool until the budget is used up", r.Value, err)
	}
}
