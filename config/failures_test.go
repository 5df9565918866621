package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/profiles"
)

// TestFailuresSeenInTheField has a case for each row of POLICY.md section 7.1 that a
// profile can fail at: ways in which rules of other systems did not do what they said. The
// rows that are about calling (14, 15, 18, 19) are tests of other packages, which
// testdata/profiles/checks.txt names.
func TestFailuresSeenInTheField(t *testing.T) {
	for _, row := range []struct {
		name    string
		body    string   // of the profile
		want    []string // verdicts
		refused string   // or what is wrong with the file
	}{
		{"01 a bad glob in a deny never matches", `"denylist": ["*[rm*"]`, nil, "[ is never closed"},
		{"02 a colon inside a value cuts the pattern",
			`"denylist": [{"tool": "web__fetch", "when": {"/url": {"glob": "https://evil.example/*"}}}], "allowlist": ["web__fetch"]`,
			[]string{`deny web__fetch {"url":"https://evil.example/x:y"}`, `allow web__fetch {"url":"https://good.example/"}`},
			""},
		{"03 two conditions on one argument",
			`"allowlist": [{"tool": "sh__run", "when": {"/cmd": {"prefix": "rm", "glob": "*ls*"}}}]`,
			[]string{`deny sh__run {"cmd":"xlsx"}`, `deny sh__run {"cmd":"rm x"}`, `allow sh__run {"cmd":"rm ls"}`}, ""},
		{"03 the same argument twice",
			`"allowlist": [{"tool": "sh__run", "when": {"/cmd": {"prefix": "rm"}, "/cmd": {"glob": "*ls*"}}}]`, nil, "twice"},
		{"04 a star stops at a slash",
			`"denylist": [{"tool": "sh__run", "when": {"/cmd": {"glob": "rm*-rf*"}}}, "fs__rm*rf"]`,
			[]string{`deny sh__run {"cmd":"rm /data -rf"}`, `deny fs__rm/data/rf`}, ""},
		{"05 a broad allow beats a narrow ask", `"allowlist": ["*"], "asklist": ["g__delete"]`,
			[]string{`ask g__delete`, `allow g__get`}, ""},
		{"06 a forbid on a missing or other attribute is skipped",
			`"allowlist": ["*"], "denylist": [{"tool": "fs__*", "when": {"/path": {"prefix": "/etc"}}}]`,
			[]string{`ask fs__read`, `ask fs__read {"path":7}`, `ask fs__read {"path":null}`, `deny fs__read {"path":"/etc/x"}`},
			""},
		{"07 a negated pattern", `"denylist": ["!x"]`, nil, "cannot be negated"},
		{"07 an extended glob", `"denylist": ["@(a|b)"]`, nil, "extended globs"},
		{"08 a misspelt option", `"denylst": ["*"]`, nil, `unknown key "denylst"`},
		{"08 a misspelt field of a rule", `"asklist": [{"tool": "a__b", "unlesAllowed": true}]`, nil, "unknown key"},
		{"09 an empty approval setting drops denials", `"denylist": ["fs__*"], "asklist": [], "allowlist": []`,
			[]string{`deny fs__read`, `deny a__b`}, ""},
		{"09 an empty object for ask", `"denylist": ["fs__*"], "ask": {}, "remember": {}`,
			[]string{`deny fs__read`, `allow a__b`}, ""},
		{"10 arguments that are not there when the deny is tried",
			`"allowlist": ["*"], "denylist": [{"tool": "sh__run", "when": {"/cmd": {"glob": "*rm*"}}}]`,
			[]string{`ask sh__run`, `ask sh__run {}`, `ask sh__run null`}, ""},
		{"10 arguments that cannot be read", `"allowlist": ["*"]`, []string{`deny sh__run {"cmd":`, `deny sh__run []`,
			`deny sh__run {"a":1,"a":2}`}, ""},
		{"11 rules on arguments deny all", `"denylist": [{"tool": "*", "when": {"/path": {"under": "/etc"}}}]`,
			[]string{`allow fs__read {"path":"/tmp"}`, `deny fs__read {"path":"/etc/passwd"}`}, ""},
		{"12 an underscore in a server's name", `"denylist": ["my_db__drop"], "allowlist": ["my_db__*"]`,
			[]string{`deny my_db__drop`, `allow my_db__get`, `allow my_db__drop_x`}, ""},
		{"13 order of rules, the broad one last", `"denylist": ["a__b"], "allowlist": ["a__*"]`,
			[]string{`deny a__b`, `allow a__c`}, ""},
		{"13 order of rules, the broad one first", `"allowlist": ["a__*"], "denylist": ["a__b"]`,
			[]string{`deny a__b`, `allow a__c`}, ""},
		{"16 a pattern fits a tool that comes later", `"allowlist": ["a__get_*"], "denylist": ["a__get_secret*"]`,
			[]string{`deny a__get_secret_v2`, `allow a__get_new`, `deny a__getx`}, ""},
		{"17 an omitted parameter avoids a deny",
			`"denylist": [{"tool": "db__query", "when": {"/database": {"eq": "prod"}}}]`,
			[]string{`ask db__query {"sql":"x"}`, `deny db__query {"database":"prod"}`}, ""},
		{"17 an omitted parameter that means yes",
			`"denylist": [{"tool": "db__query", "when": {"/database": {"eq": "prod", "ifMissing": "match"}}}]`,
			[]string{`deny db__query {"sql":"x"}`, `allow db__query {"database":"test"}`}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.refused != "" {
				if p := refused(t, inProfile(row.body)); !contains(p.Message, row.refused) {
					t.Errorf("got %s\nwant %q", p, row.refused)
				}
				return
			}
			wantVerdicts(t, profile(t, row.body), row.want...)
		})
	}
}

// TestFailure19TheStricterProfileOfTwoMomentsWins is what deciding again after an answer
// rests on: the rules of then do not reach into those of now.
func TestFailure19TheStricterProfileOfTwoMomentsWins(t *testing.T) {
	before, after := profile(t, `"asklist": ["a__b"]`), profile(t, `"denylist": ["a__b"]`)
	if d := before.Decide(profiles.Call{Name: "a__b"}); d.Verdict != call.Ask {
		t.Errorf("then: got %s", described(d))
	}
	if d := after.Decide(profiles.Call{Name: "a__b"}); d.Verdict != call.Deny || before.Digest() == after.Digest() {
		t.Errorf("now: got %s, and the digests are %s and %s", described(d), before.Digest(), after.Digest())
	}
}

// TestP05AndP06NamesOfProfiles is THREATS.md P05 and P06: what is not exposed is not
// listed, and no name can break out of a tool's name.
func TestP05AndP06NamesOfProfiles(t *testing.T) {
	for _, name := range []string{"safe\n", "../x", "", " ", "safe-x", "sä", "a.b", strings.Repeat("x", 33),
		strings.Repeat("x", 1000), "x\u0000"} {
		if _, err := Parse("f", fmt.Appendf(nil, `{"evaluation": {"profiles": {%s: {}}}}`, quote(name))); err == nil {
			t.Errorf("%q is the name of a profile", name)
		}
	}
	c := parse(t, `{"evaluation": {"expose": ["safe"], "profiles": {"safe": {}, "loose": {}}}}`)
	if c.Exposes("codemode_eval_loose") || c.Exposes("codemode_eval") || !c.Exposes("codemode_eval_safe") {
		t.Error("something looser than what is exposed is listed")
	}
}

// TestP08ClaimsOfPrograms is THREATS.md P08: no argument makes a call more allowed.
func TestP08ClaimsOfPrograms(t *testing.T) {
	p := profile(t, `"asklist": ["a__b"], "denylist": ["a__c"]`)
	wantVerdicts(t, p, `ask a__b {"approved":true,"_meta":{"approved":true}}`,
		`deny a__c {"approved":true,"profile":"loose"}`)
}
