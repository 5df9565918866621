package config

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/profiles"
)

// TestOriginalPlan is POLICY.md A1 and FEATURES.md S0.3 to S0.5: the original plan's file
// loads and means what it meant.
func TestOriginalPlan(t *testing.T) {
	c, err := Load("../testdata/profiles/original.json")
	must(t, err)
	for _, row := range []struct {
		profile, tool string
		want          call.Verdict
	}{
		{"safe", "time now", call.Allow},
		{"safe", "fs x", call.Deny},
		{"supervised", "filesystem delete_a", call.Deny},
		{"supervised", "filesystem read", call.Ask},
		{"supervised", "other x", call.Allow},
		{"", "filesystem delete_a", call.Allow}, // no defaultProfile: the base tool is unrestricted
	} {
		if d := c.Profile(row.profile).Decide(callOf(row.tool, `{}`)); d.Verdict != row.want {
			t.Errorf("%s in %q: got %s\nwant %s", row.tool, row.profile, described(d), row.want)
		}
	}
	if c.Profile("saef") != nil {
		t.Error("there is a profile that the file does not have")
	}
	if !c.Profile("").Unrestricted() || c.Profile("safe").Unrestricted() || c.Profile("supervised").Unrestricted() {
		t.Error("only the base tool is unrestricted")
	}
	if c.Profile("supervised").Fallback() {
		t.Error("elicitationFallback is deny unless the file says allow")
	}
}

// TestOrder is POLICY.md section 3 step 4 and THREATS.md P01: deny, ask, allow, default,
// wherever the rules stand.
func TestOrder(t *testing.T) {
	for _, row := range []struct {
		title, body string
		want        call.Verdict
	}{
		{"nothing said", ``, call.Allow},
		{"an allowlist that fits", `"allowlist": ["a__b"]`, call.Allow},
		{"an allowlist that does not fit", `"allowlist": ["a__c"]`, call.Deny},
		{"an empty allowlist", `"allowlist": []`, call.Deny},
		{"a denylist alone leaves the rest allowed", `"denylist": ["a__c"]`, call.Allow},
		{"an asklist alone leaves the rest allowed", `"asklist": ["a__c"]`, call.Allow},
		{"deny over allow", `"allowlist": ["a__b"], "denylist": ["a__*"]`, call.Deny},
		{"deny over allow, narrow over broad", `"denylist": ["a__b"], "allowlist": ["*"]`, call.Deny},
		{"deny over ask", `"asklist": ["a__b"], "denylist": ["*"]`, call.Deny},
		{"ask over allow", `"allowlist": ["a__b"], "asklist": ["a__*"]`, call.Ask},
		{"broad allow does not beat narrow ask", `"asklist": ["a__b"], "allowlist": ["*"]`, call.Ask},
		{"ask without an allowlist match", `"allowlist": ["x__*"], "asklist": ["a__b"]`, call.Ask},
		{"unmatched deny", `"unmatched": "deny"`, call.Deny},
		{"unmatched ask", `"unmatched": "ask"`, call.Ask},
		{"unmatched ask beats the allowlist's default", `"allowlist": ["x__*"], "unmatched": "ask"`, call.Ask},
		{"unmatched allow beats the allowlist's default", `"allowlist": ["x__*"], "unmatched": "allow"`, call.Allow},
		{"a soft ask loses to an allow", `"asklist": [{"tool": "a__*", "unlessAllowed": true}], "allowlist": ["a__b"]`,
			call.Allow},
		{"a soft ask wins over unmatched", `"asklist": [{"tool": "a__*", "unlessAllowed": true}], "unmatched": "deny"`,
			call.Ask},
		{"a soft ask loses to a deny", `"asklist": [{"tool": "a__*", "unlessAllowed": true}], "denylist": ["a__b"]`,
			call.Deny},
		{"a named exception", `"asklist": [{"tool": "a__*", "unlessAllowed": ["x"]}], "allowlist": ["a__*", {"id": "x", "tool": "a__b"}]`, call.Allow},
		{"an allow rule that is not the named exception",
			`"asklist": [{"tool": "a__*", "unlessAllowed": ["x"]}], "allowlist": ["a__*", {"id": "x", "tool": "a__c"}]`,
			call.Ask},
		{"an exception that is only named", `"asklist": [{"tool": "a__*", "unlessAllowed": ["a__*"]}], "allowlist": ["a__*"]`,
			call.Ask},
		{"a named exception loses to a deny",
			`"asklist": [{"tool": "a__*", "unlessAllowed": ["x"]}], "allowlist": [{"id": "x", "tool": "a__b"}], "denylist": ["a__b"]`, call.Deny},
		{"a named exception loses to another ask",
			`"asklist": [{"tool": "a__*", "unlessAllowed": ["x"]}, "a__b"], "allowlist": [{"id": "x", "tool": "a__b"}]`,
			call.Ask},
		{"a named exception that cannot be judged",
			`"asklist": [{"tool": "a__*", "unlessAllowed": ["x"]}], "allowlist": ["a__*", {"id": "x", "tool": "a__b", "when": {"/x": {"eq": 1}}}]`, call.Ask},
		{"a hard ask beside a soft one",
			`"asklist": [{"tool": "a__*", "unlessAllowed": true}, "a__b"], "allowlist": ["a__b"]`, call.Ask},
		{"unlessAllowed false is a hard ask", `"asklist": [{"tool": "a__*", "unlessAllowed": false}], "allowlist": ["a__b"]`,
			call.Ask},
		{"an unknown deny turns allow into ask",
			`"denylist": [{"tool": "a__b", "when": {"/x": {"eq": 1}}}], "allowlist": ["a__b"]`, call.Ask},
		{"an unknown ask turns allow into ask",
			`"asklist": [{"tool": "a__b", "when": {"/x": {"eq": 1}}}], "allowlist": ["a__b"]`, call.Ask},
		{"an unknown soft ask turns allow into ask",
			`"asklist": [{"tool": "a__b", "unlessAllowed": true, "when": {"/x": {"eq": 1}}}], "allowlist": ["a__b"]`, call.Ask},
		{"an unknown deny leaves an unmatched deny",
			`"denylist": [{"tool": "a__b", "when": {"/x": {"eq": 1}}}], "unmatched": "deny"`, call.Deny},
		{"an unknown allow allows nothing", `"allowlist": [{"tool": "a__b", "when": {"/x": {"eq": 1}}}]`, call.Deny},
		{"one deny true, another unknown", `"denylist": [{"tool": "a__b", "when": {"/x": {"eq": 1}}}, "a__b"]`, call.Deny},
		{"a rule for several tools", `"denylist": [{"tool": ["x__y", "a__[bc]"]}]`, call.Deny},
	} {
		t.Run(row.title, func(t *testing.T) {
			d := profile(t, row.body).Decide(callOf("a b", `{}`))
			if d.Verdict != row.want {
				t.Errorf("got %s\nwant %s", described(d), row.want)
			}
			checkDecision(t, d)
		})
	}
}

// checkDecision holds for every decision, whatever it is.
func checkDecision(t testing.TB, d call.Decision) {
	t.Helper()
	if len(d.Reasons) == 0 {
		t.Fatalf("no reasons: %s", described(d))
	}
	for _, r := range d.Reasons {
		if r.Text == "" || r.List == "" || r.Result == "" {
			t.Errorf("a reason without words: %+v", r)
		}
		if r.Rule != "" && r.Pos.Line == 0 {
			t.Errorf("a rule without a place: %+v", r)
		}
	}
	if (d.Verdict == call.Deny) != (d.Code != "") || (d.Verdict == call.Deny) != (d.Risk == "") {
		t.Errorf("code and risk do not fit the verdict: %s", described(d))
	}
	if d.Verdict != call.Ask && (d.Remember.Scopes != nil || d.Pointers != nil || d.Unknown) {
		t.Errorf("remembering without a question: %+v", d)
	}
	if (d.Unknown || d.Floor) && d.Remember.Scopes != nil {
		t.Errorf("a grant for what must be asked each time: %+v", d)
	}
}

// TestNames is POLICY.md A2 and A3.
func TestNames(t *testing.T) {
	for _, row := range []struct {
		title, body, tool string
		want              call.Verdict
	}{
		{"a star goes over a slash", `"denylist": ["fs__*"]`, "fs a/b", call.Deny},
		{"a star in the middle goes over slashes", `"denylist": ["fs__*_b"]`, "fs x/y/z_b", call.Deny},
		{"deny sees the upstream's own spelling", `"denylist": ["fs__delete-file"]`, "fs delete-file", call.Deny},
		{"deny sees the canonical name too", `"denylist": ["fs__delete_file"]`, "fs delete-file", call.Deny},
		{"ask sees the upstream's own spelling", `"asklist": ["fs__delete-*"]`, "fs delete-file", call.Ask},
		{"deny sees the server's own spelling", `"denylist": ["my-fs__*"]`, "my-fs x", call.Deny},
		{"allow sees the canonical name", `"allowlist": ["fs__delete_file"]`, "fs delete-file", call.Allow},
		{"allow sees the upstream's own spelling", `"allowlist": ["fs__delete-file"]`, "fs delete-file", call.Allow},
		{"which is no name of another tool", `"allowlist": ["fs__delete-file"]`, "fs delete_file", call.Deny},
		{"allow sees letters of every script", `"allowlist": ["fs__获取*"]`, "fs 获取天气", call.Allow},
		{"a look-alike is another tool", `"allowlist": ["fs__send"]`, "fs s\u0435nd", call.Deny},
		{"a rule is read in NFC", `"allowlist": ["fs__cafe\u0301"]`, "fs caf\u00e9", call.Allow},
		{"a blank of a raw name is written with a backslash", `"allowlist": ["fs__a\\ b"]`, "fs a b", call.Allow},
		{"case matters", `"denylist": ["fs__Delete"]`, "fs delete", call.Allow},
		{"a pattern fits the whole name", `"denylist": ["fs__del"]`, "fs delete", call.Allow},
		{"a question mark is one character", `"denylist": ["fs__a?"]`, "fs a", call.Allow},
		{"a question mark is one character of any length", `"denylist": ["fs__a?"]`, "fs aé", call.Deny},
		{"a star over everything", `"denylist": ["*"]`, "fs x", call.Deny},
		{"a dot is a dot", `"denylist": ["fs__a.c"]`, "fs abc", call.Allow},
	} {
		t.Run(row.title, func(t *testing.T) {
			if d := profile(t, row.body).Decide(callOf(row.tool, ``)); d.Verdict != row.want {
				t.Errorf("got %s\nwant %s", described(d), row.want)
			}
		})
	}
	t.Run("in a profile large enough for an index", func(t *testing.T) {
		filler := strings.Repeat(`"zz__1", "*__zz", `, indexFrom)
		p := profile(t, `"denylist": [`+filler+`"my-fs__del-*", "*x-y*"], "asklist": [{"tool": "my_fs__del_*", "unlessAllowed": true}], "allowlist": ["my-fs__ok", "my_fs__ok*"]`)
		for tool, want := range map[string]call.Verdict{"my-fs del-a": call.Deny, "my-fs del_a": call.Ask, "q x-y": call.Deny,
			"q x_y": call.Deny, "my-fs ok": call.Allow, "my_fs ok": call.Allow, "my-fs ok-x-y": call.Deny,
			"other zz": call.Deny} {
			if tool == "q x_y" {
				want = call.Deny // by the allowlist's default: the raw name does not fit the deny rule
			}
			if d := p.Decide(callOf(tool, ``)); d.Verdict != want {
				t.Errorf("%s: got %s\nwant %s", tool, described(d), want)
			}
		}
	})
	t.Run("the canonical name may be given", func(t *testing.T) {
		p := profile(t, `"allowlist": ["fs__x"]`)
		for _, c := range []profiles.Call{{Name: "fs__x"}, {Server: "fs", Tool: "x", Name: "fs__x"},
			{Server: "fs", Tool: "x"}} {
			if d := p.Decide(c); d.Verdict != call.Allow {
				t.Errorf("%+v: got %s, want allow", c, described(d))
			}
		}
	})
	t.Run("no name at all is no tool", func(t *testing.T) {
		if d := profile(t, `"allowlist": ["?*__?*"]`).Decide(profiles.Call{}); d.Verdict != call.Deny {
			t.Errorf("got %s, want deny", described(d))
		}
	})
}

func TestCanonical(t *testing.T) {
	for _, row := range []struct{ server, tool, want string }{
		{"fs", "read", "fs__read"},
		{"my-fs", "read.file", "my_fs__read_file"},
		{"a", "$x/é b", "a__$x_é_b"},
		{"a", "😀", "a___"},
	} {
		if got := call.Name(row.server, row.tool); got != row.want {
			t.Errorf("%s, %s: got %q, want %q", row.server, row.tool, got, row.want)
		}
	}
}

// TestBadArguments is POLICY.md section 3 step 1: what cannot be judged in only one way is
// not judged at all, whatever the rules say.
func TestBadArguments(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 64) + `1` + strings.Repeat(`}`, 64)
	for _, row := range []struct {
		title, args, text string
	}{
		{"a key twice", `{"a": 1, "a": 2}`, "the same key twice"},
		{"a key twice, once escaped", `{"a": 1, "\u0061": 2}`, "the same key twice"},
		{"a key twice, deep inside", `{"x": [{"b": {"a": 1, "a": 1}}]}`, "the same key twice"},
		{"a key twice among many",
			`{"0":0,"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0,"10":0,"11":0,"12":0,"13":0,"3":0}`,
			"the same key twice"},
		{"65 levels", `{"b":` + deep + `}`, "deeper than 64"},
		{"65 lists", strings.Repeat("[", 65), "deeper than 64"},
		{"a list", `[1]`, "an array, not an object"},
		{"text", `"x"`, "a string, not an object"},
		{"a number", `1`, "a number, not an object"},
		{"true", `true`, "true, not an object"},
		{"not JSON", `{"a": undefined}`, "not a JSON value"},
		{"a comment", `{"a": 1 /* x */}`, "cannot be judged"},
		{"a trailing comma", `{"a": 1,}`, "a comma too many"},
		{"a trailing comma in a list", `{"a": [1,]}`, "a comma too many"},
		{"an exponent beyond reason", `{"a": 1e99999999999999999999}`, "an exponent of more than 15 digits"},
		{"two values", `{} {}`, "text after the end"},
		{"spaces alone", `  `, "there is nothing in it"},
		{"half a surrogate pair", `{"a": "\ud800"}`, "half a surrogate pair"},
		{"bytes that are not UTF-8", "{\"a\": \"\xff\"}", "not UTF-8"},
		{"a byte order mark", "\ufeff{}", "a byte order mark"},
		{"a control character", "{\"a\": \"\n\"}", "does not end on its line"},
		{"a leading zero", `{"a": 01}`, "not a JSON number"},
		{"too long", `{"a": "` + strings.Repeat("x", 1<<20) + `"}`, "longer than 1048576 bytes"},
	} {
		t.Run(row.title, func(t *testing.T) {
			p := profile(t, `"allowlist": ["*"]`)
			d := p.Decide(callOf("a b", row.args))
			if d.Verdict != call.Deny || d.Code != call.CodeBadArguments || !contains(d.Reasons[0].Text, row.text) {
				t.Errorf("got %s\nwant a denial with the code bad_arguments and %q", described(d), row.text)
			}
			checkDecision(t, d)
			if x := p.Explain(callOf("a b", row.args)); x.Decision.Code != call.CodeBadArguments || len(x.Considered) > 0 {
				t.Errorf("explain considers what cannot be judged: %+v", x)
			}
		})
	}
	for _, row := range []struct{ title, args string }{
		{"nothing", ``}, {"null", `null`}, {"an empty object", `{}`}, {"spaces around", " {\n}\t"},
		{"64 levels", deep}, {"the same key in two objects", `{"a": {"k": 1}, "b": {"k": 1}}`},
		{"keys that differ in case", `{"a": 1, "A": 2}`}, {"a surrogate pair", `{"a": "\ud83d\ude00"}`},
		{"a replacement character", `{"a": "\ufffd�"}`}, {"every escape", `{"a": "\"\\\/\b\f\n\r\t\u00e9"}`},
		{"many keys", `{"0":0,"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0,"10":0,"11":0,"12":0,"13":0}`},
	} {
		t.Run(row.title+" is judged", func(t *testing.T) {
			if d := profile(t, `"allowlist": ["*"]`).Decide(callOf("a b", row.args)); d.Verdict != call.Allow {
				t.Errorf("got %s, want allow", described(d))
			}
		})
	}
	t.Run("the profile's own limit", func(t *testing.T) {
		p := profile(t, `"limits": {"argumentBytes": 10}`)
		if d := p.Decide(callOf("a b", `{"a": 123}`)); d.Verdict != call.Allow {
			t.Errorf("at the limit: got %s", described(d))
		}
		if d := p.Decide(callOf("a b", `{"a": 1234}`)); d.Code != call.CodeBadArguments {
			t.Errorf("over the limit: got %s", described(d))
		}
	})
}

// TestClaimsInArguments is THREATS.md P08.
func TestClaimsInArguments(t *testing.T) {
	p := profile(t, `"denylist": ["a__b"]`)
	for _, args := range []string{`{"approved": true}`, `{"_meta": {"codemode/approved": true}}`,
		`{"profile": "other", "verdict": "allow"}`} {
		if d := p.Decide(callOf("a b", args)); d.Verdict != call.Deny {
			t.Errorf("%s: got %s, want deny", args, described(d))
		}
	}
}

func TestRisk(t *testing.T) {
	for _, row := range []struct {
		title, body string
		want        call.Risk
	}{
		{"an ask is medium", `"asklist": ["a__b"]`, "medium"},
		{"an allow is low", `"allowlist": ["a__b"]`, "low"},
		{"nothing said is low", ``, "low"},
		{"unmatched ask is medium", `"unmatched": "ask"`, "medium"},
		{"a deny has none", `"denylist": ["a__b"]`, ""},
		{"the highest of the ask rules",
			`"asklist": [{"tool": "a__b", "risk": "high"}, {"tool": "a__*", "risk": "critical"}, "a__b"]`, "critical"},
		{"a low ask", `"asklist": [{"tool": "a__b", "risk": "low"}]`, "low"},
		{"a low ask under a medium one", `"asklist": [{"tool": "a__b", "risk": "low"}, "a__*"]`, "medium"},
		{"unmatched ask beside an allow that does not hold",
			`"unmatched": "ask", "allowlist": [{"tool": "a__b", "when": {"/x": {"eq": 1}}}]`, "medium"},
		{"the risk of an allow rule counts for the question",
			`"asklist": ["a__b"], "allowlist": [{"tool": "a__*", "risk": "high"}]`, "high"},
		{"an unknown ask rule counts", `"asklist": [{"tool": "a__b", "risk": "critical", "when": {"/x": {"eq": 1}}}]`,
			"critical"},
		{"a rule that does not hold does not count",
			`"asklist": ["a__b", {"tool": "a__b", "risk": "critical", "when": {"/x": {"exists": true}}}]`, "medium"},
		{"an unknown allow rule does not count",
			`"asklist": ["a__b"], "allowlist": [{"tool": "a__b", "risk": "critical", "when": {"/x": {"eq": 1}}}]`, "medium"},
	} {
		if d := profile(t, row.body).Decide(callOf("a b", `{}`)); d.Risk != row.want {
			t.Errorf("%s: got %s\nwant the risk %q", row.title, described(d), row.want)
		}
	}
}

// TestAnnotations is POLICY.md A13: annotations may raise always, and lower only for
// servers that the file trusts.
func TestAnnotations(t *testing.T) {
	const servers = `{"mcpServers": {"good": {"command": "x", "trustAnnotations": true}, "evil": {"command": "x"}}, "evaluation": {"profiles": {"p": {`
	const end = `}}}}`
	allow := parse(t, servers+`"allowlist": [{"tool": "*", "annotations": {"readOnlyHint": true}}]`+end).Profile("p")
	deny := parse(t, servers+`"denylist": [{"tool": "*", "annotations": {"destructiveHint": true, "readOnlyHint": false}}]`+end).Profile("p")
	raise := parse(t, servers+`"raise": {"destructiveHint": "ask", "openWorldHint": "deny", "tainted": "ask"}`+end).Profile("p")
	for _, row := range []struct {
		title   string
		p       *profiles.Profile
		server  string
		hints   string
		tainted bool
		want    call.Verdict
	}{
		{"a trusted server's word allows", allow, "good", `{"readOnlyHint": true}`, false, call.Allow},
		{"an untrusted server's word allows nothing", allow, "evil", `{"readOnlyHint": true}`, false, call.Deny},
		{"a server the file does not know is not trusted", allow, "other", `{"readOnlyHint": true}`, false, call.Deny},
		{"a built-in server is trusted", allow, "time", `{"readOnlyHint": true}`, false, call.Allow},
		{"the other built-in server is trusted", allow, "filesystem", `{"readOnlyHint": true}`, false, call.Allow},
		{"a trusted server that says otherwise", allow, "good", `{"readOnlyHint": false}`, false, call.Deny},
		{"a trusted server that does not say", allow, "good", `{}`, false, call.Deny},
		{"a trusted server that says it in text", allow, "good", `{"readOnlyHint": "true"}`, false, call.Deny},
		{"every server's word denies", deny, "evil", `{"destructiveHint": true, "readOnlyHint": false}`, false, call.Deny},
		{"one hint of two", deny, "evil", `{"destructiveHint": true, "readOnlyHint": true}`, false, call.Allow},
		{"a hint that is not given makes it unknown", deny, "evil", `{"destructiveHint": true}`, false, call.Ask},
		{"a hint that is neither true nor false makes it unknown", deny, "evil",
			`{"destructiveHint": true, "readOnlyHint": "no"}`, false, call.Ask},
		{"nothing raises", raise, "evil", `{"destructiveHint": false, "openWorldHint": null, "readOnlyHint": true}`, false,
			call.Allow},
		{"a hint raises to ask", raise, "evil", `{"destructiveHint": true}`, false, call.Ask},
		{"a trusted server's hint raises too", raise, "good", `{"destructiveHint": true}`, false, call.Ask},
		{"a hint that is neither true nor false raises", raise, "evil", `{"destructiveHint": "yes"}`, false, call.Ask},
		{"the strictest raise wins", raise, "evil", `{"destructiveHint": true, "openWorldHint": true}`, true, call.Deny},
		{"a run that has read something untrusted", raise, "evil", `{}`, true, call.Ask},
		{"a hint of that name is not being tainted", raise, "evil", `{"tainted": true}`, false, call.Allow},
	} {
		t.Run(row.title, func(t *testing.T) {
			c := profiles.Call{Server: row.server, Tool: "x", Tainted: row.tainted}
			must(t, json.Unmarshal([]byte(row.hints), &c.Annotations))
			d := row.p.Decide(c)
			if d.Verdict != row.want {
				t.Errorf("got %s\nwant %s", described(d), row.want)
			}
			checkDecision(t, d)
		})
	}
	t.Run("a configured server takes the place of the built-in one", func(t *testing.T) {
		p := parse(t, `{"mcpServers": {"time": {"command": "x"}}, "evaluation": {"profiles": {"p": {"allowlist": [{"tool": "*", "annotations": {"readOnlyHint": true}}]}}}}`).Profile("p")
		if d := p.Decide(profiles.Call{Server: "time", Tool: "now",
			Annotations: map[string]any{"readOnlyHint": true}}); d.Verdict != call.Deny {
			t.Errorf("got %s, want deny", described(d))
		}
	})
}

// TestUntil is POLICY.md A12.
func TestUntil(t *testing.T) {
	p := profile(t, `"allowlist": [{"tool": "a__b", "until": "2026-12-31T18:00:00+01:00"}]`)
	end := time.Date(2026, 12, 31, 17, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		title string
		now   time.Time
		want  call.Verdict
	}{
		{"before the end", end.Add(-time.Nanosecond), call.Allow},
		{"at the end", end, call.Deny},
		{"after the end", end.Add(time.Hour), call.Deny},
		{"at an unknown time", time.Time{}, call.Deny},
	} {
		c := callOf("a b", `{}`)
		c.Time = row.now
		if d := p.Decide(c); d.Verdict != row.want {
			t.Errorf("%s: got %s\nwant %s", row.title, described(d), row.want)
		}
	}
	t.Run("a clock that is set back does not revive it", func(t *testing.T) {
		var clock profiles.Clock
		for _, row := range []struct {
			now  time.Time
			want call.Verdict
		}{{end.Add(-time.Hour), call.Allow}, {end.Add(time.Second), call.Deny}, {end.Add(-time.Hour), call.Deny}} {
			c := callOf("a b", `{}`)
			c.Time = clock.At(row.now)
			if d := p.Decide(c); d.Verdict != row.want {
				t.Errorf("at %s: got %s, want %s", row.now, d.Verdict, row.want)
			}
		}
	})
}

// TestLimits is POLICY.md F1 and F2.
func TestLimits(t *testing.T) {
	p := profile(t, `"asklist": ["a__ask"], "denylist": ["a__deny"],
		"limits": {"asks": 20, "asksPerMinute": 6, "pending": 5, "refusals": 3, "calls": 1000, "repeat": 5}`)
	for _, row := range []struct {
		title, tool string
		counters    profiles.Counters
		want        call.Verdict
		code        string
	}{
		{"everything one below its limit", "a ask", profiles.Counters{Calls: 999, Repeat: 4, Asks: 19, AsksLastMinute: 5,
			Pending: 4, Refusals: 2}, call.Ask, ""},
		{"the 21st question", "a ask", profiles.Counters{Asks: 20}, call.Deny, call.CodeLimit},
		{"the seventh question in a minute", "a ask", profiles.Counters{AsksLastMinute: 6}, call.Deny, call.CodeLimit},
		{"the sixth open question", "a ask", profiles.Counters{Pending: 5}, call.Deny, call.CodeLimit},
		{"after the third refusal", "a ask", profiles.Counters{Refusals: 3}, call.Deny, call.CodeLimit},
		{"limits on questions do not bind what is allowed", "a other", profiles.Counters{Asks: 20, AsksLastMinute: 6,
			Pending: 5, Refusals: 3}, call.Allow, ""},
		{"the 1001st call", "a other", profiles.Counters{Calls: 1000}, call.Deny, call.CodeLimit},
		{"the 1001st call, asked", "a ask", profiles.Counters{Calls: 1000}, call.Deny, call.CodeLimit},
		{"the sixth identical call is asked about", "a other", profiles.Counters{Repeat: 5}, call.Ask, ""},
		{"the sixth identical call, and no questions left", "a other", profiles.Counters{Repeat: 5, Asks: 20}, call.Deny,
			call.CodeLimit},
		{"what is denied is denied for that", "a deny", profiles.Counters{Calls: 1000, Repeat: 5}, call.Deny,
			call.CodeDenied},
	} {
		t.Run(row.title, func(t *testing.T) {
			c := callOf(row.tool, `{}`)
			c.Counters = row.counters
			d := p.Decide(c)
			if d.Verdict != row.want || d.Code != row.code {
				t.Errorf("got %s\nwant %s with the code %q", described(d), row.want, row.code)
			}
			checkDecision(t, d)
		})
	}
	t.Run("without limits nothing is counted", func(t *testing.T) {
		c := callOf("a ask", `{}`)
		c.Counters = profiles.Counters{Calls: 1 << 30, Repeat: 1 << 30, Asks: 1 << 30, AsksLastMinute: 1 << 30,
			Pending: 1 << 30, Refusals: 1 << 30}
		if d := profile(t, `"asklist": ["a__ask"]`).Decide(c); d.Verdict != call.Ask {
			t.Errorf("got %s, want ask", described(d))
		}
	})
	t.Run("limits of the file hold where the profile is silent", func(t *testing.T) {
		c := parse(t, `{"limits": {"calls": 10, "asks": 3}, "evaluation": {"profiles": {"p": {"limits": {"calls": 20}}}}}`)
		got := c.Profile("p").Limits()
		if got.Calls != 20 || got.Asks != 3 || c.Profile("").Limits().Calls != 10 {
			t.Errorf("got %+v and %+v", got, c.Profile("").Limits())
		}
	})
}

func TestDefinitionChanged(t *testing.T) {
	for _, row := range []struct {
		body string
		want call.Verdict
	}{{``, call.Ask}, {`"asklist": ["a__b"], "remember": {"scopes": ["run"]}`, call.Ask},
		{`"denylist": ["a__b"]`, call.Deny}} {
		c := callOf("a b", `{}`)
		c.DefinitionChanged = true
		d := profile(t, row.body).Decide(c)
		if d.Verdict != row.want || d.Remember.Scopes != nil {
			t.Errorf("%s: got %s with %+v\nwant %s and no grants", row.body, described(d), d.Remember, row.want)
		}
		checkDecision(t, d)
	}
}

// TestReasons is POLICY.md B1: every reason names its rule, file and line, and every
// denial carries a rule or says that there is none.
func TestReasons(t *testing.T) {
	c := parse(t, `{"evaluation": {"profiles": {"base": {"denylist": ["a__never"]}, "p": {
	"extends": ["base"],
	"denylist": [
		{"id": "no-etc", "tool": "a__*", "when": {"/path": {"under": ["/etc"]}}, "reason": "system files"}],
	"asklist": ["a__ask"],
	"allowlist": [
		{"id": "mine", "tool": "a__b", "when": {"/owner": {"eq": "acme"}}}]
	}}}}`)
	p := c.Profile("p")
	at := func(line, column int) settings.Position {
		return settings.Position{File: "codemode.json", Line: line, Column: column}
	}
	for _, row := range []struct {
		title, tool, args string
		want              []call.Reason
	}{
		{"a plain rule of a parent", "a never", `{"path": "/x"}`, []call.Reason{
			{Rule: "a__never", List: "denylist", Pos: at(1, 52), Result: "true", Text: "the profile denies it",
				Profile: "base"}}},
		{"a rule with a reason", "a b", `{"path": "/etc/x"}`, []call.Reason{
			{Rule: "no-etc", List: "denylist", Pos: at(4, 3), Result: "true", Text: "system files", Profile: "p",
				Conditions: []call.Condition{{Pointer: "/path", Result: "true", Text: `/path {"under":["/etc"]}`}}}}},
		{"a rule that cannot be judged", "a ask", `{}`, []call.Reason{
			{Rule: "no-etc", List: "denylist", Pos: at(4, 3), Result: "unknown", Profile: "p",
				Text:       `system files (the rule cannot be judged: /path is missing)`,
				Conditions: []call.Condition{{Pointer: "/path", Result: "unknown", Text: `/path is missing`}}},
			{Rule: "a__ask", List: "asklist", Pos: at(5, 14), Result: "true", Text: "the profile wants a person to decide",
				Profile: "p"}}},
		{"no rule, and one that came near", "a b", `{"path": "/x", "owner": "other"}`, []call.Reason{
			{List: "unmatched", Pos: at(1, 66), Result: "true",
				Text: "no rule decides, and what is not on the allowlist is denied", Profile: "p"},
			{Rule: "mine", List: "allowlist", Pos: at(7, 3), Result: "false", Profile: "p",
				Text:       `the rule does not hold: not /owner {"eq":"acme"}`,
				Conditions: []call.Condition{{Pointer: "/owner", Result: "false", Text: `not /owner {"eq":"acme"}`}}}}},
		{"an allow rule", "a b", `{"path": "/x", "owner": "acme"}`, []call.Reason{
			{Rule: "mine", List: "allowlist", Pos: at(7, 3), Result: "true", Text: "the profile allows it", Profile: "p",
				Conditions: []call.Condition{{Pointer: "/owner", Result: "true", Text: `/owner {"eq":"acme"}`}}}}},
	} {
		t.Run(row.title, func(t *testing.T) {
			got := p.Decide(callOf(row.tool, row.args))
			if diff := cmp.Diff(row.want, got.Reasons); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDecideIsPure is POLICY.md B1: the same question has the same answer, and asking
// changes nothing.
func TestDecideIsPure(t *testing.T) {
	c, err := Load("../testdata/profiles/policy.json")
	must(t, err)
	args := json.RawMessage(`{"owner": "acme", "repo": "web", "path": ["/etc/x"]}`)
	asked := profiles.Call{Server: "fs", Tool: "write_x", Args: call.Unread(args),
		Annotations: map[string]any{"destructiveHint": true}}
	first := c.Profile("").Decide(asked)
	for _, r := range first.Reasons { // whoever gets a decision may do with it what they like
		r.Text = ""
	}
	first.Reasons = append(first.Reasons[:0], first.Reasons...)
	for range 100 {
		if diff := cmp.Diff(first, c.Profile("").Decide(asked)); diff != "" {
			t.Fatalf("another answer (-first +now):\n%s", diff)
		}
	}
	if string(args) != `{"owner": "acme", "repo": "web", "path": ["/etc/x"]}` {
		t.Errorf("the arguments were changed: %s", args)
	}
}

// TestVisible is POLICY.md A17.
func TestVisible(t *testing.T) {
	for _, row := range []struct {
		title, body string
		want        bool
	}{
		{"nothing said", ``, true},
		{"denied by name", `"denylist": ["a__*"]`, false},
		{"denied for some arguments", `"denylist": [{"tool": "a__b", "when": {"/x": {"eq": 1}}}]`, true},
		{"denied by what the server says", `"denylist": [{"tool": "a__b", "annotations": {"destructiveHint": true}}]`, false},
		{"not denied by what the server does not say",
			`"denylist": [{"tool": "a__b", "annotations": {"openWorldHint": true}}]`, true},
		{"not on the allowlist", `"allowlist": ["x__*"]`, false},
		{"allowed for some arguments", `"allowlist": [{"tool": "a__b", "when": {"/x": {"eq": 1}}}]`, true},
		{"allowed until long ago", `"allowlist": [{"tool": "a__b", "until": "2020-01-01T00:00:00Z"}]`, false},
		{"allowed by annotations that are not trusted",
			`"allowlist": [{"tool": "a__b", "annotations": {"destructiveHint": true}}]`, false},
		{"asked about", `"allowlist": [], "asklist": ["a__b"]`, true},
		{"asked about for some arguments", `"allowlist": [], "asklist": [{"tool": "a__b", "when": {"/x": {"eq": 1}}}]`, true},
		{"asked about for other annotations",
			`"allowlist": [], "asklist": [{"tool": "a__b", "annotations": {"destructiveHint": false}}]`, false},
		{"asked about and denied", `"asklist": ["a__b"], "denylist": ["a__b"]`, false},
	} {
		c := profiles.Call{Server: "a", Tool: "b", Args: call.Unread([]byte("whatever")), Time: time.Unix(1.8e9, 0),
			Annotations: map[string]any{"destructiveHint": true}}
		if got := profile(t, row.body).Visible(c); got != row.want {
			t.Errorf("%s: got %t, want %t", row.title, got, row.want)
		}
	}
	t.Run("denied by the floor", func(t *testing.T) {
		c := parse(t, `{"evaluation": {"floor": "f", "profiles": {"f": {"denylist": ["*__drop_*"]}, "p": {}}}}`)
		if c.Profile("p").Visible(callOf("db drop_t", "")) || c.Profile("").Visible(callOf("db drop_t", "")) ||
			!c.Profile("p").Visible(callOf("db get", "")) {
			t.Error("the floor does not hide what it denies, or hides more")
		}
	})
}

// TestOnlyWhatDecidesIsAReason: rules that hold and do not matter, or matter and do not
// hold, are for [Profile.Explain] to show.
func TestOnlyWhatDecidesIsAReason(t *testing.T) {
	p := profile(t, `"denylist": ["d__*", {"id": "etc", "tool": "?__*", "when": {"/p": {"under": "/etc"}}}],
		"asklist": ["a__*", {"id": "other", "tool": "a__*", "when": {"/p": {"eq": "/x"}}}, {"id": "soft", "tool": "s__*", "unlessAllowed": true}, {"id": "soft-other", "tool": "s__*", "when": {"/p": {"eq": "/x"}}, "unlessAllowed": true}],
		"allowlist": ["a__*", "l__*", {"id": "near", "tool": "s__*", "when": {"/p": {"eq": "/x"}}}, {"id": "near-n", "tool": "n__*", "when": {"/p": {"eq": "/x"}}}]`)
	for _, row := range []struct{ tool, args, want string }{
		{"a b", `{"p": "/y"}`, "a__*"},
		{"s b", `{"p": "/y"}`, "soft"},
		{"l b", `{"p": "/y"}`, "l__*"},
		{"d b", `{"p": "/etc"}`, "d__*, etc"},
		{"d b", `{}`, "d__*"},
		{"l b", `{}`, "etc"},
		{"n b", `{"p": "/y"}`, ", near-n"},
		{"n b", `{}`, ", etc, near-n"},
	} {
		var rules []string
		for _, r := range p.Decide(callOf(row.tool, row.args)).Reasons {
			rules = append(rules, r.Rule)
		}
		if got := strings.Join(rules, ", "); got != row.want {
			t.Errorf("%s %s: got the reasons %q, want %q", row.tool, row.args, got, row.want)
		}
	}
}

// TestConditionsAreShownAsTheyCount: widely in a deny rule, narrowly in an allow rule.
func TestConditionsAreShownAsTheyCount(t *testing.T) {
	for list, want := range map[string]string{"denylist": "true", "asklist": "true", "allowlist": "false"} {
		p := profile(t, `"`+list+`": [{"tool": "a__b", "when": {"/p": {"eq": "X"}}}]`)
		if got := p.Explain(callOf("a b", `{"p": "x"}`)).Considered[0].Conditions[0].Result; got != want {
			t.Errorf("%s: got %s, want %s", list, got, want)
		}
	}
}

// TestWhatRaisesIsAReason: what a verdict is raised for is its first reason, and a further reason of a question that
// a rule asks anyway.
func TestWhatRaisesIsAReason(t *testing.T) {
	c := parse(t, `{"evaluation": {"floor": "f", "profiles": {"f": {"raise": {"tainted": "ask"}}, "p": {"allowlist": ["a__*"], "asklist": ["a__ask"], "raise": {"destructiveHint": "ask", "openWorldHint": "deny"}}}}}`)
	for _, row := range []struct {
		title string
		call  profiles.Call
		want  string // list, layer and text of the reasons
	}{
		{"tainted", profiles.Call{Name: "a__b", Tainted: true},
			"raise/floor: the run has read something that is not trusted; allowlist/: the profile allows it"},
		{"tainted and asked about", profiles.Call{Name: "a__ask", Tainted: true},
			"asklist/: the profile wants a person to decide; raise/floor: the run has read something that is not trusted"},
		{"a hint", profiles.Call{Name: "a__b", Annotations: map[string]any{"destructiveHint": true}},
			"raise/: the tool's annotations say destructiveHint; allowlist/: the profile allows it"},
		{"a hint, and asked about", profiles.Call{Name: "a__ask", Annotations: map[string]any{"destructiveHint": true}},
			"asklist/: the profile wants a person to decide; raise/: the tool's annotations say destructiveHint"},
		{"a hint that denies", profiles.Call{Name: "a__ask", Annotations: map[string]any{"openWorldHint": true}},
			"raise/: the tool's annotations say openWorldHint; asklist/: the profile wants a person to decide"},
		{"a hint that calls itself tainted", profiles.Call{Name: "a__b", Annotations: map[string]any{"tainted": true}},
			"allowlist/: the profile allows it"},
	} {
		var got []string
		d := c.Profile("p").Decide(row.call)
		for _, r := range d.Reasons {
			got = append(got, r.List+"/"+r.Layer+": "+r.Text)
		}
		if text := strings.Join(got, "; "); text != row.want {
			t.Errorf("%s: got %s, want %s", row.title, text, row.want)
		}
		if row.call.Tainted != d.Floor {
			t.Errorf("%s: the floor demands it: got %t", row.title, d.Floor)
		}
	}
}

// What a profile says about a server is the same whatever tools the server turns out to have.
func TestReaches(t *testing.T) {
	for _, row := range []struct {
		title, body string
		want        bool
	}{
		{"nothing said", ``, true},
		{"all denied", `"denylist": ["a-b__*"]`, true},
		{"all denied by the canonical name", `"denylist": ["a_b__*"]`, false},
		{"everything denied", `"denylist": ["*"]`, false},
		{"some denied", `"denylist": ["a_b__x*"]`, true},
		{"all denied on a condition", `"denylist": [{"tool": "a_b__*", "when": {"/x": {"eq": 1}}}]`, true},
		{"not on the allowlist", `"allowlist": ["c__*", "a_c__*", "a_b"]`, false},
		{"a pattern that names no server", `"allowlist": ["?"]`, true},
		{"one tool on the allowlist", `"allowlist": ["a_b__read"]`, true},
		{"a wide pattern on the allowlist", `"allowlist": ["*__read"]`, true},
		{"one character of a class", `"allowlist": ["a[_-]b__x"]`, true},
		{"another character of a class", `"allowlist": ["a[xy]b__x"]`, false},
		{"alternatives", `"allowlist": ["{c,a_b}__x"]`, true},
		{"asked about", `"allowlist": [], "asklist": ["a_b__*"]`, true},
	} {
		if got := profile(t, row.body).Reaches("a-b"); got != row.want {
			t.Errorf("%s: got %t, want %t", row.title, got, row.want)
		}
	}
}

func TestACallOfItsCanonicalNameAlone(t *testing.T) {
	if d := profile(t, `"denylist": ["__"]`).Decide(profiles.Call{Name: "a__b"}); d.Verdict != call.Allow {
		t.Errorf("a call that has only its canonical name: got %s", described(d))
	}
}
