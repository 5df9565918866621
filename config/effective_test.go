package config

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/profiles"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/settings"
)

// profilesOf loads several profiles; "p" is the one that is looked at.
func profilesOf(t testing.TB, all string) *profiles.Profile {
	t.Helper()
	return parse(t, `{"evaluation": {"profiles": {`+all+`}}}`).Profile("p")
}

// TestExtends is POLICY.md A10: lists are joined, of the rest the strictest counts.
func TestExtends(t *testing.T) {
	for _, row := range []struct {
		title, all, tool string
		want             call.Verdict
	}{
		{"a parent's deny binds the child", `"q": {"denylist": ["a__b"]}, "p": {"extends": ["q"], "allowlist": ["a__*"]}`,
			"a b", call.Deny},
		{"a parent's ask binds the child", `"q": {"asklist": ["a__b"]}, "p": {"extends": ["q"], "allowlist": ["a__*"]}`,
			"a b", call.Ask},
		{"a parent's allow counts", `"q": {"allowlist": ["a__b"]}, "p": {"extends": ["q"], "allowlist": ["a__c"]}`, "a b",
			call.Allow},
		{"a child's deny binds a parent's allow",
			`"q": {"allowlist": ["a__b"]}, "p": {"extends": ["q"], "denylist": ["a__b"]}`, "a b", call.Deny},
		{"a grandparent's deny binds", `"r": {"denylist": ["a__b"]}, "q": {"extends": ["r"]}, "p": {"extends": ["q"]}`, "a b",
			call.Deny},
		{"the second parent's deny binds", `"r": {"denylist": ["a__b"]}, "q": {}, "p": {"extends": ["q", "r"]}`, "a b",
			call.Deny},
		{"a parent may stand below", `"p": {"extends": ["q"]}, "q": {"denylist": ["a__b"]}`, "a b", call.Deny},
		{"a parent's allowlist makes the rest denied", `"q": {"allowlist": ["a__b"]}, "p": {"extends": ["q"]}`, "x y",
			call.Deny},
		{"a parent's unmatched", `"q": {"unmatched": "deny"}, "p": {"extends": ["q"]}`, "x y", call.Deny},
		{"a child cannot loosen unmatched", `"q": {"unmatched": "deny"}, "p": {"extends": ["q"], "unmatched": "allow"}`,
			"x y", call.Deny},
		{"a parent cannot loosen unmatched", `"q": {"unmatched": "allow"}, "p": {"extends": ["q"], "unmatched": "ask"}`,
			"x y", call.Ask},
		{"a parent cannot loosen an allowlist", `"q": {"unmatched": "allow"}, "p": {"extends": ["q"], "allowlist": ["a__b"]}`,
			"x y", call.Deny},
		{"a child that says nothing does not tighten", `"q": {"unmatched": "ask"}, "p": {"extends": ["q"]}`, "x y", call.Ask},
	} {
		t.Run(row.title, func(t *testing.T) {
			if d := profilesOf(t, row.all).Decide(callOf(row.tool, `{}`)); d.Verdict != row.want {
				t.Errorf("got %s\nwant %s", described(d), row.want)
			}
		})
	}
}

func TestExtendsTakesTheStrictestSettings(t *testing.T) {
	p := profilesOf(t, `
		"q": {"elicitationFallback": "deny", "limits": {"asks": 5, "calls": 100, "cpu": "2s"},
			"ask": {"timeout": "1m", "minHuman": "1s", "channels": ["web", "terminal"], "edit": false, "approver": "other"},
			"redact": {"keys": ["token"], "detect": true}, "raise": {"tainted": "ask", "openWorldHint": "deny"}},
		"p": {"extends": ["q"], "elicitationFallback": "allow", "limits": {"asks": 9, "calls": 10, "repeat": 3},
			"ask": {"timeout": "2m", "minHuman": "500ms", "budget": "10m", "channels": ["terminal", "elicitation"], "edit": true, "batch": true},
			"redact": {"keys": ["secret"], "pointers": ["/a"]}, "raise": {"tainted": "deny", "openWorldHint": "ask"}}`)
	if p.Fallback() {
		t.Error("a child loosened elicitationFallback")
	}
	if diff := cmp.Diff(profiles.Limits{Asks: 5, Calls: 10, Repeat: 3, CPU: 2 * time.Second}, p.Limits()); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	off, on := false, true
	want := profiles.Asking{Channels: []string{"terminal"}, Timeout: time.Minute, Budget: 10 * time.Minute,
		MinHuman: time.Second, Edit: &off, Batch: &on, OtherOnly: true}
	if diff := cmp.Diff(want, p.Ask()); diff != "" {
		t.Errorf("ask (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(profiles.Redact{Keys: []string{"token", "secret"}, Pointers: []string{"/a"}, Detect: true},
		p.Redact()); diff != "" {
		t.Errorf("redact (-want +got):\n%s", diff)
	}
	if d := p.Decide(profiles.Call{Name: "a__b", Tainted: true}); d.Verdict != call.Deny {
		t.Errorf("raise: got %s, want deny", described(d))
	}
	t.Run("channels with nothing in common are none, not all", func(t *testing.T) {
		p := profilesOf(t, `"q": {"ask": {"channels": ["web"]}}, "p": {"extends": ["q"], "ask": {"channels": ["terminal"]}}`)
		if got := p.Ask().Channels; got == nil || len(got) != 0 {
			t.Errorf("got %#v, want an empty list", got)
		}
	})
	t.Run("nothing said stays unsaid", func(t *testing.T) {
		p := profile(t, ``)
		if diff := cmp.Diff(profiles.Asking{}, p.Ask()); diff != "" || p.Ask().Channels != nil {
			t.Errorf("ask (-want +got):\n%s", diff)
		}
		if (p.Limits() != profiles.Limits{}) || p.Fallback() {
			t.Errorf("got %+v and fallback %t", p.Limits(), p.Fallback())
		}
	})
	t.Run("a fallback that allows", func(t *testing.T) {
		if !profile(t, `"elicitationFallback": "allow"`).Fallback() {
			t.Error("got false")
		}
		if !profilesOf(t, `"q": {}, "p": {"extends": ["q"], "elicitationFallback": "allow"}`).Fallback() {
			t.Error("a parent that does not say forbids it")
		}
	})
}

// TestFloor is POLICY.md A10: the floor binds every profile and the base tool.
func TestFloor(t *testing.T) {
	const floor = `"floor": "f", "profiles": {
		"f": {"denylist": ["*__drop_*"], "asklist": [{"id": "pay", "tool": "pay__*", "risk": "critical"}, {"id": "big", "tool": "db__*", "when": {"/n": {"gte": 10}}}],
			"limits": {"calls": 5, "asks": 2}, "raise": {"tainted": "ask"}, "redact": {"keys": ["token"]}, "elicitationFallback": "deny"},
		"p": {"elicitationFallback": "allow", "limits": {"asks": 9}, "remember": {"scopes": ["run"]}, "asklist": ["pay__both"], "denylist": ["x__*", "pay__no"], "unmatched": "allow"},
		"q": {"allowlist": ["db__drop_t"]}}`
	c := parse(t, `{"evaluation": {`+floor+`}}`)
	for _, row := range []struct {
		profile, tool, args string
		want                call.Verdict
		floor               bool
		rule                string
	}{
		{"p", "db drop_t", `{}`, call.Deny, true, "*__drop_*"},
		{"q", "db drop_t", `{}`, call.Deny, true, "*__drop_*"},
		{"", "db drop_t", `{}`, call.Deny, true, "*__drop_*"},
		{"f", "db drop_t", `{}`, call.Deny, false, "*__drop_*"},
		{"p", "pay x", `{}`, call.Ask, true, "pay"},
		{"p", "pay both", `{}`, call.Ask, true, "pay__both"},
		{"p", "pay no", `{}`, call.Deny, false, "pay__no"},
		{"", "pay x", `{}`, call.Ask, true, "pay"},
		{"p", "x y", `{}`, call.Deny, false, "x__*"},
		{"p", "db get", `{"n": 10}`, call.Ask, true, "big"},
		{"p", "db get", `{"n": 9}`, call.Allow, false, ""},
		{"p", "db get", `{}`, call.Ask, true, "big"},
	} {
		d := c.Profile(row.profile).Decide(callOf(row.tool, row.args))
		if d.Verdict != row.want || d.Floor != row.floor || d.Reasons[0].Rule != row.rule {
			t.Errorf("%s %s in %q: got %s, floor %t\nwant %s by %q, floor %t", row.tool, row.args, row.profile, described(d),
				d.Floor, row.want, row.rule, row.floor)
		}
		checkDecision(t, d)
	}
	t.Run("what cannot be judged stays so, whoever asks about it", func(t *testing.T) {
		const when = `{"tool": "a__b", "when": {"/x": {"eq": 1}}}`
		for _, body := range []string{`"f": {"asklist": ["*"]}, "p": {"asklist": [` + when + `]}`,
			`"f": {"asklist": [` + when + `]}, "p": {"asklist": ["*"]}`} {
			d := parse(t, `{"evaluation": {"floor": "f", "profiles": {`+body+`}}}`).Profile("p").Decide(callOf("a b", `{}`))
			if d.Verdict != call.Ask || !d.Unknown || !d.Floor {
				t.Errorf("%s: got %s, unknown %t, floor %t", body, described(d), d.Unknown, d.Floor)
			}
		}
	})
	p := c.Profile("p")
	if d := p.Decide(callOf("pay both", `{}`)); d.Risk != "critical" || len(d.Reasons) != 2 || !d.Reasons[1].Floor ||
		d.Reasons[0].Floor {
		t.Errorf("the floor's risk and reasons are missing: %s", described(d))
	}
	if l := p.Limits(); l.Calls != 5 || l.Asks != 2 {
		t.Errorf("the floor's limits do not hold: %+v", l)
	}
	if p.Fallback() || !slices.Contains(p.Redact().Keys, "token") {
		t.Error("the floor's fallback or redaction does not hold")
	}
	if d := p.Decide(profiles.Call{Name: "pay__x", Counters: profiles.Counters{Calls: 5}}); d.Verdict != call.Deny ||
		d.Code != call.CodeLimit || d.Floor {
		t.Errorf("a limit that is used up: got %s, floor %t", described(d), d.Floor)
	}
	if d := p.Decide(profiles.Call{Name: "a__b", Tainted: true}); d.Verdict != call.Ask || !d.Floor ||
		d.Remember.Scopes != nil {
		t.Errorf("what the floor raises can be answered by a grant: %s, %+v", described(d), d.Remember)
	}
	if d := c.Profile("").Decide(profiles.Call{Name: "a__b", Tainted: true}); d.Verdict != call.Ask {
		t.Errorf("the floor's raise does not hold for the base tool: %s", described(d))
	}
	if c.Profile("").Unrestricted() {
		t.Error("a base tool with a floor is called unrestricted")
	}
	t.Run("limits of the file are not the floor's", func(t *testing.T) {
		c := parse(t, `{"limits": {"calls": 3}, "evaluation": {"floor": "f", "profiles": {"f": {}, "p": {"limits": {"calls": 7}}}}}`)
		if got := c.Profile("p").Limits().Calls; got != 7 {
			t.Errorf("got %d calls, want the profile's own 7", got)
		}
	})
}

// TestRemember is POLICY.md section 5 as far as a profile decides it.
func TestRemember(t *testing.T) {
	const rest = `, "remember": {"scopes": ["run", "count", "time"], "default": "5m", "max": "8h", "args": "rule"}`
	full := call.Remember{Scopes: []string{"run", "count", "time"}, Default: 5 * time.Minute, Max: 8 * time.Hour,
		Args: "rule"}
	for _, row := range []struct {
		title, body, args string
		want              call.Remember
		pointers          []string
	}{
		{"the profile's", `"asklist": ["a__b"]` + rest, `{}`, full, nil},
		{"none without remember", `"asklist": ["a__b"]`, `{}`, call.Remember{}, nil},
		{"the rule narrows", `"asklist": [{"tool": "a__b", "remember": {"scopes": ["run", "time"], "max": "30m", "args": "exact"}}]` + rest, `{}`,
			call.Remember{Scopes: []string{"run", "time"}, Default: 5 * time.Minute, Max: 30 * time.Minute, Args: "exact"}, nil},
		{"the rule cannot widen", `"asklist": [{"tool": "a__b", "remember": {"scopes": ["run", "session"], "max": "24h", "args": "any"}}]` + rest, `{}`,
			call.Remember{Scopes: []string{"run"}, Default: 5 * time.Minute, Max: 8 * time.Hour, Args: "rule"}, nil},
		{"a maximum below the default", `"asklist": [{"tool": "a__b", "remember": {"max": "1m"}}]` + rest, `{}`,
			call.Remember{Scopes: full.Scopes, Default: time.Minute, Max: time.Minute, Args: "rule"}, nil},
		{"two rules narrow together",
			`"asklist": [{"tool": "a__b", "remember": {"scopes": ["run"]}}, {"tool": "a__*", "remember": {"scopes": ["time"]}}]` + rest, `{}`,
			call.Remember{Scopes: []string{}, Default: 5 * time.Minute, Max: 8 * time.Hour, Args: "rule"}, nil},
		{"a rule alone", `"asklist": [{"tool": "a__b", "remember": {"scopes": ["count"]}}]`, `{}`,
			call.Remember{Scopes: []string{"count"}, Default: 5 * time.Minute, Max: 8 * time.Hour, Args: "rule"}, nil},
		{"the pointers of the rules that hold",
			`"asklist": [{"tool": "a__b", "when": {"/x": {"eq": 1}, "/y": {"exists": true}}}, {"tool": "a__*", "when": {"/y": {"eq": 2}}}, {"tool": "a__*", "when": {"/z": {"exists": true}}}]` + rest,
			`{"x": 1, "y": 2}`, full, []string{"/x", "/y"}},
		{"high risk is not remembered beyond the run", `"asklist": [{"tool": "a__b", "risk": "high"}]` + rest, `{}`,
			call.Remember{Scopes: []string{"run", "count"}, Default: 5 * time.Minute, Max: 8 * time.Hour, Args: "rule"}, nil},
		{"critical risk is not remembered", `"asklist": [{"tool": "a__b", "risk": "critical"}]` + rest, `{}`, call.Remember{},
			nil},
		{"an unknown condition is not remembered", `"asklist": [{"tool": "a__b", "when": {"/x": {"eq": 1}}}]` + rest, `{}`,
			call.Remember{}, nil},
		{"unmatched ask is remembered as the profile says", `"unmatched": "ask"` + rest, `{}`, full, nil},
	} {
		t.Run(row.title, func(t *testing.T) {
			d := profile(t, row.body).Decide(callOf("a b", row.args))
			if diff := cmp.Diff(row.want, d.Remember); diff != "" || d.Verdict != call.Ask {
				t.Errorf("%s (-want +got):\n%s", d.Verdict, diff)
			}
			if diff := cmp.Diff(row.pointers, d.Pointers); diff != "" {
				t.Errorf("pointers (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("deciding does not change the profile", func(t *testing.T) {
		p := profile(t, `"asklist": [{"tool": "a__b", "risk": "high", "remember": {"scopes": ["run", "time"]}}]`+rest)
		first := p.Decide(callOf("a b", `{}`))
		first.Remember.Scopes[0] = "changed"
		if diff := cmp.Diff([]string{"run"}, p.Decide(callOf("a b", `{}`)).Remember.Scopes); diff != "" {
			t.Errorf("scopes (-want +got):\n%s", diff)
		}
	})
}

// TestPolicyExample is POLICY.md section 1: the example loads and behaves as its text says.
func TestPolicyExample(t *testing.T) {
	c, err := Load("../testdata/profiles/policy.json")
	must(t, err)
	if c.Default != "supervised" || c.Floor != "house" {
		t.Fatalf("got the default %q and the floor %q", c.Default, c.Floor)
	}
	for _, row := range []struct {
		title, profile, tool, args string
		want                       call.Verdict
		risk                       call.Risk
		rule                       string
	}{
		{"what readonly lists", "readonly", "github get_issue", `{}`, call.Allow, "low", "github__get_*"},
		{"what readonly does not list", "readonly", "github create_issue", `{}`, call.Deny, "", ""},
		{"the base tool is supervised", "", "github create_issue", `{"owner": "acme", "repo": "api"}`, call.Allow, "medium",
			"own-issues"},
		{"an allow of the parent, beneath a soft ask", "supervised", "github list_issues", `{}`, call.Allow, "medium",
			"github__list_*"},
		{"another owner", "supervised", "github create_issue", `{"owner": "other", "repo": "web"}`, call.Ask, "medium",
			"github-rest"},
		{"an argument the rule does not name", "supervised", "github create_issue",
			`{"owner": "acme", "repo": "web", "visibility": "public"}`, call.Ask, "medium", "github-rest"},
		{"another tool of github", "supervised", "github delete_repo", `{}`, call.Ask, "medium", "github-rest"},
		{"a deletion", "supervised", "fs delete_file", `{"path": "/data/x"}`, call.Deny, "", "fs__delete_*"},
		{"a write", "supervised", "fs write_file", `{"path": "/data/x"}`, call.Ask, "medium", "fs-write"},
		{"a write to system files", "supervised", "fs write_file", `{"path": "/data/../etc/passwd"}`, call.Deny, "",
			"no-etc"},
		{"a read of system files", "supervised", "fs read_file", `{"path": "//etc/shadow"}`, call.Deny, "", "no-etc"},
		{"a read that no rule mentions", "supervised", "fs read_file", `{"path": "/data/x"}`, call.Deny, "", ""},
		{"a write to who knows where", "supervised", "fs write_file", `{"file": "/etc/passwd"}`, call.Ask, "medium",
			"no-etc"},
		{"the floor denies drops everywhere", "readonly", "time drop_it", `{}`, call.Deny, "", "*__drop_*"},
		{"the floor asks about big payments", "house", "pay create", `{"amount": {"value": "10000.00"}}`, call.Ask,
			"critical", "big-payment"},
		{"a payment just below", "house", "pay create", `{"amount": {"value": "9999.99"}}`, call.Allow, "low", ""},
		{"a payment of unknown size", "house", "pay create", `{"amount": 20000}`, call.Ask, "critical", "big-payment"},
		{"a payment where it is not allowed at all", "supervised", "pay create", `{"amount": {"value": "20000"}}`, call.Deny,
			"", ""},
		{"nothing but what is listed", "supervised", "mail send", `{}`, call.Deny, "", ""},
	} {
		t.Run(row.title, func(t *testing.T) {
			d := c.Profile(row.profile).Decide(callOf(row.tool, row.args))
			if d.Verdict != row.want || d.Risk != row.risk || d.Reasons[0].Rule != row.rule {
				t.Errorf("got %s\nwant %s, risk %q, by %q", described(d), row.want, row.risk, row.rule)
			}
			checkDecision(t, d)
		})
	}
	p := c.Profile("supervised")
	if diff := cmp.Diff(profiles.Limits{Asks: 20, AsksPerMinute: 6, Pending: 5, Refusals: 3, Calls: 1000, Repeat: 5},
		p.Limits()); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	d := p.Decide(callOf("fs write_file", `{"path": "/data/x"}`))
	if diff := cmp.Diff(call.Remember{Scopes: []string{"run", "time"}, Default: 5 * time.Minute, Max: 30 * time.Minute,
		Args: "rule"}, d.Remember); diff != "" {
		t.Errorf("remember (-want +got):\n%s", diff)
	}
	if a := p.Ask(); a.Timeout != 2*time.Minute || a.Budget != 10*time.Minute || a.MinHuman != 700*time.Millisecond ||
		!*a.Batch || !*a.Edit || a.OtherOnly {
		t.Errorf("ask: got %+v", a)
	}
	if x := p.Redact(); !x.Detect || len(x.Keys) != 5 || len(x.Pointers) != 1 {
		t.Errorf("redact: got %+v", x)
	}
	destructive := callOf("time wipe", `{}`)
	destructive.Annotations = map[string]any{"destructiveHint": true}
	if d := p.Decide(destructive); d.Verdict != call.Ask || d.Reasons[0].List != "raise" {
		t.Errorf("a destructive tool: got %s, want ask by raise", described(d))
	}
}

func TestDigests(t *testing.T) {
	const rest = `"q": {"denylist": ["x__y"]}, "f": {"denylist": ["v__w"]}`
	file := func(p, more string) *Config {
		return parse(t, `{`+more+`"evaluation": {"floor": "f", "profiles": {"p": `+p+`, `+rest+`}}}`)
	}
	base := file(`{"extends": ["q"], "denylist": ["a__b"]}`, ``).Profile("p").Digest()
	if !strings.HasPrefix(base, "sha256:") || len(base) != len("sha256:")+64 {
		t.Fatalf("got %q", base)
	}
	for title, c := range map[string]*Config{
		"comments and spaces": file(`{ /* x */ "extends" : [ "q" , ], "denylist":["a__b"]}`, ``),
		"another server":      file(`{"extends": ["q"], "denylist": ["a__b"]}`, `"mcpServers": {"s": {"command": "x"}}, `),
	} {
		if got := c.Profile("p").Digest(); got != base {
			t.Errorf("%s changed the digest", title)
		}
	}
	seen := map[string]string{base: "the profile itself"}
	for title, c := range map[string]*Config{
		"another rule":    file(`{"extends": ["q"], "denylist": ["a__c"]}`, ``),
		"another setting": file(`{"extends": ["q"], "denylist": ["a__b"], "unmatched": "ask"}`, ``),
		"no parent":       file(`{"denylist": ["a__b"]}`, ``),
		"a trusted server": file(`{"extends": ["q"], "denylist": ["a__b"]}`,
			`"mcpServers": {"s": {"command": "x", "trustAnnotations": true}}, `),
		"limits": file(`{"extends": ["q"], "denylist": ["a__b"]}`, `"limits": {"calls": 1}, `),
		"no floor": parse(t,
			`{"evaluation": {"profiles": {"p": {"extends": ["q"], "denylist": ["a__b"]}, `+rest+`}}}`),
		"another floor": parse(t,
			`{"evaluation": {"floor": "f", "profiles": {"p": {"extends": ["q"], "denylist": ["a__b"]}, "q": {"denylist": ["x__y"]}, "f": {}}}}`),
		"another parent": parse(t,
			`{"evaluation": {"floor": "f", "profiles": {"p": {"extends": ["q"], "denylist": ["a__b"]}, "q": {}, "f": {"denylist": ["v__w"]}}}}`),
	} {
		got := c.Profile("p").Digest()
		if other := seen[got]; other != "" {
			t.Errorf("%s has the digest of %s", title, other)
		}
		seen[got] = title
	}
	if parse(t, `{}`).Digest == parse(t, `{ }`).Digest {
		t.Error("the digest of the file does not cover its bytes")
	}
}

func TestRules(t *testing.T) {
	if p := profile(t, ``); p.Name() != "p" || p.Pos() != (settings.Position{File: "codemode.json", Line: 1, Column: 30}) {
		t.Errorf("got %q at %s", p.Name(), p.Pos())
	}
	p := profilesOf(t, `"q": {"denylist": ["a-b__*"]}, "p": {"extends": ["q"], "allowlist": [{"id": "w", "tool": ["a_b__x", "c__d"], "when": {"/n": {"eq": 1}}}]}`)
	rules := p.Rules()
	if len(rules) != 2 {
		t.Fatalf("got %d rules, want 2", len(rules))
	}
	d, a := rules[0], rules[1]
	if d.ID != "" || d.List != profiles.Denylist || d.Profile != "q" || d.Conditional() || d.Pos.Line != 1 ||
		!slices.Equal(d.Patterns, []string{"a-b__*"}) {
		t.Errorf("got %+v", d)
	}
	if a.ID != "w" || a.List != profiles.Allowlist || a.Profile != "p" || !a.Conditional() || a.When[0].Pointer != "/n" {
		t.Errorf("got %+v", a)
	}
	if !d.Matches("a_b__x", "a-b__x") || d.Matches("c__d", "c__d") || !a.Matches("a_b__x", "a-b__x") ||
		!a.Matches("c__d", "c__d") {
		t.Error("a rule is about other tools than Decide finds")
	}
}

// TestExplain is POLICY.md H1 as far as a profile answers it.
func TestExplain(t *testing.T) {
	p := parse(t, `{"evaluation": {"floor": "f", "profiles": {"f": {"denylist": ["*__drop"]}, "p": {
		"denylist": ["x__y", {"id": "etc", "tool": "a__*", "when": {"/p": {"under": "/etc"}}}],
		"asklist": ["a__b"], "allowlist": ["a__b", "a__c"]}}}}`).Profile("p")
	x := p.Explain(callOf("a b", `{"p": "/data"}`))
	type line struct{ rule, list, result string }
	var got []line
	for _, r := range x.Considered {
		got = append(got, line{r.Rule, r.List, r.Result})
		if r.Pos.Line == 0 || r.Text == "" || r.Floor != (r.Profile == "f") {
			t.Errorf("incomplete: %+v", r)
		}
	}
	want := []line{
		{"x__y", "denylist", "other tool"}, {"etc", "denylist", "false"}, {"a__b", "asklist", "true"},
		{"a__b", "allowlist", "true"}, {"a__c", "allowlist", "other tool"}, {"*__drop", "denylist", "other tool"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(line{})); diff != "" {
		t.Errorf("considered (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(p.Decide(callOf("a b", `{"p": "/data"}`)), x.Decision); diff != "" {
		t.Errorf("explain decides otherwise (-decide +explain):\n%s", diff)
	}
}

func TestExplainSaysWhatWouldChangeIt(t *testing.T) {
	c := parse(t, `{"evaluation": {"floor": "f", "profiles": {"f": {"denylist": ["*__drop"], "asklist": ["pay__*"], "raise": {"tainted": "ask"}}, "p": {
		"denylist": ["x__y", {"id": "etc", "tool": "a__*", "when": {"/p": {"under": "/etc"}}}],
		"asklist": ["a__b"], "allowlist": ["ok__*", {"id": "mine", "tool": "a__c", "when": {"/owner": {"eq": "acme"}}}], "limits": {"calls": 9}}}}}`)
	ask := parse(t, `{"evaluation": {"profiles": {"p": {"unmatched": "ask"}}}}`).Profile("p")
	named := parse(t, `{"evaluation": {"profiles": {"p": {"asklist": [{"tool": "a__*", "unlessAllowed": ["x"]}], "unmatched": "allow"}}}}`).Profile("p")
	soft := parse(t, `{"evaluation": {"floor": "f", "profiles": {"f": {"asklist": [{"tool": "b__*", "unlessAllowed": true}]}, "p": {
		"asklist": [{"tool": "a__*", "unlessAllowed": true}, {"tool": "c__*", "when": {"/q": {"eq": 1}}, "unlessAllowed": true}],
		"allowlist": ["x__*", "b__*", {"id": "mine", "tool": "*__set", "when": {"/p": {"eq": 1}}}]}}}}`).Profile("p")
	for _, row := range []struct {
		title string
		p     *profiles.Profile
		c     profiles.Call
		want  string
	}{
		{"a deny rule", c.Profile("p"), callOf("x y", ``), `remove or narrow the rule "x__y" at codemode.json:2:16`},
		{"an ask rule", c.Profile("p"), callOf("a b", `{"p": "/x"}`),
			`remove or narrow the rule "a__b" at codemode.json:3:15; or give it "unlessAllowed" and allow the tool`},
		{"an unknown deny rule", c.Profile("p"), callOf("a b", `{}`),
			"make the rule \"etc\" at codemode.json:2:24 judgeable: /p is missing\nremove or narrow the rule \"a__b\" at codemode.json:3:15; or give it \"unlessAllowed\" and allow the tool"},
		{"no rule", c.Profile("p"), callOf("q-1 r", ``),
			`add "q_1__r" to the allowlist or the asklist of the profile "p" at codemode.json:1:128`},
		{"a near miss", c.Profile("p"), callOf("a c", `{"p": "/x", "owner": "other"}`),
			"add \"a__c\" to the allowlist or the asklist of the profile \"p\" at codemode.json:1:128\nmake the rule \"mine\" at codemode.json:3:47 hold: not /owner {\"eq\":\"acme\"}"},
		{"the floor's deny", c.Profile("p"), callOf("ok drop", ``),
			`remove or narrow the floor's rule "*__drop" at codemode.json:1:63`},
		{"a named exception", named, callOf("a b", `{"p": "/x"}`),
			`make an allow rule of the id "x" hold: the rule "a__*" at codemode.json:1:48 gives way to it; or remove or narrow that`},
		{"a soft ask, and an allow rule that is near", soft, callOf("a set", `{"p": 2}`),
			"allow \"a__set\": the rule \"a__*\" at codemode.json:2:15 gives way to an allow rule\nmake the rule \"mine\" at codemode.json:3:33 hold: not /p {\"eq\":1}"},
		{"a soft ask, and no allow rule that is near", soft, callOf("a get", `{}`),
			`allow "a__get": the rule "a__*" at codemode.json:2:15 gives way to an allow rule`},
		{"a soft ask of the floor", soft, callOf("b set", `{}`),
			`allow "b__set" beside it: the floor's rule "b__*" at codemode.json:1:62 gives way to an allow rule of its own profile only`},
		{"a soft ask that cannot be judged", soft, callOf("c set", `{"p": 1}`),
			`make the rule "c__*" at codemode.json:2:56 judgeable: /q is missing`},
		{"allowed", c.Profile("p"), callOf("ok x", ``), ``},
		{"a limit", c.Profile("p"), profiles.Call{Name: "ok__x", Counters: profiles.Counters{Calls: 9}},
			`raise "limits" of the profile "p" at codemode.json:1:128, or start another run`},
		{"raised", c.Profile("p"), profiles.Call{Name: "ok__x", Tainted: true},
			`change "raise" of the profile "f" at codemode.json:1:44`},
		{"another definition", c.Profile("p"), profiles.Call{Name: "ok__x", DefinitionChanged: true},
			`review the tool as it is now`},
		{"bad arguments", c.Profile("p"), callOf("ok x", `[]`), `send arguments that can be judged`},
		{"unmatched ask", ask, callOf("a b", ``), `add "a__b" to the allowlist of the profile "p" at codemode.json:1:30`},
	} {
		x := row.p.Explain(row.c)
		if got := strings.Join(x.Changes, "\n"); got != row.want {
			t.Errorf("%s: got\n%s\nwant\n%s", row.title, got, row.want)
		}
	}
}

// Lists of what clients get are those of a profile and its parents. What only narrows a profile adds nothing to them.
func TestWhatClientsGetBesideTools(t *testing.T) {
	c, err := ParseAll(nil,
		Source{File: "managed.json", Standing: Managed, Data: []byte(`{"evaluation": {"floor": "house", "profiles": {
			"house": {"prompts": "*"}, "p": {"resources": "*"}}}}`)},
		Source{File: "user.json", Standing: User, Data: []byte(`{"evaluation": {"profiles": {
			"parent": {"prompts": ["git__a", "git__b"]}, "p": {"extends": ["parent"], "prompts": "fs__*"}}}}`)})
	must(t, err)
	p := c.Profile("p")
	for name, want := range map[string]bool{"git__a": true, "fs__x": true, "git__c": false, "x__y": false} {
		if got := p.Prompts.Match(name); got != want {
			t.Errorf("%s: got %t, want %t", name, got, want)
		}
	}
	if len(p.Resources) > 0 || !contains(p.Text(), "prompts: [\"git__a\",\"git__b\",\"fs__*\"]\nresources: []\n") {
		t.Errorf("got\n%s", p.Text())
	}
}
