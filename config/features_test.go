package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/profiles"
)

// The tests of this file are the checks of POLICY.md section 8, by name. What they name is
// tried in depth elsewhere; testdata/profiles/checks.txt lists where.

// refused loads a file that must not load, and gives its first problem.
func refused(t *testing.T, content string) settings.Problem {
	t.Helper()
	_, err := Parse("codemode.json", []byte(content))
	var problems settings.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("it loads: %s", content)
	}
	return problems[0]
}

func TestA1TheOriginalPlanLoadsUnchanged(t *testing.T) {
	c, err := Load("../testdata/profiles/original.json")
	must(t, err)
	wantVerdicts(t, c.Profile("safe"), `allow time__now`, `deny fs__x`)
	wantVerdicts(t, c.Profile("supervised"), `deny filesystem__delete_a`, `ask filesystem__read`, `allow other__x`)
}

func TestA2OneGrammarOfPatterns(t *testing.T) {
	wantVerdicts(t, profile(t, `"denylist": ["fs__*"]`), `deny fs__a/b`, `deny fs__`, `allow fs_a`)
	for _, pattern := range []string{`!x`, `@(a|b)`, `fs__[`, `a{`} {
		p := refused(t, inProfile(fmt.Sprintf("\n\"denylist\": [%q]", pattern)))
		if p.File != "codemode.json" || p.Line != 2 || p.Column < 15 || p.Hint == "" {
			t.Errorf("%s: the problem is not fit to mend the file: %s", pattern, p)
		}
	}
}

func TestA3EveryNameOfATool(t *testing.T) {
	wantVerdicts(t, profile(t, `"denylist": ["fs__delete-file"]`), `deny fs__delete-file`)
	wantVerdicts(t, profile(t, `"denylist": ["fs__delete_file"]`), `deny fs__delete-file`)
	wantVerdicts(t, profile(t, `"asklist": ["fs__delete-*"]`), `ask fs__delete-file`)
	wantVerdicts(t, profile(t, `"allowlist": ["fs__delete-file"]`), `allow fs__delete-file`, `deny fs__delete_file`)
	wantVerdicts(t, profile(t, `"allowlist": ["fs__delete_file"]`), `allow fs__delete-file`)
	if p := refused(t, `{"servers": {"a__b": {"command": "x"}}}`); !contains(p.Hint, `"__" separates`) {
		t.Errorf("got %s", p)
	}
	refused(t, `{"servers": {"a-": {"command": "x"}}}`) // allow rules for "a" would fit a___x too
}

func TestA5UnknownNeverAllowsAndAnUnknownDenyAsks(t *testing.T) {
	p := profile(t, `"denylist": [{"id": "no-etc", "tool": "fs__*", "when": {"/path": {"under": "/etc"}}}]`)
	wantVerdicts(t, p, `deny fs__read {"path":"/etc/x"}`, `allow fs__read {"path":"/tmp/x"}`)
	for _, args := range []string{`{"file":"/etc/x"}`, `{"path":["/etc/x"]}`} {
		d := p.Decide(callOf("fs read", args))
		if d.Verdict != call.Ask || !d.Unknown || d.Reasons[0].Rule != "no-etc" {
			t.Errorf("%s: got %s\nwant a question that names no-etc", args, described(d))
		}
	}
	allow := profile(t, `"allowlist": [{"tool": "fs__*", "when": {"/path": {"under": "/etc"}}}]`)
	wantVerdicts(t, allow, `allow fs__read {"path":"/etc/x"}`, `deny fs__read {"file":"/etc/x"}`,
		`deny fs__read {"path":["/etc/x"]}`)
}

func TestA6ClosedAllow(t *testing.T) {
	p := profile(t, `"allowlist": [{"tool": "g__create_issue", "when": {"/owner": {"eq": "acme"}, "/repo": {"in": ["web", "api"]}}, "others": "none"}]`)
	wantVerdicts(t, p, `allow g__create_issue {"owner":"acme","repo":"web"}`,
		`deny g__create_issue {"owner":"acme","repo":"web","visibility":"public"}`)
}

func TestA7SafeComparisons(t *testing.T) {
	for _, row := range []struct{ condition, value, want string }{
		{`{"under": ["/data"]}`, `"/data/../etc/x"`, "false"},
		{`{"under": ["/etc"]}`, `"/data/../etc/x"`, "true"},
		{`{"under": ["/etc"]}`, `"/data//../etc//x"`, "true"},
		{`{"under": ["/etc"]}`, `"//etc/x"`, "unknown"}, // to Windows a computer; a deny rule holds
		{`{"under": ["/data"]}`, `"/database"`, "false"},
		{`{"host": ["good.example"]}`, `"https://good.example@evil.example/"`, "false"},
		{`{"host": ["evil.example"]}`, `"https://good.example@evil.example/"`, "true"},
		{`{"host": ["*.good.example"]}`, `"https://evilgood.example/"`, "false"},
		{`{"eq": 0.3}`, `0.30000000000000004`, "false"}, // 0.1+0.2
		{`{"lte": "0.3"}`, `0.30000000000000004`, "false"},
		{`{"lte": "0.3"}`, `"0.3"`, "true"},
		{`{"gt": "9007199254740992"}`, `9007199254740993`, "true"}, // one float for both
		{`{"regex": "good"}`, `"xgoodx"`, "false"},
		{`{"regex": "a|b"}`, `"ab"`, "false"},
		{`{"regex": "good"}`, `"good\n"`, "false"},
	} {
		p := profile(t, `"allowlist": [{"tool": "a__b", "when": {"/x": `+row.condition+`}}]`)
		x := p.Explain(callOf("a b", `{"x":`+row.value+`}`))
		if got := x.Considered[0].Result; got != row.want {
			t.Errorf("%s of %s: got %s, want %s", row.condition, row.value, got, row.want)
		}
	}
}

func TestA8StrictParsing(t *testing.T) {
	for _, row := range []struct{ content, message, hint string }{
		{inProfile(`"denylst": []`), `unknown key "denylst"`, `did you mean "denylist"`},
		{inProfile(`"denylist": [], "denylist": []`), `the key "denylist" is twice`, "keep one"},
		{inProfile(`"denylist": [{"tool": "a__b", "when": {}}]`), `"when" must not be empty`, "remove it"},
		{inProfile(`"denylist": [{"tool": "a__b", "when": {"/x": {}}}]`), `is empty`, "say what the argument must be"},
		{inProfile(`"denylist": [{"tool": "a__b", "when": {"/x": {"matches": "y"}}}]`), `unknown key "matches"`, ""},
	} {
		if p := refused(t, row.content); !contains(p.Message, row.message) || !contains(p.Hint, row.hint) {
			t.Errorf("%s: got %s", row.content, p)
		}
	}
}

func TestA9ExamplesOfRulesAreTried(t *testing.T) {
	p := refused(t, inProfile(`"denylist": [{"id": "no-etc", "tool": "fs__*", "when": {"/path": {"under": "/etc"}},
		"examples": {"match": [{"path": "/tmp/x"}]}}]`))
	if !contains(p.Message, "no-etc") || !contains(p.Message, `{"path":"/tmp/x"}`) || p.Line != 2 {
		t.Errorf("the problem does not show rule and example: %s", p)
	}
	refused(t, inProfile(`"denylist": [{"tool": "fs__*", "when": {"/path": {"under": "/etc"}}, "examples": {"noMatch": [{"path": "/etc/x"}]}}]`))
	// An example is tried as the rule is: widely in a deny rule, narrowly in an allow rule.
	parse(t, inProfile(`"denylist": [{"tool": "a__b", "when": {"/x": {"eq": "X"}}, "examples": {"match": [{"x": "x"}]}}]`))
	refused(t, inProfile(`"allowlist": [{"tool": "a__b", "when": {"/x": {"eq": "X"}}, "examples": {"match": [{"x": "x"}]}}]`))
	parse(t, inProfile(`"denylist": [{"tool": "fs__*", "when": {"/path": {"under": "/etc"}}, "examples": {"match": [{"path": "/etc/x"}], "noMatch": [{"path": "/tmp"}]}}]`))
}

// TestA10NobodyLoosensTheFloor tries random profiles, overlays and files under a floor that
// denies *__drop_*: nothing that any of them says lets such a call pass.
func TestA10NobodyLoosensTheFloor(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(10, 10))}
	floor := `{"evaluation": {"floor": "house", "profiles": {"house": {"denylist": ["*__drop_*"]}}}}`
	for range *pairs / 200 {
		mine := object{"profiles": object{"p": m.profile(), "q": m.profile("p"), "house": m.profile()},
			"defaultProfile": pick(m, "p", "q", "house"),
			"overlays":       []any{object{"id": "o", "session": "s", "allowlist": []any{"*"}, "unmatched": "allow"}}}
		raw, err := json.Marshal(object{"evaluation": mine})
		must(t, err)
		c, err := ParseAll(nil, Source{"/etc/managed.json", []byte(floor), Managed}, Source{"codemode.json", raw, User},
			Source{"project.json", []byte(inProfile(`"allowlist": ["*"]`)), Trusted})
		if err != nil {
			t.Fatalf("%v\nin %s", err, raw)
		}
		for _, name := range append(c.All(), "") {
			asked := m.call()
			asked.Server, asked.Tool = "db", "drop_t"
			if d := c.Narrowed(name, Subject{Session: "s"}, asked.Time).Decide(asked); d.Verdict != call.Deny {
				t.Fatalf("%q of %s: %s", name, raw, described(d))
			}
		}
	}
	wantVerdicts(t, profilesOf(t, `"f": {"denylist": ["*__drop_*"]}, "p": {"extends": ["f"], "allowlist": ["db__*"]}`),
		`deny db__drop_t`, `allow db__x`)
}

func TestA12AllowUntil(t *testing.T) {
	p := profile(t, `"allowlist": [{"tool": "a__b", "until": "2026-06-01T12:00:00Z"}]`)
	var clock profiles.Clock
	at := func(text string) call.Verdict {
		now, err := time.Parse(time.RFC3339, text)
		must(t, err)
		return p.Decide(profiles.Call{Name: "a__b", Time: clock.At(now)}).Verdict
	}
	for _, row := range []struct {
		time string
		want call.Verdict
	}{
		{"2026-06-01T11:59:59Z", call.Allow},
		{"2026-06-01T12:00:00Z", call.Deny},
		{"2026-05-01T00:00:00Z", call.Deny}, // the clock was set back
		{"2027-01-01T00:00:00Z", call.Deny},
	} {
		if got := at(row.time); got != row.want {
			t.Errorf("at %s: got %s, want %s", row.time, got, row.want)
		}
	}
	for _, list := range []string{"denylist", "asklist"} {
		if p := refused(t, inProfile(`"`+list+`": [{"tool": "a__b", "until": "2026-06-01T12:00:00Z"}]`)); !contains(p.Hint,
			"lapses would loosen") {
			t.Errorf("%s: got %s", list, p)
		}
	}
}

func TestA13AnnotationsRaiseAlwaysAndLowerOnlyForTrustedServers(t *testing.T) {
	c := parse(t, `{"servers": {"trusted": {"command": "x", "trustAnnotations": true}, "other": {"command": "x"}},
		"evaluation": {"profiles": {"p": {"allowlist": [{"tool": "*", "annotations": {"readOnlyHint": true}}, "*__plain"], "raise": {"destructiveHint": "ask"}}}}}`)
	for _, row := range []struct {
		server, tool, hint string
		want               call.Verdict
	}{
		{"other", "x", "", call.Deny},
		{"other", "x", "readOnlyHint", call.Deny}, // it says so itself
		{"trusted", "x", "readOnlyHint", call.Allow},
		{"other", "plain", "", call.Allow},
		{"other", "plain", "destructiveHint", call.Ask},
		{"trusted", "plain", "destructiveHint", call.Ask},
	} {
		d := c.Profile("p").Decide(profiles.Call{Server: row.server, Tool: row.tool,
			Annotations: map[string]any{row.hint: true}})
		if d.Verdict != row.want {
			t.Errorf("%s of %s says %q: got %s\nwant %s", row.tool, row.server, row.hint, described(d), row.want)
		}
	}
}

func TestA14AChangedDefinitionAsksAndNoGrantAnswers(t *testing.T) {
	p := profile(t, `"allowlist": ["a__b"], "asklist": ["a__c"], "remember": {"scopes": ["run"]}`)
	for _, tool := range []string{"a__b", "a__c"} {
		d := p.Decide(profiles.Call{Name: tool, DefinitionChanged: true})
		if d.Verdict != call.Ask || d.Remember.Scopes != nil {
			t.Errorf("%s: got %s, remember %v", tool, described(d), d.Remember)
		}
	}
}

func TestA17ToolsDeniedForAllArgumentsAreHidden(t *testing.T) {
	p := profile(t, `"denylist": ["db__drop", {"tool": "db__read", "when": {"/table": {"eq": "secret"}}}]`)
	if p.Visible(callOf("db drop", "")) || !p.Visible(callOf("db read", "")) {
		t.Error("db__drop should be hidden, and db__read not")
	}
	if d := p.Decide(callOf("db drop", `{}`)); d.Code != call.CodeDenied {
		t.Errorf("a direct call: got %s", described(d))
	}
}

func TestA18SoftAskAndUnmatchedAsk(t *testing.T) {
	wantVerdicts(t, profile(t, `"asklist": ["g__*"], "allowlist": ["g__get"]`), `ask g__get`, `ask g__set`, `deny h__x`)
	wantVerdicts(t, profile(t, `"asklist": [{"tool": "g__*", "unlessAllowed": true}], "allowlist": ["g__get"]`),
		`allow g__get`, `ask g__set`, `deny h__x`)
	wantVerdicts(t, profile(t, `"allowlist": ["g__get"], "unmatched": "ask"`), `allow g__get`, `ask h__x`)
}

// TestB1DecisionsArePureAndGiveReasons decides random calls twice: the same bytes come out,
// and every deny names a rule or says that there is none.
func TestB1DecisionsArePureAndGiveReasons(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(1, 1))}
	for range *pairs / 100 {
		evaluation := m.evaluation()
		first, again := configOf(t, evaluation), configOf(t, evaluation)
		for range 100 {
			name, c := pick(m, first.All()...), m.call()
			a, err := json.Marshal(first.Profile(name).Decide(c))
			must(t, err)
			b, err := json.Marshal(again.Profile(name).Decide(c))
			must(t, err)
			if string(a) != string(b) {
				t.Fatalf("two answers:\n%s\n%s", a, b)
			}
			checkDecision(t, first.Profile(name).Decide(c))
		}
	}
}

func TestH5AShadowProfileDecidesNothing(t *testing.T) {
	c := parse(t, `{"evaluation": {"defaultProfile": "live", "profiles": {
		"live": {"allowlist": ["a__*"], "shadow": "next"},
		"next": {"allowlist": ["a__get"], "asklist": [{"id": "sets", "tool": "a__set"}]}}}}`)
	live := c.Profile("live")
	for _, row := range []struct{ tool, want string }{
		{"a__get", ""},
		{"a__set", `ask instead of allow: the rule "sets" at codemode.json:3:49`},
		{"a__del", "deny instead of allow: no rule decides, and what is not on the allowlist is denied"},
		{"b__x", ""},
	} {
		asked := profiles.Call{Name: row.tool}
		if got := profiles.Differ(live.Decide(asked), live.Shadow().Decide(asked)); got != row.want {
			t.Errorf("%s: got %q, want %q", row.tool, got, row.want)
		}
	}
	wantVerdicts(t, live, `allow a__set`, `allow a__del`)
	without := parse(t, `{"evaluation": {"defaultProfile": "live", "profiles": {"live": {"allowlist": ["a__*"]}}}}`).Profile("live")
	if live.Digest() != without.Digest() {
		t.Error("a shadow makes void what was approved under the profile")
	}
	if c.Profile("next").Shadow() != nil || live.Shadow().Shadow() != nil {
		t.Error("a shadow has a shadow")
	}
	if p := refused(t, `{"evaluation": {"profiles": {"p": {"shadow": "p"}}}}`); !contains(p.Message, "its own shadow") {
		t.Errorf("got %s", p)
	}
	refused(t, `{"evaluation": {"profiles": {"p": {"shadow": "nobody"}}}}`)
}

// TestE6NothingThatCannotBeGrantedOffersAGrant is the rules' part of POLICY.md E6, over
// random profiles: what is denied, unknown, critical or a layer's demand offers no grant,
// and what is of high risk none that outlasts the run.
func TestE6NothingThatCannotBeGrantedOffersAGrant(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(6, 6))}
	offered := 0
	for range *pairs / 200 {
		evaluation := m.evaluation()
		for _, p := range evaluation["profiles"].(object) {
			p.(object)["remember"] = object{"scopes": []any{"run", "count", "time", "session"}}
		}
		c := configOf(t, evaluation)
		for range 100 {
			asked := m.call()
			asked.DefinitionChanged = m.chance(10)
			d := c.Profile(pick(m, c.All()...)).Decide(asked)
			scopes := strings.Join(d.Remember.Scopes, " ")
			switch {
			case scopes == "":
			case d.Verdict != call.Ask || d.Unknown || d.Floor || d.Risk == "critical" || asked.DefinitionChanged:
				t.Fatalf("a grant is offered for %s: %s", scopes, described(d))
			case d.Risk == "high" && contains(scopes, "time"):
				t.Fatalf("a grant of high risk outlasts the run: %s: %s", scopes, described(d))
			default:
				offered++
			}
		}
	}
	if offered < *pairs/100 {
		t.Errorf("only %d grants were offered: the test looks at too little", offered)
	}
}
