package config

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/profiles"
)

const mine = `{"mcpServers": {"files": {"command": "files-mcp"}}, "evaluation": {"defaultProfile": "work", "profiles": {
	"work": {"allowlist": ["files__read", "git__*"], "asklist": [{"id": "writes", "tool": "files__write"}], "unmatched": "deny"},
	"loose": {}}}}`

func together(t testing.TB, sources ...Source) *Config {
	t.Helper()
	c, err := ParseAll(nil, sources...)
	must(t, err)
	return c
}

func user(content string) Source    { return Source{"codemode.json", []byte(content), User} }
func managed(content string) Source { return Source{"managed.json", []byte(content), Managed} }
func project(content string, s Standing) Source {
	return Source{".codemode.json", []byte(content), s}
}

// TestA11AProjectFileOnlyTightensUntilItIsTrusted is POLICY.md A11 and THREATS.md O06: in a
// fresh clone allow rules are ignored, and explain says why; once trusted they count.
func TestA11AProjectFileOnlyTightensUntilItIsTrusted(t *testing.T) {
	theirs := `{"mcpServers": {"evil": {"command": "rm"}}, "evaluation": {"defaultProfile": "own", "profiles": {
		"work": {"allowlist": ["http__post", "files__write"], "denylist": [{"id": "no-push", "tool": "git__push"}], "asklist": ["git__commit", "http__get"], "limits": {"calls": 3}},
		"own": {"allowlist": ["*"]}}}}`
	c := together(t, user(mine), project(theirs, Untrusted))
	work := c.Profile("work")
	wantVerdicts(t, work, `deny http__post`, `ask files__write`, `deny git__push`, `ask git__commit`, `allow git__log`,
		`allow files__read`, `deny http__get`) // an ask rule of theirs makes no question of a denial
	if len(c.Servers) != 1 || c.Default != "work" || c.Profile("own") != nil || c.Profile("") == nil {
		t.Errorf("got servers %v, default %q, profile own %v", c.Servers, c.Default, c.Profile("own"))
	}
	if work.Limits().Calls != 3 {
		t.Errorf("a limit of theirs holds: got %+v", work.Limits())
	}
	both := together(t, user(mine), project(`{"evaluation": {"profiles": {"work": {"allowlist": ["git__log"]}}}}`,
		Untrusted)).Profile("work")
	if d := both.Decide(callOf("git log", "")); d.Verdict != call.Allow || len(d.Reasons) != 1 ||
		d.Reasons[0].Rule != "git__*" {
		t.Errorf("a rule that nobody trusts is no reason to allow: got %s", described(d))
	}
	floored := profilesOf(t, `"f": {"allowlist": ["git__log"]}, "p": {"allowlist": ["git__*"]}`)
	if d := floored.Decide(callOf("git log", "")); len(d.Reasons) == 0 || d.Reasons[0].Rule != "git__*" {
		t.Errorf("got %s", described(d))
	}
	x := work.Explain(callOf("http post", ""))
	said := false
	for _, r := range x.Considered {
		if r.Rule == "http__post" {
			said = r.Result == "ignored" && contains(r.Text, "not trusted") &&
				contains(r.Text, "codemode profiles trust .codemode.json") && r.Pos.File == ".codemode.json" && r.Pos.Line == 2
		}
	}
	if !said {
		t.Errorf("explain does not say why the rule is ignored: %+v", x.Considered)
	}
	warned := map[string]bool{`the server "evil" is not started`: false, `"defaultProfile" has no effect`: false,
		`the profile "own"`: false}
	for _, w := range c.Warnings {
		for text := range warned {
			warned[text] = warned[text] || contains(w.Message, text) && w.File == ".codemode.json" && contains(w.Hint,
				"profiles trust")
		}
	}
	for text, ok := range warned {
		if !ok {
			t.Errorf("nothing warns that %s: %v", text, c.Warnings)
		}
	}

	c = together(t, user(mine), project(theirs, Trusted))
	wantVerdicts(t, c.Profile("work"), `allow http__post`, `ask files__write`, `deny git__push`, `ask git__commit`,
		`allow git__log`, `ask http__get`, `deny x__y`)
	if len(c.Servers) != 2 || c.Default != "own" || c.Profile("own") == nil {
		t.Errorf("trusted: got servers %v, default %q", c.Servers, c.Default)
	}
}

// TestUntrustedFilesNeverLoosen tries random project files over random profiles, and the
// same for users' files under managed ones.
func TestUntrustedFilesNeverLoosen(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(11, 11))}
	changed := 0
	for range *pairs / 150 {
		evaluation, theirs := m.evaluation(), m.evaluation()
		delete(theirs, "floor")
		theirs["profiles"].(object)["own"] = m.profile()
		for _, o := range []object{evaluation, theirs} {
			o["overlays"] = []any{object{"id": "o", "session": "s", "profile": pick(m, "p", "q"),
				"denylist": []any{m.rule("denylist")}}}
		}
		theirs["overlays"] = append(theirs["overlays"].([]any), object{"id": "own", "session": "s", "tool": m.pattern(),
			"profile": "own"})
		raw, err := json.Marshal(object{"evaluation": evaluation})
		must(t, err)
		other, err := json.Marshal(object{"evaluation": theirs})
		must(t, err)
		alone := together(t, user(string(raw)))
		untrusted := together(t, user(string(raw)), project(string(other), Untrusted))
		rules := together(t, managed(string(raw)), user(string(other)))
		for range 20 {
			name, asked := pick(m, append(alone.All(), "")...), m.call()
			who := Subject{Session: pick(m, "s", "t")}
			was := alone.Narrowed(name, who, asked.Time).Decide(asked)
			for what, c := range map[string]*Config{"an untrusted file": untrusted, "a user's file": rules} {
				is := c.Narrowed(name, who, asked.Time).Decide(asked)
				checkDecision(t, is)
				if is.Verdict > was.Verdict {
					t.Fatalf("%s\n%s\nloosens %q of\n%s\nfor %+v with %s:\nfrom %s\nto %s", what, other, name, raw, asked, asked.Args,
						described(was), described(is))
				}
				if is.Verdict != was.Verdict {
					changed++
				}
			}
		}
	}
	if changed < *pairs/1000 {
		t.Errorf("only %d decisions changed: the test looks at too little", changed)
	}
}

func TestAProjectFileCannotNameAFloor(t *testing.T) {
	for _, s := range []Standing{Untrusted, Trusted} {
		_, err := ParseAll(nil, user(mine), project(`{"evaluation": {"floor": "work"}}`, s))
		var problems settings.Problems
		if !errors.As(err, &problems) || !contains(problems[0].Message, "cannot name the floor") ||
			problems[0].File != ".codemode.json" {
			t.Errorf("%s: got %v", s, err)
		}
	}
}

// TestManagedFilesBind: what whoever runs the machine says holds, whatever the user's file says.
func TestManagedFilesBind(t *testing.T) {
	house := `{"mcpServers": {"company": {"command": "company-mcp"}}, "limits": {"calls": 50}, "builtin": false, "evaluation": {"floor": "house", "profiles": {
		"house": {"denylist": ["*__drop"]}, "work": {"denylist": ["git__push"], "unmatched": "ask"}, "theirs": {"allowlist": ["a__b"]}},
		"expose": ["work", "theirs"]}}`
	c := together(t, managed(house), user(`{"builtin": {"time": true}, "limits": {"calls": 1000}, "evaluation": {"floor": "own", "defaultProfile": "work", "profiles": {
		"own": {"denylist": ["x__*"]}, "work": {"allowlist": ["*"], "limits": {"calls": 900}}, "free": {}}}}`))
	wantVerdicts(t, c.Profile("work"), `deny git__push`, `ask git__log`, `deny a__drop`, `deny x__y`)
	wantVerdicts(t, c.Profile("free"), `allow git__push`, `deny a__drop`, `deny x__y`)
	wantVerdicts(t, c.Profile("theirs"), `allow a__b`, `deny a__c`)
	wantVerdicts(t, c.Profile(""), `ask git__log`)
	if l := c.Profile("free").Limits(); l.Calls != 50 {
		t.Errorf("a limit of the managed file holds for all: got %+v", l)
	}
	if l := c.Profile("work").Limits(); l.Calls != 50 {
		t.Errorf("a profile's own limit is above that of the managed file: got %+v", l)
	}
	if got := strings.Join(c.Expose, " "); got != "work theirs" {
		t.Errorf("got expose %s", got)
	}
	if got := strings.Join(c.Names(), " "); got != "theirs work" {
		t.Errorf("got the tools of %s", got)
	}
	if c.Builtin == nil || *c.Builtin != (Builtin{}) || len(c.Servers) != 1 {
		t.Errorf("got builtin %v and servers %v", c.Builtin, c.Servers)
	}
	d := c.Profile("work").Decide(callOf("git push", ""))
	if d.Reasons[0].Layer != "managed file" || d.Reasons[0].Pos.File != "managed.json" {
		t.Errorf("got %s", described(d))
	}
	if c.Path != "codemode.json" || len(c.Files) != 2 || c.Files[0].Standing != Managed {
		t.Errorf("got %s of %v", c.Path, c.Files)
	}

	alone := together(t, managed(house))
	if alone.Path != "managed.json" || alone.Floor != "house" {
		t.Errorf("got %s with the floor %q", alone.Path, alone.Floor)
	}
	wantVerdicts(t, alone.Profile(""), `deny a__drop`, `allow a__x`)
	withDefault := strings.Replace(house, `"floor"`, `"defaultProfile": "theirs", "floor"`, 1)
	both := together(t, managed(withDefault),
		user(`{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"denylist": ["a__b"]}}}}`))
	wantVerdicts(t, both.Profile(""), `deny a__b`, `deny a__c`)
	// a name of its own, which the managed file does not expose
	wantVerdicts(t, both.Profile("p"), `deny a__b`, `allow a__c`)
	if both.Exposes("codemode_eval_p") {
		t.Error("the user's file lists what the managed one does not expose")
	}
}

func TestFilesThatHoldTogether(t *testing.T) {
	extends := together(t, user(mine),
		project(`{"evaluation": {"profiles": {"here": {"extends": ["work"], "allowlist": ["npm__test"]}}}}`, Trusted))
	wantVerdicts(t, extends.Profile("here"), `allow npm__test`, `allow git__log`, `deny x__y`)
	for _, row := range []struct {
		title   string
		sources []Source
		want    string
	}{
		{"two servers of one name", []Source{user(mine), project(`{"mcpServers": {"files": {"command": "x"}}}`, Trusted)},
			`the server "files" is in codemode.json:1:17 already`},
		{"two servers of one canonical name", []Source{user(`{"mcpServers": {"a-b": {"command": "x"}}}`),
			project(`{"mcpServers": {"a_b": {"command": "x"}}}`, Trusted)}, `the server "a-b" is in`},
		{"two rules of one id", []Source{user(mine),
			project(`{"evaluation": {"profiles": {"work": {"denylist": [{"id": "writes", "tool": "x__y"}]}}}}`, Trusted)},
			"line 2 of codemode.json"},
		{"a parent that only an untrusted file has", []Source{user(mine), project(`{"evaluation": {"profiles": {"x": {}}}}`,
			Untrusted), {"more.json", []byte(`{"evaluation": {"profiles": {"y": {"extends": ["x"]}}}}`), Trusted}},
			"does not exist"},
		{"the same file twice", []Source{user(mine), user(mine)}, "used twice"},
		{"a broken one among them", []Source{user(mine), project(`{`, Untrusted)}, ".codemode.json:1:"},
		{"none", nil, "no configuration file"},
		{"a managed root that depends on the folder", []Source{managed(`{"builtin": {"filesystem": {"root": "notes"}}}`)},
			"must be absolute"},
	} {
		if c, err := ParseAll(nil, row.sources...); err == nil || !contains(err.Error(), row.want) {
			t.Errorf("%s: got (%v, %v), want %q", row.title, c, err, row.want)
		}
	}
	// What concerns the whole process is not for a project's file, and not said twice.
	c := together(t, user(mine),
		project(`{"store": "x", "http": {}, "builtin": false, "scripts": {"root": "s"}, "evaluation": {"adminURL": "https://x.example"}}`, Trusted))
	if c.Keys.Store != nil || c.Keys.HTTP != nil || c.Builtin != nil || c.Scripts != nil || c.AdminURL != "" || len(c.Warnings) < 5 {
		t.Errorf("got %v %v %v %v %q, warnings %v", c.Keys.Store, c.Keys.HTTP, c.Builtin, c.Scripts, c.AdminURL, c.Warnings)
	}
	settled := together(t, managed(`{"evaluation": {"adminURL": "https://x.example"}, "scripts": {"root": "/srv"}}`),
		user(`{"evaluation": {"adminURL": "https://y.example"}, "scripts": {"root": "mine"}}`))
	if settled.AdminURL != "https://x.example" || settled.Scripts == nil || settled.Scripts.Root != "/srv" ||
		len(settled.Warnings) != 2 || settled.Warnings[0].Length != len(`"adminURL"`) ||
		!contains(settled.Warnings[0].Message, "the managed file says it already") {
		t.Errorf("what the managed file says stays: got %q, %v, %v", settled.AdminURL, settled.Scripts, settled.Warnings)
	}
	if c := together(t, user(`{"limits": {"calls": 5}, "evaluation": {"profiles": {"p": {"limits": {"calls": 9}}, "q": {}}}}`)); c.Profile("p").Limits().Calls != 9 || c.Profile("q").Limits().Calls != 5 {
		t.Errorf("a user's limits are for the profiles that do not say: got %+v", c.Profile("p").Limits())
	}
	strict := together(t, user(`{"evaluation": {"requirePreflight": true, "preflightLifetime": "1h"}}`),
		project(`{"evaluation": {"requirePreflight": false, "preflightLifetime": "5m"}}`, Untrusted))
	if !strict.RequirePreflight || strict.PreflightLifetime != 5*time.Minute || !strict.Profile("").RequirePreflight() {
		t.Errorf("got %t, %s", strict.RequirePreflight, strict.PreflightLifetime)
	}
}

// TestAnOverlayNamesTheWholeProfile: what several files say about it.
func TestAnOverlayNamesTheWholeProfile(t *testing.T) {
	c := together(t, managed(`{"evaluation": {"profiles": {"narrow": {"denylist": ["a__managed"]}}}}`),
		user(`{"evaluation": {"floor": "f", "profiles": {"f": {"denylist": ["a__floor"]}, "p": {}, "narrow": {"denylist": ["a__user"]}}, "overlays": [{"id": "o", "session": "s", "profile": "narrow"}]}}`),
		project(`{"evaluation": {"profiles": {"narrow": {"denylist": ["a__project"]}}}}`, Untrusted))
	wantVerdicts(t, c.Narrowed("p", Subject{Session: "s"}, time.Time{}), `deny a__managed`, `deny a__user`,
		`deny a__floor`, `allow a__other`)
	wantVerdicts(t, c.Narrowed("p", Subject{}, time.Time{}), `allow a__managed`, `allow a__user`, `deny a__floor`)
	untrusted := together(t, user(silentConfig),
		project(`{"evaluation": {"profiles": {"own": {"allowlist": ["a__b"]}}, "overlays": [{"id": "o", "session": "s", "profile": "own"}]}}`, Untrusted))
	wantVerdicts(t, untrusted.Narrowed("p", Subject{Session: "s"}, time.Time{}), `allow a__b`, `deny a__c`)
	later := together(t, managed(`{"evaluation": {"profiles": {"narrow": {"denylist": ["a__managed"]}}}}`),
		user(`{"evaluation": {"profiles": {"p": {}, "narrow": {"denylist": ["a__user"]}}}}`),
		project(`{"evaluation": {"profiles": {"narrow": {"denylist": ["a__project"]}}}}`, Untrusted),
		Source{"overlays.json", []byte(`{"overlays": [{"id": "o", "session": "s", "profile": "narrow"}]}`), Narrowing})
	wantVerdicts(t, later.Narrowed("p", Subject{Session: "s"}, time.Time{}), `deny a__managed`, `deny a__user`,
		`deny a__project`, `allow a__other`)
}

const silentConfig = `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {}}}}`

// TestNobodyRaisesADefault: what a profile does not say has a default, and whoever may only
// narrow cannot say more than that.
func TestNobodyRaisesADefault(t *testing.T) {
	defaults := profiles.Limits{CPU: time.Second, Wall: time.Minute, Call: time.Minute, Memory: 1 << 20, Calls: 100,
		InFlight: 4, Refusals: 3, ArgumentBytes: 1000, ResultBytes: 1000, ConsoleBytes: 1000, ProgramBytes: 1000}
	const more = `"limits": {"cpu": "1h", "wall": "1h", "call": "1h", "memory": "1GiB", "calls": 99999, "inFlight": 999, "refusals": 99, "argumentBytes": 9999999, "resultBytes": 99999, "consoleBytes": 99999, "programBytes": 99999}`
	const less = `"limits": {"cpu": "1ms", "calls": 5, "argumentBytes": 10}`
	silent := strings.TrimSuffix(silentConfig, `}}`)
	for _, row := range []struct {
		title string
		limit func(limits string) *profiles.Profile
	}{
		{"an overlay", func(limits string) *profiles.Profile {
			return parse(t, silent+`, "overlays": [{"id": "o", "session": "s", `+limits+`}]}}`).Narrowed("p",
				Subject{Session: "s"}, time.Time{})
		}},
		{"a project's profile", func(limits string) *profiles.Profile {
			return together(t, user(silent+`}}`), project(inProfile(limits), Untrusted)).Profile("p")
		}},
		{"a project's file", func(limits string) *profiles.Profile {
			return together(t, user(silent+`}}`), project(`{`+limits+`}`, Untrusted)).Profile("p")
		}},
	} {
		if got := row.limit(more).Bounded(defaults); got != defaults {
			t.Errorf("%s raises defaults: got %+v", row.title, got)
		}
		p := row.limit(less)
		if got := p.Bounded(defaults); got.CPU != time.Millisecond || got.Calls != 5 || got.Wall != time.Minute {
			t.Errorf("%s does not lower defaults: got %+v", row.title, got)
		}
		if d := p.Decide(profiles.Call{Name: "a__b", Counters: profiles.Counters{Calls: 5}}); d.Code != call.CodeLimit {
			t.Errorf("%s: got %s", row.title, described(d))
		}
		if d := p.Decide(callOf("a b", `{"x": "0123456789"}`)); d.Code != call.CodeBadArguments {
			t.Errorf("%s: got %s", row.title, described(d))
		}
	}
	mine := `{"evaluation": {"profiles": {"p": {"redact": {"keys": ["a"]}, "ask": {"budget": "1m"}}}}}`
	p := together(t, user(mine),
		project(inProfile(`"redact": {"detect": false, "keys": ["b"]}, "ask": {"timeout": "9h", "budget": "1s", "edit": true, "batch": false, "minHuman": "1s"}, "elicitationFallback": "allow"`), Untrusted)).Profile("p")
	if r := p.Redact(); r.NoDetect || len(r.Keys) != 1 {
		t.Errorf("less or more is hidden: got %+v", r)
	}
	if a := p.Ask(); a.Timeout != 0 || a.Budget != time.Second || a.Edit != nil || a.Batch == nil || *a.Batch ||
		a.MinHuman != time.Second || p.Fallback() {
		t.Errorf("asking is looser: got %+v, fallback %t", a, p.Fallback())
	}
}
