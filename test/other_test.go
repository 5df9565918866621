package codemode_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// Where somebody other than the caller has to approve, nobody approves what a caller does whom nobody verified: not on
// the page, not ahead, not with an earlier yes, and the fallback does not either.
func TestP39_10NobodyIsAnotherOneThanAnUnknownCaller(t *testing.T) {
	by := func(name string) *person {
		return &person{answer: func(_ context.Context, r *prompt.Request) (call.Answer, error) {
			a := yes
			a.By = name
			for _, scope := range r.Terms.Scopes {
				a.Scope = scope
			}
			return a, nil
		}}
	}
	for _, row := range []struct {
		title, principal string
		unchecked        bool
		settings         string
		by               string // "" is that nobody is there
		want             string
		asked            int
	}{
		{"a known caller, somebody else", "anna", false, ``, "ben", "happened", 1},
		{"a known caller, who answers", "anna", false, ``, "anna", "no_approver", 1},
		{"a known caller, no name", "anna", false, ``, "", "no_approver", 1},
		{"an unknown caller", "sha256:ab", true, ``, "ben", "no_approver", 0},
		{"an unknown caller, who answers", "anna", true, ``, "anna", "no_approver", 0},
		{"a caller without a name", "", false, ``, "ben", "no_approver", 0},
		{"an unknown caller without a name", "", true, ``, "ben", "no_approver", 0},
		{"an unknown caller, a fallback", "anna", true, `, "elicitationFallback": "allow"`, "nobody", "no_approver", 0},
	} {
		e := open(t, `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__*"], "ask": {"approver": "other"},
			"remember": {"scopes": ["time"], "args": "any"}`+row.settings+`}}}}`)
		p := by(row.by)
		r := codemode.Request{Profile: "p", Principal: row.principal, Unchecked: row.unchecked,
			Code: "try { await codemode.filesystem__write_file({path: 'a', content: ''}); return 'happened' } catch (e) { return e.reason }"}
		if row.by != "nobody" {
			r.Channels = []approvals.Channel{p}
		}
		if answer, err := e.Runs().AllowPlan(t.Context(), r); err != nil || row.unchecked && answer.Allowed {
			t.Errorf("%s: the plan is allowed ahead: %+v, %v", row.title, answer, err)
		}
		p.asked = nil
		if got, err := e.Eval(t.Context(), r); err != nil || string(got.Value) != `"`+row.want+`"` || len(p.asked) != row.asked {
			t.Errorf("%s: got %s, %v and %d questions, want %s and %d", row.title, got.Value, err, len(p.asked), row.want,
				row.asked)
		}
		if row.want != "happened" {
			continue
		}
		r.Unchecked = true // the same name, and nobody has verified it
		if got, err := e.Eval(t.Context(), r); err != nil || string(got.Value) != `"no_approver"` {
			t.Errorf("%s: a yes for %s answers for somebody who says that this is their name: %s, %v", row.title,
				row.principal, got.Value, err)
		}
	}
}

// A page with somebody in front of it keeps no question open that nobody may answer.
func TestP39_10ThePageIsNotAskedForAnUnknownCaller(t *testing.T) {
	page := approvals.NewStrongQueue("web")
	defer page.Sit("ben").Leave()
	e := open(t, `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__*"], "ask": {"approver": "other"}}}}}`,
		func(o *codemode.Options) { o.Channels = []approvals.Channel{page} })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := e.Eval(ctx, codemode.Request{Profile: "p", Principal: "anna", Unchecked: true,
		Code: refused("codemode.filesystem__write_file({path: 'a', content: ''})")})
	if err != nil || ctx.Err() != nil {
		t.Fatal(got.Text(err))
	}
	for _, want := range []string{`"no_approver"`, "http.tokens", "http.oauth", "nobody verified"} {
		if !strings.Contains(string(got.Value), want) {
			t.Errorf("the program does not read %s in %s", want, got.Value)
		}
	}
}
