package console

import (
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals"
)

// A plan that people are asked about before the program runs is on the page for what it is: whole, with a button that says what it
// allows, and without a rule to propose.
func TestAPlanBeforeTheRunIsOnThePage(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	line := call(func(r *approvals.Request) { r.Run, r.Args = "r_ahead", nil })
	plan, err := approvals.PlanGrants([]approvals.PlannedCall{{
		Call: line, Envelope: approvals.Envelope{Fixed: []approvals.Value{{Pointer: "/owner", JSON: `"acme"`}}, Free: []string{"/title"}},
		Count: 50, Further: true, At: 7,
	}}, "r_ahead", 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	r := &approvals.Request{
		Profile: "supervised", ProfileDigest: "sha256:1", Risk: approvals.Medium, Principal: anna, Run: "r_ahead", Code: "7f3a", Time: time.Now(),
	}
	if err := r.Foretell("sha256:aabbccddeeff00112233", plan); err != nil {
		t.Fatal(err)
	}
	answers := w.ask(r)
	a := v.pending()[0]
	for _, page := range []string{v.get("/").body, v.get("/ask/" + a.ID).body} {
		for _, part := range []string{"Allow these calls in one run of the program", "further calls of line 7 (50 at most)", "/owner", "any /title"} {
			if !strings.Contains(page, part) {
				t.Errorf("%q is not on the page:\n%s", part, page)
			}
		}
		if strings.Contains(page, "propose:") || strings.Contains(page, "Allow more than this call") || strings.Contains(page, "Allow this call") {
			t.Errorf("the page offers more than the plan:\n%s", page)
		}
	}
	if want := "plan of the program aabbccddeeff: the further calls of line 7"; a.Summary != want {
		t.Errorf("summary %q, want %q", a.Summary, want)
	}
	if got, code := v.answer(Answered{ID: a.ID, Digest: a.Digest, Decision: "allow", Scope: approvals.ForPlan}); code == 200 {
		t.Errorf("a scope is taken that was not offered: %+v", got)
	}
	if got, code := v.answer(Answered{ID: a.ID, Digest: a.Digest, Decision: "allow"}); code != 200 {
		t.Errorf("got %d %+v", code, got)
	}
	if got := answerOf(t, answers)[0]; !got.Allowed || got.By != anna {
		t.Errorf("got %+v", got)
	}
}
