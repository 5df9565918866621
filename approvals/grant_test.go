package approvals

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
)

var someday = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// write is a call that asks, whose answer may be remembered in every way.
func write(path string) *Request {
	js, _ := json.Marshal(map[string]string{"path": path, "content": "x"})
	return &Request{
		Server: "fs", Tool: "write", Name: "fs__write", Profile: "p", ProfileDigest: "sha256:p", ServerID: "sha256:s", Definition: "sha256:d",
		Rule: "fs-write", Risk: call.Medium, Principal: "local:anna", Session: "s1", Run: "r1", Call: 1, Args: js,
		Terms: Terms{Scopes: []Scope{Once, ForRun, ForCount, ForTime, ForSession}, Args: CoverRule, Pointers: []string{"/path"}},
	}
}

func give(t *testing.T, k Keeper, r *Request, scope Scope, now time.Time) *Grant {
	t.Helper()
	g, err := Draft(r, scope, 0, now)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Give(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	return g
}

func granted(t *testing.T, k Keeper, r *Request, now time.Time) bool {
	t.Helper()
	g, err := Granted(t.Context(), k, r, now)
	if err != nil {
		t.Fatal(err)
	}
	return g != nil
}

// E1, E2, E5: a grant serves the run, principal, arguments, profile, rule, server and definition that it was given for.
func TestE1E2E5GrantsAreBound(t *testing.T) {
	tests := []struct {
		why    string
		scope  Scope
		change func(r *Request)
		want   bool
	}{
		{"the same call again", ForRun, func(r *Request) {}, true},
		{"E2: the same path, other content", ForRun, func(r *Request) { r.Args = json.RawMessage(`{"path":"/data/a","content":"y"}`) }, true},
		{"E2: another path", ForRun, func(r *Request) { r.Args = json.RawMessage(`{"path":"/data/b","content":"x"}`) }, false},
		{"E2: no path", ForRun, func(r *Request) { r.Args = json.RawMessage(`{"content":"x"}`) }, false},
		{"E2: the path in a list", ForRun, func(r *Request) { r.Args = json.RawMessage(`{"path":["/data/a"]}`) }, false},
		{"E2: the path twice", ForRun, func(r *Request) { r.Args = json.RawMessage(`{"path":"/data/a","path":"/etc/x"}`) }, false},
		{"E1: a concurrent run of the same program", ForRun, func(r *Request) { r.Run = "r2" }, false},
		{"E1: another run, for a count", ForCount, func(r *Request) { r.Run = "r2" }, false},
		{"another run, for a time", ForTime, func(r *Request) { r.Run = "r2" }, true},
		{"another run of the session", ForSession, func(r *Request) { r.Run = "r2" }, true},
		{"another session", ForSession, func(r *Request) { r.Session = "s2" }, false},
		{"another session, for a time", ForTime, func(r *Request) { r.Session = "s2" }, true},
		{"E1: another principal", ForTime, func(r *Request) { r.Principal = "local:ben" }, false},
		{"another principal in the same run", ForRun, func(r *Request) { r.Principal = "local:ben" }, false},
		{"E5: another definition of the tool", ForTime, func(r *Request) { r.Definition = "sha256:e" }, false},
		{"E5: the profile was edited", ForTime, func(r *Request) { r.ProfileDigest = "sha256:q" }, false},
		{"E5: the server is started otherwise", ForTime, func(r *Request) { r.ServerID = "sha256:t" }, false},
		{"another rule asks", ForTime, func(r *Request) { r.Rule = "other" }, false},
		{"another profile", ForTime, func(r *Request) { r.Profile = "q" }, false},
		{"another tool", ForTime, func(r *Request) { r.Name, r.Tool = "fs__delete", "delete" }, false},
		{"another server with that tool", ForTime, func(r *Request) { r.Server = "fs2" }, false},
		{"E6: no rule could be judged", ForRun, func(r *Request) { r.Firm = true }, false},
		{"E6: the risk is critical now", ForRun, func(r *Request) { r.Risk = call.Critical }, false},
		{"E6: the risk is one that nobody knows", ForRun, func(r *Request) { r.Risk = "hgih" }, false},
		{"E6: the risk is high now, and not all arguments were bound", ForRun, func(r *Request) { r.Risk = call.High }, false},
		{"E6: the call is too large to be shown", ForRun, func(r *Request) {
			r.Args = json.RawMessage(`{"path":"/data/a","content":"` + strings.Repeat("x", 5000) + `"}`)
		}, false},
		{"E6: a part of the call is masked", ForRun, func(r *Request) { r.Args = json.RawMessage(`{"path":"/data/a","password":"hunter22"}`) }, false},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			k := NewKeeper(func() time.Time { return someday })
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
	k := NewKeeper(func() time.Time { return now })
	give(t, k, write("/a"), ForTime, now)
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
		err         error
	}{
		{8 * time.Hour, 0, nil}, {8*time.Hour + 1, 0, ErrTooLong}, {9 * time.Hour, 0, ErrTooLong}, {9 * time.Hour, 10 * time.Hour, nil},
		{time.Hour, 30 * time.Minute, ErrTooLong}, {HardMax, 1000 * time.Hour, nil}, {HardMax + 1, 1000 * time.Hour, ErrTooLong}, {-1, 0, ErrTooLong},
	}
	for _, test := range lengths {
		r := write("/a")
		r.Terms.Max = test.max
		g, err := Draft(r, ForTime, test.length, someday)
		if !errors.Is(err, test.err) || err == nil && !g.Expires.Equal(someday.Add(test.length)) {
			t.Errorf("%v of %v: got %+v, %v", test.length, test.max, g, err)
		}
	}
	for _, scope := range []Scope{ForRun, ForCount, ForTime, ForSession} {
		g, err := Draft(write("/a"), scope, 0, someday)
		if err != nil || g.Expires.IsZero() || g.Expires.Sub(someday) > 8*time.Hour {
			t.Errorf("%s: ends %v, %v", scope, g.Expires, err)
		}
	}
}

// A clock that jumps revives no grant: it ends by whichever clock says so first.
func TestA25GrantsEndByEitherClock(t *testing.T) {
	start := time.Now()
	g, err := Draft(write("/a"), ForTime, 0, start)
	if err != nil {
		t.Fatal(err)
	}
	if !g.Covers(write("/a"), start.Add(4*time.Minute)) || g.Covers(write("/a"), start.Add(5*time.Minute)) {
		t.Error("the usual end")
	}
	if g.Covers(write("/a"), start.Round(0).Add(365*24*time.Hour)) {
		t.Error("the wall clock jumped ahead")
	}
}

// E4: what is revoked does not serve the next call; grants are listed with the words of their buttons.
func TestE4GrantsAreListedAndRevoked(t *testing.T) {
	k := NewKeeper(func() time.Time { return someday })
	g := give(t, k, write("/a"), ForRun, someday)
	other := give(t, k, write("/b"), ForTime, someday.Add(-time.Minute))
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
	k := NewKeeper(func() time.Time { return someday })
	give(t, k, write("/a"), ForCount, someday)
	for i := range CountUses + 1 {
		if granted(t, k, write("/b"), someday) {
			t.Fatal("a call outside of what was shown")
		}
		if got := granted(t, k, write("/a"), someday); got != (i < CountUses) {
			t.Errorf("call %d: %v", i+1, got)
		}
	}
	k = NewKeeper(func() time.Time { return someday })
	give(t, k, write("/a"), ForRun, someday)
	for i := range RunUses + 1 {
		if got := granted(t, k, write("/a"), someday); got != (i < RunUses) {
			t.Errorf("for a run, call %d: %v", i+1, got)
		}
	}
	if err := EndRun(t.Context(), k, "r1"); err != nil {
		t.Error(err)
	}
}

// What a person is offered, and D3: nothing to remember where anything was cut or masked.
func TestD3Offers(t *testing.T) {
	tests := []struct {
		why    string
		change func(r *Request)
		want   string
	}{
		{"everything", func(r *Request) {}, `
			Allow fs.write with /path "/a", other arguments as they come, for this run, at most 50 times
			Allow fs.write with /path "/a", other arguments as they come, for this and the next 10 calls of this run
			Allow fs.write with /path "/a", other arguments as they come, for 5m
			Allow fs.write with /path "/a", other arguments as they come, in this session, at most 8h`},
		{"the profile remembers nothing", func(r *Request) { r.Terms = Terms{} }, ""},
		{"the profile's own numbers", func(r *Request) {
			r.Terms.Scopes, r.Terms.Default = []Scope{ForTime}, 90*time.Minute
		}, `
			Allow fs.write with /path "/a", other arguments as they come, for 1h30m`},
		{"a rule without pointers: any in the run, the same for a time", func(r *Request) {
			r.Terms.Pointers, r.Terms.Scopes = nil, []Scope{ForRun, ForTime}
		}, `
			Allow fs.write with any arguments for this run, at most 50 times
			Allow fs.write with exactly these arguments for 5m`},
		{"any, as the profile says", func(r *Request) { r.Terms.Args, r.Terms.Scopes = CoverAny, []Scope{ForTime} }, `
			Allow fs.write with any arguments for 5m`},
		{"exactly, as the profile says", func(r *Request) { r.Terms.Args, r.Terms.Scopes = CoverExact, []Scope{ForRun} }, `
			Allow fs.write with exactly these arguments for this run, at most 50 times`},
		{"a high risk: in the run, and exactly", func(r *Request) { r.Risk, r.Terms.Args = call.High, CoverAny }, `
			Allow fs.write with exactly these arguments for this run, at most 50 times
			Allow fs.write with exactly these arguments for this and the next 10 calls of this run`},
		{"a pointer at nothing", func(r *Request) { r.Terms.Pointers, r.Terms.Scopes = []string{"/mode"}, []Scope{ForRun} }, `
			Allow fs.write with no /mode, other arguments as they come, for this run, at most 50 times`},
		{"a long value", func(r *Request) {
			r.Args, r.Terms.Scopes = json.RawMessage(`{"path":"/`+strings.Repeat("x", 60)+`"}`), []Scope{ForRun}
		}, `
			Allow fs.write with the same /path, other arguments as they come, for this run, at most 50 times`},
		{"words that would change the button", func(r *Request) {
			r.Args, r.Terms.Scopes = json.RawMessage(`{"path":"a\u202e\n"}`), []Scope{ForRun}
		}, `
			Allow fs.write with /path "a\u{202E}\\n", other arguments as they come, for this run, at most 50 times`},
		{"a critical risk", func(r *Request) { r.Risk = call.Critical }, ""},
		{"no rule could be judged", func(r *Request) { r.Firm = true }, ""},
		{"D3: a cut call", func(r *Request) { r.Args = json.RawMessage(`{"path":"` + strings.Repeat("x", 5000) + `"}`) }, ""},
		{"D3: a masked call", func(r *Request) { r.Args = json.RawMessage(`{"path":"/a","token":"abcdefgh"}`) }, ""},
		{"a session without one is a time", func(r *Request) { r.Session, r.Terms.Scopes = "", []Scope{ForSession} }, `
			Allow fs.write with /path "/a", other arguments as they come, for 8h`},
		{"nobody knows for whom", func(r *Request) {
			r.Session, r.Principal, r.Terms.Scopes = "", "", []Scope{ForSession, ForTime}
		}, ""},
		{"a scope that does not exist", func(r *Request) { r.Terms.Scopes = []Scope{"always"} }, ""},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			r := write("/a")
			test.change(r)
			var got strings.Builder
			for _, g := range Offers(r, someday) {
				got.WriteString("\n\t\t\t" + g.Text())
			}
			if got.String() != test.want {
				t.Errorf("got %s\nwant %s", got.String(), test.want)
			}
			_, s := schemaOf(t, []*Request{r}, OneOf)
			if got, most := len(s.Properties["decision"].OneOf), 2+len(Offers(r, someday)); got > most || got < most-1 {
				t.Errorf("the form offers %d values", got)
			}
		})
	}
}

// E6, and THREATS.md A17: over random grants and calls, a grant only ever answers a question that grants may answer, about a
// call that has in common with the one it was given for what its words say.
func TestE6GrantsNeverLoosenMore(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(31, 32))
	pickOne := func(of ...string) string { return of[rng.IntN(len(of))] }
	random := func() *Request {
		r := write("/" + pickOne("a", "b"))
		r.Args = json.RawMessage(fmt.Sprintf(`{"path":%q,"n":%d%s}`, pickOne("/a", "/b"), rng.IntN(2), pickOne("", "", `,"token":"abcdefgh"`, `,"big":"`+strings.Repeat("x", 2000)+`"`)))
		r.Risk, r.Firm = call.Risk(pickOne("low", "medium", "high", "critical", "", "odd")), rng.IntN(5) == 0
		r.Run, r.Session, r.Principal = pickOne("r1", "r2"), pickOne("s1", "s2", ""), pickOne("anna", "ben", "")
		r.Rule, r.Profile, r.ProfileDigest = pickOne("x", "y"), pickOne("p", "q"), pickOne("1", "2")
		r.Definition, r.ServerID = pickOne("d", "e"), pickOne("i", "j")
		r.Terms.Args = Coverage(pickOne("exact", "rule", "any", "", "odd"))
		if rng.IntN(3) == 0 {
			r.Terms.Pointers = nil
		}
		return r
	}
	given, used := 0, 0
	for range 10000 {
		from, scope := random(), Scope(pickOne("run", "count", "time", "session", "once", "always", ""))
		g, err := Draft(from, scope, 0, someday)
		if err != nil {
			continue
		}
		given++
		to := random()
		if rng.IntN(2) == 0 { // near enough to be covered, now and then
			near := *from
			near.Args, near.Run = to.Args, pickOne(from.Run, to.Run)
			if rng.IntN(2) == 0 {
				near.Risk, near.Firm = to.Risk, to.Firm
			}
			to = &near
		}
		if !g.Covers(to, someday) {
			continue
		}
		used++
		same := func(what string, a, b string) {
			if a != b {
				t.Errorf("%s: given for %s %q, used for %q", g.Text(), what, a, b)
			}
		}
		shown := Render(to, RenderOptions{})
		if to.Firm || to.Risk == call.Critical || to.Risk == "odd" || shown.Cut || shown.Masked > 0 {
			t.Errorf("%s answers %+v", g.Text(), to)
		}
		same("principal", from.Principal, to.Principal)
		same("profile", from.Profile+from.ProfileDigest, to.Profile+to.ProfileDigest)
		same("rule", from.Rule, to.Rule)
		same("definition", from.Definition+from.ServerID, to.Definition+to.ServerID)
		words := g.Text()
		if strings.Contains(words, "this run") {
			same("run", from.Run, to.Run)
		}
		if strings.Contains(words, "this session") {
			same("session", from.Session, to.Session)
		}
		if !strings.Contains(words, "any arguments") {
			was, _ := parseArgs(from.Args)
			is, _ := parseArgs(to.Args)
			a, _ := valueAt(was, "/path")
			b, _ := valueAt(is, "/path")
			same("path", a, b)
		}
		if strings.Contains(words, "exactly these") || from.Risk == call.High || to.Risk == call.High {
			same("arguments", string(from.Args), string(to.Args))
		}
		if scope == ForTime && (from.Risk == call.High || to.Risk == call.High) {
			t.Errorf("%s answers a high risk for a time", words)
		}
		if t.Failed() {
			return
		}
	}
	if given < 300 || used < 50 {
		t.Errorf("only %d grants, %d used: the test says nothing", given, used)
	}
}

// N2: an approved plan answers for the planned calls and no others, as often as planned, and ends with the run.
func TestN2PlansAreGrantsForARun(t *testing.T) {
	plan := []PlannedCall{
		{Call: write(""), Envelope: Envelope{Fixed: []Value{{"/path", `"/data/a"`}}, Free: []string{"/content"}}, Count: 2},
		{Call: write(""), Envelope: Envelope{Free: []string{"/list/0", "/options"}}, Count: 1},
	}
	grants, err := PlanGrants(plan, "r7", 0, someday)
	if err != nil {
		t.Fatal(err)
	}
	want := `  1. Allow fs.write with /path "/data/a" and any /content for this run, at most 2 times
  2. Allow fs.write with any /list/0 and any /options for this run, at most 1 time
`
	if got := PlanText(grants); got != want {
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

	k := NewKeeper(func() time.Time { return someday })
	for _, g := range grants {
		if err := k.Give(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	planned := write("/data/a")
	planned.Run = "r7"
	for i, want := range []bool{true, true, false} {
		if got := granted(t, k, planned, someday); got != want {
			t.Errorf("call %d: %v", i+1, got)
		}
	}
	if err := EndRun(t.Context(), k, "r7"); err != nil {
		t.Fatal(err)
	}
	if all, _ := k.All(t.Context(), ""); len(all) != 0 {
		t.Errorf("unused grants outlive the run: %v", all)
	}

	high, firm, none := write(""), write(""), write("")
	high.Risk, firm.Firm, none.Terms = call.High, true, Terms{}
	for why, line := range map[string]PlannedCall{
		"a high risk": {Call: high, Count: 1}, "a rule that could not be judged": {Call: firm, Count: 1}, "no calls": {Call: write("")},
		"a profile that remembers nothing": {Call: none, Count: 1}, "a value that is not canonical": {Call: write(""), Envelope: Envelope{Fixed: []Value{{"/a", ` 1.0`}}}, Count: 1},
	} {
		if grants, err := PlanGrants(append(plan[:1:1], line), "r7", 0, someday); err == nil || grants != nil {
			t.Errorf("%s: %v, %v", why, grants, err)
		}
	}
}

// planned is a call with a plan for the rest of its run.
func planned(t *testing.T) *Request {
	t.Helper()
	r := write("/data/a")
	r.Run = "r7"
	line := write("")
	line.Args = json.RawMessage(`{"path":"/data/b","content":null}`)
	var err error
	r.Plan, err = PlanGrants([]PlannedCall{
		{Call: line, Envelope: Envelope{Fixed: []Value{{"/path", `"/data/b"`}}, Free: []string{"/content"}}, Count: 1},
		{Call: line, Envelope: Envelope{Fixed: []Value{{"/path", `"` + strings.Repeat("x\u202e", 20) + `"`}}, Free: []string{""}}, Count: 50},
	}, "r7", 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// N2: a plan is offered over every channel, with the first question of a run, and stands there whole.
func TestN2APlanIsOfferedWhole(t *testing.T) {
	r := planned(t)
	const words = "Allow this and the plan: 51 more calls of this run, as listed above"
	for where, o := range map[string]RenderOptions{"plain": {}, "narrow": {Width: 40}, "Markdown": {Markdown: true}} {
		text := Text(r, o)
		for _, part := range []string{
			"1. fs.write, once, with", `/path "/data/b"`, "any /content", "2. fs.write, at most 50 times, with", "any other arguments",
		} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is missing:\n%s", where, part, text)
			}
		}
		if n := strings.Count(text, `\u{202E}`); n != 20 {
			t.Errorf("%s: %d of 20 characters of the plan are shown:\n%s", where, n, text)
		}
	}
	_, schema := Form(r, OneOf)
	if !strings.Contains(string(schema), `{"const":"allow_plan","title":"`+words+`"}`) {
		t.Errorf("form: %s", schema)
	}
	if got, err := ReadForm(r, "accept", map[string]any{"decision": "allow_plan"}); err != nil || got.Scope != ForPlan {
		t.Errorf("got %+v, %v", got, err)
	}
	if got := describe(Open{Request: r}, 100); !slices.Contains(got.Offers, Offer{ForPlan, words}) || !strings.Contains(got.Text, "at most 50 times") {
		t.Errorf("socket: %+v", got)
	}
	if got, shown, err := sitting(t, r, "yes plan"); err != nil || got.Scope != ForPlan || !strings.Contains(shown, "yes plan: "+words) {
		t.Errorf("terminal: %+v, %v\n%s", got, err, shown)
	}

	// Several calls of one moment share the plan: it goes with the decision that is the same for all.
	both := []*Request{r, planned(t)}
	both[1].Args, both[1].Plan = json.RawMessage(`{"path":"/data/c","content":"x"}`), r.Plan
	message, schema := FormAll(both, OneOf)
	if !strings.Contains(string(schema), `{"const":"allow_plan","title":"`+words+`"}]},"decision_1"`) || strings.Count(string(schema), "allow_plan") != 3 || strings.Count(message, "at most 50 times") != 1 {
		t.Errorf("round: %s\n%s", schema, message)
	}
	all := func(same, first, second string) string {
		content := map[string]any{"same_for_all": same, "decision_1": first, "decision_2": second}
		for name, value := range content {
			if value == "" {
				delete(content, name)
			}
		}
		var got []string
		for _, x := range ReadFormAll(both, "accept", content) {
			switch {
			case x.Err != nil:
				got = append(got, "unclear")
			case x.Reply.Decision == Refuse:
				got = append(got, "no")
			default:
				got = append(got, "yes "+string(x.Reply.Scope))
			}
		}
		return strings.Join(got, ", ")
	}
	for _, tt := range []struct{ same, first, second, want string }{
		{"allow_plan", "", "", "yes plan, yes plan"},
		{"allow_plan", "allow_once", "allow_once", "yes plan, yes plan"},
		{"allow_plan", "deny", "allow_once", "no, yes plan"},
		{"allow_once", "", "", "yes , yes "},
		{"deny", "allow_plan", "allow_once", "no, no"},
		{"allow_run", "", "", "unclear, unclear"},
	} {
		if got := all(tt.same, tt.first, tt.second); got != tt.want {
			t.Errorf("%+v: got %s", tt, got)
		}
	}
	if got, shown, err := sittingAll(t, both, "yes plan"); err != nil || got[0].Reply.Scope != ForPlan || got[1].Reply.Scope != ForPlan {
		t.Errorf("round at a terminal: %+v, %v\n%s", got, err, shown)
	}
}

// N2, D3, E6: where something is cut, masked, of a high risk or of another run, no plan is offered, and a plan of another run or
// principal is none.
func TestN2PlansThatAreNotOffered(t *testing.T) {
	for why, change := range map[string]func(r *Request){
		"a question that is cut":        func(r *Request) { r.Args = json.RawMessage(`{"path":"` + strings.Repeat("x", 5000) + `"}`) },
		"a masked value":                func(r *Request) { r.Args = json.RawMessage(`{"password":"hunter2"}`) },
		"a high risk":                   func(r *Request) { r.Risk = call.High },
		"a rule that cannot be judged":  func(r *Request) { r.Firm = true },
		"another run":                   func(r *Request) { r.Run = "r8" },
		"another principal":             func(r *Request) { r.Principal = "local:bob" },
		"no plan":                       func(r *Request) { r.Plan = nil },
		"more than a person would read": func(r *Request) { r.Plan = slices.Repeat(r.Plan, 11) },
	} {
		t.Run(why, func(t *testing.T) {
			r := planned(t)
			change(r)
			if _, err := Draft(r, ForPlan, 0, time.Now()); !errors.Is(err, ErrNotOffered) {
				t.Errorf("got %v", err)
			}
			if _, schema := Form(r, OneOf); strings.Contains(string(schema), "plan") {
				t.Errorf("got %s", schema)
			}
			if text := Text(r, RenderOptions{}); strings.Contains(text, "at most 50 times") {
				t.Errorf("a plan is shown that cannot be allowed:\n%s", text)
			}
			if got, err := ReadForm(r, "accept", map[string]any{"decision": "allow_plan"}); err == nil && got.Decision == AllowOnce {
				t.Errorf("got %+v", got)
			}
		})
	}
	line := write("")
	for why, e := range map[string]Envelope{
		"a long value":           {Fixed: []Value{{"/path", `"` + strings.Repeat("x", maxPlannedValue) + `"`}}},
		"many values":            {Free: slices.Repeat([]string{"/x"}, 25)},
		"a long name of a value": {Free: []string{"/" + strings.Repeat("x", 200)}},
	} {
		if _, err := PlanGrants([]PlannedCall{{Call: line, Envelope: e, Count: 1}}, "r7", 0, time.Now()); !errors.Is(err, ErrNotOffered) {
			t.Errorf("%s: got %v", why, err)
		}
	}
	if _, err := Draft(planned(t), ForPlan, 0, time.Now().Add(9*time.Hour)); !errors.Is(err, ErrNotOffered) {
		t.Errorf("a plan that is over: %v", err)
	}
}

// sittingAll is a terminal with a person who types one line about several calls.
func sittingAll(t *testing.T, calls []*Request, line string) ([]Result, string, error) {
	t.Helper()
	in, keyboard := io.Pipe()
	out := newScreen()
	typing := make(chan struct{})
	go func() {
		defer close(typing)
		out.wait("Type ", 1)
		io.WriteString(keyboard, line+"\n")
	}()
	results, err := Terminal(in, out, TerminalOptions{Plain: true}).(Gatherer).AskAll(t.Context(), calls)
	<-typing
	keyboard.Close()
	return results, out.text, err
}

// A person chooses for how many calls and until when a grant is good, within what the profile lets them; more is refused and not
// made to fit.
func TestAPersonChoosesTheNumberAndTheEnd(t *testing.T) {
	r := write("/a")
	r.Terms = Terms{Scopes: []Scope{ForRun, ForCount, ForTime, ForSession}, Default: time.Minute, Max: time.Hour, Pointers: []string{"/path"}}
	for _, test := range []struct {
		wish  Wish
		uses  int
		lasts time.Duration
		wrong error
	}{
		{Wish{Scope: ForRun}, RunUses, time.Hour, nil},
		{Wish{Scope: ForRun, Uses: 3, Length: 2 * time.Minute}, 3, 2 * time.Minute, nil},
		{Wish{Scope: ForCount}, CountUses, time.Hour, nil},
		{Wish{Scope: ForCount, Uses: 36}, 36, time.Hour, nil},
		{Wish{Scope: ForTime}, 0, time.Minute, nil},
		{Wish{Scope: ForTime, Uses: 2, Length: 30 * time.Minute}, 2, 30 * time.Minute, nil},
		{Wish{Scope: ForSession, Length: time.Minute}, 0, time.Minute, nil},
		{Wish{Scope: ForCount, Uses: RunUses + 1}, 0, 0, ErrTooMuch},
		{Wish{Scope: ForTime, Uses: -1}, 0, 0, ErrTooMuch},
		{Wish{Scope: ForTime, Length: time.Hour + 1}, 0, 0, ErrTooLong},
		{Wish{Scope: ForRun, Length: time.Hour + 1}, 0, 0, ErrTooLong},
		{Wish{Scope: ForSession, Length: -1}, 0, 0, ErrTooLong},
		{Wish{Scope: Once, Uses: 1}, 0, 0, ErrNotOffered},
	} {
		g, err := r.Draft(test.wish, someday)
		switch {
		case test.wrong != nil:
			if !errors.Is(err, test.wrong) {
				t.Errorf("%+v: %v, want %v", test.wish, err, test.wrong)
			}
		case err != nil:
			t.Errorf("%+v: %v", test.wish, err)
		case g.Uses != test.uses || g.Expires.Sub(someday) != test.lasts:
			t.Errorf("%+v: %d calls for %v, want %d for %v", test.wish, g.Uses, g.Expires.Sub(someday), test.uses, test.lasts)
		}
	}
}

// In a list a grant says what it allows: the arguments themselves, short, with secrets masked.
func TestAGrantSaysWhatItAllows(t *testing.T) {
	r := write("/a")
	r.Args = json.RawMessage(`{"path":"/a","content":"` + strings.Repeat("x", 100) + `","mode":{"flags":["w"]}}`)
	for coverage, want := range map[Coverage]string{
		CoverExact: `exactly path: "/a", content: "xxxx`, CoverRule: `/path "/a", other arguments as they come`, CoverAny: "any arguments",
	} {
		r.Terms.Args = coverage
		g, err := Draft(r, ForTime, 0, someday)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Allows(); !strings.HasPrefix(got, "fs.write with "+want) || len(got) > 200 {
			t.Errorf("%s: %s", coverage, got)
		}
	}
	r.Args = json.RawMessage(`{"path":"/` + strings.Repeat("a", 60) + `/the-end"}`)
	r.Terms.Args = CoverRule
	g, err := Draft(r, ForTime, 0, someday)
	if err != nil {
		t.Fatal(err)
	}
	if got := g.Allows(); !strings.Contains(got, "the-end") {
		t.Errorf("a long value: %s", got)
	}
}
