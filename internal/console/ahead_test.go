package console

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// A plan that people are asked about before the program runs is on the page for what it is: whole, with a button that
// says what it allows, and without a rule to propose.
func TestAPlanBeforeTheRunIsOnThePage(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	line := aCall(func(r *prompt.Request) { r.Run, r.Args = "r_ahead", nil })
	plan, err := prompt.PlanGrants([]prompt.PlannedCall{{
		Call: line, Envelope: prompt.Envelope{Fixed: []prompt.Value{{Pointer: "/owner", JSON: `"acme"`}},
			Free: []string{"/title"}},
		Count: 50, Further: true, At: 7,
	}}, "r_ahead", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	r := &prompt.Request{
		Profile: "supervised", ProfileDigest: "sha256:1", Risk: "medium", Principal: anna, Run: "r_ahead", Code: "7f3a",
		Time: time.Now(),
	}
	if err := r.PlanAhead("sha256:aabbccddeeff00112233", plan); err != nil {
		t.Fatal(err)
	}
	answers := w.ask(r)
	a := v.pending()[0]
	for _, page := range []string{v.get("/").body, v.get("/ask/" + a.ID).body} {
		for _, part := range []string{"Allow these calls in one run of the program", "further calls of line 7 (50 at most)",
			"/owner", "any /title"} {
			if !strings.Contains(page, part) {
				t.Errorf("%q is not on the page:\n%s", part, page)
			}
		}
		if strings.Contains(page, "propose:") || strings.Contains(page, "Allow more than this call") ||
			strings.Contains(page, "Allow this call") {
			t.Errorf("the page offers more than the plan:\n%s", page)
		}
	}
	if want := "plan of the program aabbccddeeff: the further calls of line 7"; a.Summary != want {
		t.Errorf("summary %q, want %q", a.Summary, want)
	}
	if got, code := v.answer(Answered{ID: a.ID, Digest: a.Digest, Decision: "allow", Scope: call.ForPlan}); code == 200 {
		t.Errorf("a scope is taken that was not offered: %+v", got)
	}
	if got, code := v.answer(Answered{ID: a.ID, Digest: a.Digest, Decision: "allow"}); code != 200 {
		t.Errorf("got %d %+v", code, got)
	}
	if got := answerOf(t, answers)[0]; !got.Allowed || got.By != anna {
		t.Errorf("got %+v", got)
	}
}

// effects are rules that say what a proposal would change.
type effects struct {
	*fakeRules
	lines []string
	err   error
}

func (e effects) Effect(context.Context, Proposal) ([]string, error) { return e.lines, e.err }

// Before a rule is proposed, the page and the terminal that hands out the code say what it would change in other calls.
// One that would have no effect is refused then, with the reason.
func TestAProposalIsShownWithWhatItChanges(t *testing.T) {
	rules := effects{fakeRules: &fakeRules{text: "{}\n"},
		lines: []string{"of 9 recent calls (30 days) it changes 2 as proposed", "it also changes 1 of 9 recent calls:",
			"  ASK -> ALLOW: x__y (1 call)"}}
	w := newWorld(t, func(o *Options) { o.Rules = rules })
	v := w.login(anna)
	shown := v.form("/rules/propose", "profile=p", "tool=x__y")
	if shown.code != 403 || !strings.Contains(shown.body, "it also changes 1 of 9 recent calls:") ||
		!strings.Contains(shown.body, "ASK -&gt; ALLOW: x__y (1 call)") {
		t.Errorf("got %d\n%s", shown.code, shown.body)
	}
	w.ask(aCall())
	a := v.pending()[0]
	if res := v.form("/answer/propose", "q="+a.ID+" "+a.Digest, "decision=allow propose:any"); !strings.Contains(res.body,
		"ASK -&gt; ALLOW: x__y (1 call)") {
		t.Errorf("with an answer: %d\n%s", res.code, res.body)
	}
	told := w.c.Confirm(anna)
	if len(told) != 2 || !strings.Contains(strings.Join(told[0].Detail, "\n"), "it also changes 1 of 9 recent calls:") {
		t.Errorf("the terminal is told %+v", told)
	}

	rules.err = errors.New("an allow rule would have no effect")
	w = newWorld(t, func(o *Options) { o.Rules = rules })
	v = w.login(anna)
	if got := v.form("/rules/propose", "profile=p", "tool=x__y"); got.code != 422 ||
		!strings.Contains(got.body, "would have no effect") || len(w.c.Confirm(anna)) != 0 {
		t.Errorf("without effect: %d\n%s", got.code, got.body)
	}
}
