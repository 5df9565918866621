package prompt

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
)

// A clock that jumps revives no grant: it ends by whichever clock says so first.
func TestA25GrantsEndByEitherClock(t *testing.T) {
	start := time.Now()
	g, err := write("/a").Draft(call.Answer{Scope: call.ForTime}, start)
	checktest.OK(t, err)
	if !g.Covers(write("/a"), start.Add(4*time.Minute)) || g.Covers(write("/a"), start.Add(5*time.Minute)) {
		t.Error("the usual end")
	}
	if g.Covers(write("/a"), start.Round(0).Add(365*24*time.Hour)) {
		t.Error("the wall clock jumped ahead")
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
			r.Terms.Scopes, r.Terms.Default = []call.Scope{call.ForTime}, 90*time.Minute
		}, `
			Allow fs.write with /path "/a", other arguments as they come, for 1h30m`},
		{"a rule without pointers: any in the run, the same for a time", func(r *Request) {
			r.Terms.Pointers, r.Terms.Scopes = nil, []call.Scope{call.ForRun, call.ForTime}
		}, `
			Allow fs.write with any arguments for this run, at most 50 times
			Allow fs.write with exactly these arguments for 5m`},
		{"any, as the profile says", func(r *Request) { r.Terms.Args, r.Terms.Scopes = coverAny, []call.Scope{call.ForTime} }, `
			Allow fs.write with any arguments for 5m`},
		{"exactly, as the profile says", func(r *Request) { r.Terms.Args, r.Terms.Scopes = coverExact, []call.Scope{call.ForRun} }, `
			Allow fs.write with exactly these arguments for this run, at most 50 times`},
		{"a high risk: in the run, and exactly", func(r *Request) { r.Risk, r.Terms.Args = call.High, coverAny }, `
			Allow fs.write with exactly these arguments for this run, at most 50 times
			Allow fs.write with exactly these arguments for this and the next 10 calls of this run`},
		{"a pointer at nothing", func(r *Request) { r.Terms.Pointers, r.Terms.Scopes = []string{"/mode"}, []call.Scope{call.ForRun} }, `
			Allow fs.write with no /mode, other arguments as they come, for this run, at most 50 times`},
		{"a long value", func(r *Request) {
			r.Args, r.Terms.Scopes = json.RawMessage(`{"path":"/`+strings.Repeat("x", 60)+`"}`), []call.Scope{call.ForRun}
		}, `
			Allow fs.write with the same /path, other arguments as they come, for this run, at most 50 times`},
		{"words that would change the button", func(r *Request) {
			r.Args, r.Terms.Scopes = json.RawMessage(`{"path":"a\u202e\n"}`), []call.Scope{call.ForRun}
		}, `
			Allow fs.write with /path "a\u{202E}\\n", other arguments as they come, for this run, at most 50 times`},
		{"a critical risk", func(r *Request) { r.Risk = call.Critical }, ""},
		{"no rule could be judged", func(r *Request) { r.Firm = true }, ""},
		{"D3: a cut call", func(r *Request) { r.Args = json.RawMessage(`{"path":"` + strings.Repeat("x", 5000) + `"}`) }, ""},
		{"D3: a masked call", func(r *Request) { r.Args = json.RawMessage(`{"path":"/a","token":"abcdefgh"}`) }, ""},
		{"a session without one is a time", func(r *Request) { r.Session, r.Terms.Scopes = "", []call.Scope{call.ForSession} }, `
			Allow fs.write with /path "/a", other arguments as they come, for 8h`},
		{"nobody knows for whom", func(r *Request) {
			r.Session, r.Principal, r.Terms.Scopes = "", "", []call.Scope{call.ForSession, call.ForTime}
		}, ""},
		{"a scope that does not exist", func(r *Request) { r.Terms.Scopes = []call.Scope{"always"} }, ""},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			r := write("/a")
			test.change(r)
			var got strings.Builder
			offers := Offers([]*Request{r}, someday)[1:]
			for _, o := range offers {
				got.WriteString("\n\t\t\t" + o.Text)
			}
			if got.String() != test.want {
				t.Errorf("got %s\nwant %s", got.String(), test.want)
			}
			_, s := schemaOf(t, []*Request{r}, oneOf)
			if got, most := len(s.Properties["decision"].OneOf), 2+len(offers); got > most || got < most-1 {
				t.Errorf("the form offers %d values", got)
			}
		})
	}
}

// E6, and THREATS.md A17: over random grants and calls, a grant only ever answers a question that grants may answer,
// about a call that has in common with the one it was given for what its words say.
func TestE6GrantsNeverLoosenMore(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(31, 32))
	pickOne := func(of ...string) string { return of[rng.IntN(len(of))] }
	random := func() *Request {
		r := write("/" + pickOne("a", "b"))
		r.Args = json.RawMessage(fmt.Sprintf(`{"path":%q,"n":%d%s}`, pickOne("/a", "/b"), rng.IntN(2),
			pickOne("", "", `,"token":"abcdefgh"`, `,"big":"`+strings.Repeat("x", 2000)+`"`)))
		r.Risk, r.Firm = call.Risk(pickOne("low", "medium", "high", "critical", "", "odd")), rng.IntN(5) == 0
		r.Run, r.Session, r.Principal = pickOne("r1", "r2"), pickOne("s1", "s2", ""), pickOne("anna", "ben", "")
		r.Rule, r.Profile, r.Asker = pickOne("x", "y"), pickOne("p", "q"), pickOne("1", "2")
		r.Definition, r.ServerID = pickOne("d", "e"), pickOne("i", "j")
		r.Terms.Args = pickOne("exact", "rule", "any", "", "odd")
		if rng.IntN(3) == 0 {
			r.Terms.Pointers = nil
		}
		return r
	}
	given, used := 0, 0
	for range 10000 {
		from, scope := random(), call.Scope(pickOne("run", "count", "time", "session", "once", "always", ""))
		g, err := from.Draft(call.Answer{Scope: scope}, someday)
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
		same("profile", from.Profile+from.Asker, to.Profile+to.Asker)
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
		if scope == call.ForTime && (from.Risk == call.High || to.Risk == call.High) {
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

// N2, D3, E6: where something is cut, masked, of a high risk or of another run, no plan is offered, and a plan of
// another run or principal is none.
func TestN2PlansThatAreNotOffered(t *testing.T) {
	for why, change := range map[string]func(r *Request){
		"a question that is cut": func(r *Request) {
			r.Args = json.RawMessage(`{"path":"` + strings.Repeat("x", 5000) +
				`"}`)
		},
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
			if _, err := r.Draft(call.Answer{Scope: call.ForPlan}, time.Now()); !errors.Is(err, errNotOffered) {
				t.Errorf("got %v", err)
			}
			if _, schema := formOfOne(r, oneOf); strings.Contains(string(schema), "plan") {
				t.Errorf("got %s", schema)
			}
			if text := Text(r, RenderOptions{}); strings.Contains(text, "at most 50 times") {
				t.Errorf("a plan is shown that cannot be allowed:\n%s", text)
			}
			if got, err := readFormOfOne(r, "accept", map[string]any{"decision": "allow_plan"}); err == nil && got.Allowed {
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
		if _, err := PlanGrants([]PlannedCall{{Call: line, Envelope: e, Count: 1}}, "r7", time.Now()); !errors.Is(err,
			errNotOffered) {
			t.Errorf("%s: got %v", why, err)
		}
	}
	if _, err := planned(t).Draft(call.Answer{Scope: call.ForPlan}, time.Now().Add(9*time.Hour)); !errors.Is(err,
		errNotOffered) {
		t.Errorf("a plan that is over: %v", err)
	}
}

// A person chooses for how many calls and until when a grant is good, within what the profile lets them; more is
// refused and not made to fit.
func TestAPersonChoosesTheNumberAndTheEnd(t *testing.T) {
	r := write("/a")
	r.Terms = Terms{Scopes: []call.Scope{call.ForRun, call.ForCount, call.ForTime, call.ForSession}, Default: time.Minute,
		Max: time.Hour, Pointers: []string{"/path"}}
	for _, test := range []struct {
		wish  call.Answer
		uses  int
		lasts time.Duration
		wrong error
	}{
		{call.Answer{Scope: call.ForRun}, RunUses, time.Hour, nil},
		{call.Answer{Scope: call.ForRun, Uses: 3, Length: 2 * time.Minute}, 3, 2 * time.Minute, nil},
		{call.Answer{Scope: call.ForCount}, countUses, time.Hour, nil},
		{call.Answer{Scope: call.ForCount, Uses: 36}, 36, time.Hour, nil},
		{call.Answer{Scope: call.ForTime}, 0, time.Minute, nil},
		{call.Answer{Scope: call.ForTime, Uses: 2, Length: 30 * time.Minute}, 2, 30 * time.Minute, nil},
		{call.Answer{Scope: call.ForSession, Length: time.Minute}, 0, time.Minute, nil},
		{call.Answer{Scope: call.ForCount, Uses: RunUses + 1}, 0, 0, errTooMuch},
		{call.Answer{Scope: call.ForTime, Uses: -1}, 0, 0, errTooMuch},
		{call.Answer{Scope: call.ForTime, Length: time.Hour + 1}, 0, 0, errTooLong},
		{call.Answer{Scope: call.ForRun, Length: time.Hour + 1}, 0, 0, errTooLong},
		{call.Answer{Scope: call.ForSession, Length: -1}, 0, 0, errTooLong},
		{call.Answer{Scope: call.Once, Uses: 1}, 0, 0, errNotOffered},
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
	for coverage, want := range map[string]string{
		coverExact: `exactly path: "/a", content: "xxxx`, coverRule: `/path "/a", other arguments as they come`,
		coverAny: "any arguments",
	} {
		r.Terms.Args = coverage
		g, err := r.Draft(call.Answer{Scope: call.ForTime}, someday)
		checktest.OK(t, err)
		if got := g.Allows(); !strings.HasPrefix(got, "fs.write with "+want) || len(got) > 200 {
			t.Errorf("%s: %s", coverage, got)
		}
	}
	r.Args = json.RawMessage(`{"path":"/` + strings.Repeat("a", 60) + `/the-end"}`)
	r.Terms.Args = coverRule
	g, err := r.Draft(call.Answer{Scope: call.ForTime}, someday)
	checktest.OK(t, err)
	if got := g.Allows(); !strings.Contains(got, "the-end") {
		t.Errorf("a long value: %s", got)
	}
}

// TestALookAlikeKeyIsAnErrorOfAGrant: an upstream may take another key for the one that the grant is about.
func TestALookAlikeKeyIsAnErrorOfAGrant(t *testing.T) {
	r := write("/a")
	r.Terms = Terms{Scopes: []call.Scope{call.ForRun}, Pointers: []string{"/path", "/o/to"}}
	r.Args = json.RawMessage(`{"path": "/a", "o": {"to": "x"}, "n": 1}`)
	g, err := r.Draft(call.Answer{Scope: call.ForRun}, someday)
	if err != nil || !g.Covers(r, someday) {
		t.Fatalf("got %v", err)
	}
	for args, covered := range map[string]bool{
		`{"path": "/a", "o": {"to": "x"}, "n": 2, "file": "/etc", "to": "z"}`: true,
		`{"path": "/a", "o": {"to": "x"}, "PATH": "/etc"}`:                    false,
		`{"PATH": "/etc", "path": "/a", "o": {"to": "x"}}`:                    false,
		`{"path": "/a", "o": {"to": "x"}, "p\u0430th": "/etc"}`:               false,
		`{"path": "/a", "o": {"to": "x"}, "pat\u200bh": "/etc"}`:              false,
		`{"path": "/a", "o": {"to": "x"}, "ｐａｔｈ": "/etc"}`:                    false,
		`{"path": "/a", "o": {"to": "x", "To": "y"}}`:                         false,
		`{"path": "/a", "o": {"to": "x", "t\u043e": "y"}}`:                    false,
		`{"path": "/a", "o": {"to": "x"}, "O": {"to": "y"}}`:                  false,
		`{"PATH": "/a", "o": {"to": "x"}}`:                                    false,
	} {
		other := *r
		other.Args = json.RawMessage(args)
		if g.Covers(&other, someday) != covered {
			t.Errorf("%s: covered is %v", args, !covered)
		}
		if _, err := other.Draft(call.Answer{Scope: call.ForRun}, someday); strings.Contains(args, "path") && (err == nil) != covered {
			t.Errorf("%s: a new grant gives %v", args, err)
		}
		envelope := Envelope{Fixed: []Value{{"/path", `"/a"`}, {"/o/to", `"x"`}}, Free: []string{""}}
		if envelope.holds(other.Args) != covered {
			t.Errorf("%s: the envelope of a plan holds it: %v", args, !covered)
		}
	}
}

// Such arguments are shown as bytes, come from nowhere that is known, and are covered by no grant, whatever it covers.
func TestRefusedArgumentsAreCoveredByNothing(t *testing.T) {
	for _, args := range refusedArgs {
		r := request(call.Medium)
		r.Args, r.Run = json.RawMessage(`{"a":1}`), "r_1"
		r.Terms = Terms{Scopes: []call.Scope{call.ForRun}, Args: coverAny}
		g, err := r.Draft(call.Answer{Scope: call.ForRun}, time.Now())
		if err != nil || !g.Covers(r, time.Now()) {
			t.Fatalf("%v, %v", g, err)
		}
		r.Args = json.RawMessage(args)
		if g.Covers(r, time.Now()) {
			t.Errorf("a grant for any arguments covers %q", args)
		}
		for _, coverage := range []string{coverExact, coverRule, coverAny} {
			r.Terms.Args, r.Terms.Pointers = coverage, []string{"/a"}
			if g, err := r.Draft(call.Answer{Scope: call.ForRun}, time.Now()); err == nil {
				t.Errorf("%s: a yes to %q is remembered: %+v", coverage, args, g)
			}
		}
		if _, err := Sketch(r.Args, []string{""}, nil); err == nil {
			t.Errorf("%q are planned", args)
		}
		if (&Envelope{Free: []string{""}}).holds(r.Args) {
			t.Errorf("a plan with any arguments holds %q", args)
		}
		rows, _ := Rows([]*Request{r, r})
		for _, shown := range []string{Text(r, RenderOptions{}), Summary(r), Shown(r.Args, Display{}), rows[0]} {
			if checkInert(t, shown); !strings.Contains(shown, "(not strict JSON, ") {
				t.Errorf("%q are shown as\n%s", args, shown)
			}
		}
	}
}
