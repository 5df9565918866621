package approvals

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
)

func give(t *testing.T, k GrantStore, r *prompt.Request, scope call.Scope, now time.Time) *prompt.Grant {
	t.Helper()
	g, err := r.Draft(call.Answer{Scope: scope}, now)
	checktest.OK(t, err)
	checktest.OK(t, k.Give(t.Context(), g))
	return g
}

func granted(t *testing.T, k GrantStore, r *prompt.Request, now time.Time) bool {
	t.Helper()
	g, err := Granted(t.Context(), k, r, now)
	checktest.OK(t, err)
	return g != nil
}

// E1, E2, E5: a grant serves the run, principal, arguments, profile, rule, server and definition that it was given for.
func TestE1E2E5GrantsAreBound(t *testing.T) {
	tests := []struct {
		why    string
		scope  call.Scope
		change func(r *prompt.Request)
		want   bool
	}{
		{"the same call again", call.ForRun, func(r *prompt.Request) {}, true},
		{"E2: the same path, other content", call.ForRun,
			func(r *prompt.Request) { r.Args = json.RawMessage(`{"path":"/data/a","content":"y"}`) }, true},
		{"E2: another path", call.ForRun,
			func(r *prompt.Request) { r.Args = json.RawMessage(`{"path":"/data/b","content":"x"}`) }, false},
		{"E2: no path", call.ForRun, func(r *prompt.Request) { r.Args = json.RawMessage(`{"content":"x"}`) }, false},
		{"E2: the path in a list", call.ForRun, func(r *prompt.Request) { r.Args = json.RawMessage(`{"path":["/data/a"]}`) },
			false},
		{"E2: the path twice", call.ForRun,
			func(r *prompt.Request) { r.Args = json.RawMessage(`{"path":"/data/a","path":"/etc/x"}`) }, false},
		{"E1: a concurrent run of the same program", call.ForRun, func(r *prompt.Request) { r.Run = "r2" }, false},
		{"E1: another run, for a count", call.ForCount, func(r *prompt.Request) { r.Run = "r2" }, false},
		{"another run, for a time", call.ForTime, func(r *prompt.Request) { r.Run = "r2" }, true},
		{"another run of the session", call.ForSession, func(r *prompt.Request) { r.Run = "r2" }, true},
		{"another session", call.ForSession, func(r *prompt.Request) { r.Session = "s2" }, false},
		{"another session, for a time", call.ForTime, func(r *prompt.Request) { r.Session = "s2" }, true},
		{"E1: another principal", call.ForTime, func(r *prompt.Request) { r.Principal = "local:ben" }, false},
		{"another principal in the same run", call.ForRun, func(r *prompt.Request) { r.Principal = "local:ben" }, false},
		{"E5: another definition of the tool", call.ForTime, func(r *prompt.Request) { r.Definition = "sha256:e" }, false},
		{"E5: other rules of the profile were edited", call.ForTime,
			func(r *prompt.Request) { r.ProfileDigest = "sha256:q" }, true},
		{"E5: the rule was edited", call.ForTime, func(r *prompt.Request) { r.Asker = "sha256:q" }, false},
		{"E5: the server is started otherwise", call.ForTime, func(r *prompt.Request) { r.ServerID = "sha256:t" }, false},
		{"another rule asks", call.ForTime, func(r *prompt.Request) { r.Rule = "other" }, false},
		{"another profile", call.ForTime, func(r *prompt.Request) { r.Profile = "q" }, false},
		{"another tool", call.ForTime, func(r *prompt.Request) { r.Name, r.Tool = "fs__delete", "delete" }, false},
		{"another server with that tool", call.ForTime, func(r *prompt.Request) { r.Server = "fs2" }, false},
		{"E6: no rule could be judged", call.ForRun, func(r *prompt.Request) { r.Firm = true }, false},
		{"E6: the risk is critical now", call.ForRun, func(r *prompt.Request) { r.Risk = call.Critical }, false},
		{"E6: the risk is one that nobody knows", call.ForRun, func(r *prompt.Request) { r.Risk = "hgih" }, false},
		{"E6: the risk is high now, and not all arguments were bound", call.ForRun,
			func(r *prompt.Request) { r.Risk = call.High }, false},
		{"E6: the call is too large to be shown", call.ForRun, func(r *prompt.Request) {
			r.Args = json.RawMessage(`{"path":"/data/a","content":"` + strings.Repeat("x", 5000) + `"}`)
		}, false},
		{"E6: a part of the call is masked", call.ForRun,
			func(r *prompt.Request) { r.Args = json.RawMessage(`{"path":"/data/a","password":"hunter22"}`) }, false},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			k := NewGrantStore(func() time.Time { return someday })
			give(t, k, write("/data/a"), test.scope, someday)
			r := write("/data/a")
			test.change(r)
			if got := granted(t, k, r, someday); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// E3: a grant has an end, which is looked at when it is used; one beyond the cap is refused and not shortened.
func TestE3GrantsEnd(t *testing.T) {
	now := someday
	k := NewGrantStore(func() time.Time { return now })
	give(t, k, write("/a"), call.ForTime, now)
	for _, test := range []struct {
		at   time.Duration
		want bool
	}{{0, true}, {5*time.Minute - 1, true}, {5 * time.Minute, false}, {time.Hour, false}, {time.Minute, false}} { // what was over stays over
		now = someday.Add(test.at)
		if got := granted(t, k, write("/a"), now); got != test.want {
			t.Errorf("after %v: %v, want %v", test.at, got, test.want)
		}
	}

	lengths := []struct {
		length, max time.Duration
		given       bool
	}{
		{8 * time.Hour, 0, true}, {8*time.Hour + 1, 0, false}, {9 * time.Hour, 0, false},
		{9 * time.Hour, 10 * time.Hour, true},
		{time.Hour, 30 * time.Minute, false}, {7 * 24 * time.Hour, 1000 * time.Hour, true},
		{7*24*time.Hour + 1, 1000 * time.Hour, false}, {-1, 0, false},
	}
	for _, test := range lengths {
		r := write("/a")
		r.Terms.Max = test.max
		g, err := r.Draft(call.Answer{Scope: call.ForTime, Length: test.length}, someday)
		if (err == nil) != test.given || err == nil && !g.Expires.Equal(someday.Add(test.length)) {
			t.Errorf("%v of %v: got %+v, %v", test.length, test.max, g, err)
		}
	}
	for _, scope := range []call.Scope{call.ForRun, call.ForCount, call.ForTime, call.ForSession} {
		g, err := write("/a").Draft(call.Answer{Scope: scope}, someday)
		if err != nil || g.Expires.IsZero() || g.Expires.Sub(someday) > 8*time.Hour {
			t.Errorf("%s: ends %v, %v", scope, g.Expires, err)
		}
	}
}

// E4: what is revoked does not serve the next call; grants are listed with the words of their buttons.
func TestE4GrantsAreListedAndRevoked(t *testing.T) {
	k := NewGrantStore(func() time.Time { return someday })
	g := give(t, k, write("/a"), call.ForRun, someday)
	other := give(t, k, write("/b"), call.ForTime, someday.Add(-time.Minute))
	all, err := k.All(t.Context(), "local:anna")
	if err != nil || len(all) != 2 || all[0].ID != other.ID || all[1].ID != g.ID {
		t.Fatalf("got %v, %v", all, err)
	}
	if all, _ := k.All(t.Context(), "local:ben"); len(all) != 0 {
		t.Errorf("grants of somebody else: %v", all)
	}
	if !granted(t, k, write("/a"), someday) {
		t.Error("before it is revoked")
	}
	if err := k.Revoke(t.Context(), g.ID); err != nil {
		t.Error(err)
	}
	if granted(t, k, write("/a"), someday) {
		t.Error("after it was revoked")
	}
	if err := k.Revoke(t.Context(), g.ID); !errors.Is(err, ErrTaken) {
		t.Errorf("revoked twice: %v", err)
	}
	if !granted(t, k, write("/b"), someday) {
		t.Error("the other one is gone too")
	}
	if err := EndRun(t.Context(), k, "r1"); err != nil {
		t.Error(err)
	}
	if !granted(t, k, write("/b"), someday) {
		t.Error("a grant for a time ended with the run")
	}
}

// E7: a grant for a count serves that many calls, and none outside of what was shown.
func TestE7GrantsForACount(t *testing.T) {
	const countUses = 10 // what is offered
	k := NewGrantStore(func() time.Time { return someday })
	give(t, k, write("/a"), call.ForCount, someday)
	for i := range countUses + 1 {
		if granted(t, k, write("/b"), someday) {
			t.Fatal("a call outside of what was shown")
		}
		if got := granted(t, k, write("/a"), someday); got != (i < countUses) {
			t.Errorf("call %d: %v", i+1, got)
		}
	}
	k = NewGrantStore(func() time.Time { return someday })
	give(t, k, write("/a"), call.ForRun, someday)
	for i := range prompt.RunUses + 1 {
		if got := granted(t, k, write("/a"), someday); got != (i < prompt.RunUses) {
			t.Errorf("for a run, call %d: %v", i+1, got)
		}
	}
	if err := EndRun(t.Context(), k, "r1"); err != nil {
		t.Error(err)
	}
}

// N2: an approved plan answers for the planned calls and no others, as often as planned, and ends with the run.
func TestN2PlansAreGrantsForARun(t *testing.T) {
	plan := []prompt.PlannedCall{
		{Call: write(""), Envelope: prompt.Envelope{Fixed: []prompt.Value{{Pointer: "/path", JSON: `"/data/a"`}},
			Free: []string{"/content"}}, Count: 2},
		{Call: write(""), Envelope: prompt.Envelope{Free: []string{"/list/0", "/options"}}, Count: 1},
	}
	grants, err := prompt.PlanGrants(plan, "r7", someday)
	checktest.OK(t, err)
	want := `Allow fs.write with /path "/data/a" and any /content for this run, at most 2 times
Allow fs.write with any /list/0 and any /options for this run, at most 1 time`
	if got := grants[0].Text() + "\n" + grants[1].Text(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	fits := []struct {
		args string
		want int // line of the plan, 0 for none
	}{
		{`{"path":"/data/a","content":"anything"}`, 1},
		{`{"content":{"deep":[1]},"path":"/data/a"}`, 1},
		{`{"path":"/data/a"}`, 1},
		{`{"path":"/data/b","content":"x"}`, 0},
		{`{"path":"/data/a","content":"x","mode":7}`, 0},
		{`{"path":["/data/a"]}`, 0},
		{`{}`, 2},
		{`{"list":["x"],"options":{"a":1}}`, 2},
		{`{"list":["x","y"]}`, 0},
		{`{"list":[]}`, 0},
		{`{"list":{"0":"x"}}`, 2}, // a pointer tells no list from an object
		{`"text"`, 0},
		{`{"path":"/data/a","path":"/etc"}`, 0},
	}
	for _, test := range fits {
		r := write("")
		r.Args, r.Run = json.RawMessage(test.args), "r7"
		for i, g := range grants {
			if got := g.Covers(r, someday); got != (test.want == i+1) {
				t.Errorf("%s, line %d: %v", test.args, i+1, got)
			}
		}
		r.Run = "r8"
		if grants[0].Covers(r, someday) || grants[1].Covers(r, someday) {
			t.Errorf("%s is covered in another run", test.args)
		}
	}

	k := NewGrantStore(func() time.Time { return someday })
	for _, g := range grants {
		checktest.OK(t, k.Give(t.Context(), g))
	}
	planned := write("/data/a")
	planned.Run = "r7"
	for i, want := range []bool{true, true, false} {
		if got := granted(t, k, planned, someday); got != want {
			t.Errorf("call %d: %v", i+1, got)
		}
	}
	checktest.OK(t, EndRun(t.Context(), k, "r7"))
	if all, _ := k.All(t.Context(), ""); len(all) != 0 {
		t.Errorf("unused grants outlive the run: %v", all)
	}

	high, firm, none := write(""), write(""), write("")
	high.Risk, firm.Firm, none.Terms = call.High, true, prompt.Terms{}
	for why, line := range map[string]prompt.PlannedCall{
		"a high risk": {Call: high, Count: 1}, "a rule that could not be judged": {Call: firm, Count: 1},
		"no calls":                         {Call: write("")},
		"a profile that remembers nothing": {Call: none, Count: 1}, "a value that is not canonical": {Call: write(""),
			Envelope: prompt.Envelope{Fixed: []prompt.Value{{Pointer: "/a", JSON: ` 1.0`}}}, Count: 1},
	} {
		if grants, err := prompt.PlanGrants(append(plan[:1:1], line), "r7", someday); err == nil || grants != nil {
			t.Errorf("%s: %v, %v", why, grants, err)
		}
	}
}
