package config

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/profiles"

	"github.com/codemode-project/codemode/call"
)

// ranked loads files by their standing.
func ranked(t testing.TB, managed, user, project string) (*Config, error) {
	t.Helper()
	var sources []Source
	for _, s := range []Source{{File: "managed.json", Standing: Managed, Data: []byte(managed)},
		{File: "user.json", Standing: User, Data: []byte(user)}, {File: "project.json", Standing: Untrusted,
			Data: []byte(project)}} {
		if len(s.Data) > 0 {
			sources = append(sources, s)
		}
	}
	return ParseAll(nil, sources...)
}

// TestFilesTogether: what one file settles, another one cannot take back.
func TestFilesTogether(t *testing.T) {
	load := func(managed, user, project string) *Config {
		t.Helper()
		c, err := ranked(t, managed, user, project)
		must(t, err)
		return c
	}
	if c := load(`{"evaluation": {"requirePreflight": true, "preflightLifetime": "5m"}}`,
		`{"evaluation": {"requirePreflight": false, "preflightLifetime": "1h"}}`, ``); !c.RequirePreflight ||
		c.PreflightLifetime != 5*time.Minute {
		t.Errorf("preflight: %t, %s", c.RequirePreflight, c.PreflightLifetime)
	}
	if c := load(`{}`, `{"evaluation": {"requirePreflight": true, "preflightLifetime": "1h"}}`, ``); !c.RequirePreflight ||
		c.PreflightLifetime != time.Hour {
		t.Errorf("preflight of the user's: %t, %s", c.RequirePreflight, c.PreflightLifetime)
	}
	if c := load(``, `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {}, "q": {}}}}`,
		`{"evaluation": {"defaultProfile": "q", "profiles": {"own": {}}}}`); c.Default != "p" || c.Profile("own") != nil {
		t.Errorf("an untrusted file sets the default to %q, or adds a profile", c.Default)
	}
	if c := load(``, `{"evaluation": {"profiles": {"p": {}}}}`,
		`{"evaluation": {"defaultProfile": "gone"}}`); c.Default != "" {
		t.Error("an untrusted file has a say in the default")
	}
	c := load(`{"evaluation": {"profiles": {"p": {"shadow": "q"}, "q": {"shadow": "p"}}}}`, `{}`, ``)
	if s := c.Profile("p").Shadow(); s == nil || s.Name() != "q" || s.Shadow() != nil {
		t.Error("the shadow of a shadow is tried")
	}
	c = load(``, `{"evaluation": {"profiles": {"p": {}, "q": {}}}}`,
		`{"evaluation": {"profiles": {"p": {"shadow": "q"}}}}`)
	if c.Profile("p").Shadow() != nil {
		t.Error("an untrusted file sets a shadow")
	}
	if c.Digest == load(``, `{"evaluation": {"profiles": {"p": {}, "q": {}}}}`, ``).Digest {
		t.Error("another file leaves the digest as it was")
	}
	if a, b := load(`{"builtin": false}`, `{}`, ``), load(`{"builtin": true}`, `{}`, ``); a.Digest == b.Digest {
		t.Error("the managed file is not in the digest")
	}
	c = load(`{"inputs": []}`, `{"inputs": []}`, ``)
	if len(c.Warnings) != 2 {
		t.Errorf("warnings of both files: %v", settings.Problems(c.Warnings))
	}
	c = load(`{"servers": {"a": {"command": "x"}}}`, `{"servers": {"b": {"command": "x"}}}`,
		`{"servers": {"a": {"command": "evil"}}}`)
	if len(c.Servers) != 2 {
		t.Errorf("servers: %+v", c.Servers)
	}
}

// TestWarningsCoverWhatTheyAreAbout: in a file that has no say, the key is marked, whole and nothing else.
func TestWarningsCoverWhatTheyAreAbout(t *testing.T) {
	untrusted, err := ranked(t, ``, `{}`, `{"store": "x"}`)
	must(t, err)
	trusted, err := ParseAll(nil, Source{File: "u", Standing: User, Data: []byte(`{}`)},
		Source{File: "p", Standing: Trusted, Data: []byte(`{"store": "x"}`)})
	must(t, err)
	for _, c := range []*Config{untrusted, trusted} {
		if got := warned(c); !strings.HasPrefix(got, `1:2+7 "store" has no effect`) || c.Keys.Store != nil {
			t.Errorf("got %q", got)
		}
	}
}

func TestNamesThatAProjectCanSpeakOf(t *testing.T) {
	_, err := ranked(t, `{"evaluation": {"profiles": {"zebra": {}, "ant": {}}}}`,
		`{"evaluation": {"profiles": {"bee": {"extends": ["qqqqqq"]}}}}`, ``)
	if err == nil || !contains(err.Error(), `there are "ant", "bee" and "zebra"`) {
		t.Errorf("got %v", err)
	}
	_, err = ParseAll(nil, Source{File: "p", Standing: Untrusted, Data: []byte(`{"evaluation": {"profiles": {"hidden": {}}}}`)},
		Source{File: "u", Standing: User, Data: []byte(`{"evaluation": {"profiles": {"p": {"extends": ["hidden"]}}}}`)})
	if err == nil || contains(err.Error(), `are "hidden"`) {
		t.Errorf("a profile of an untrusted file can be extended or is named: %v", err)
	}
}

func TestFilesNone(t *testing.T) {
	for _, row := range []struct {
		f    Files
		none bool
	}{{Files{}, true}, {Files{Trust: "t"}, true}, {Files{Managed: "m"}, false}, {Files{User: "u"}, false},
		{Files{Project: "p"}, false}, {Files{Overlays: "o"}, false},
		{Files{Managed: "m", User: "u", Project: "p", Overlays: "o"}, false}} {
		if row.f.None() != row.none {
			t.Errorf("%+v: got %t", row.f, !row.none)
		}
	}
	dir := t.TempDir()
	write(t, dir+"/u.json", `{}`)
	if _, err := (Files{User: dir + "/u.json", Overlays: dir + "/gone.json"}).Load(); err != nil {
		t.Errorf("overlays that are not there yet: %v", err)
	}
	if _, err := (Files{User: dir + "/u.json", Overlays: dir}).Load(); err == nil || !contains(err.Error(), "a folder") {
		t.Errorf("a folder in the place of overlays: %v", err)
	}
	if _, err := (Files{User: dir + "/gone.json"}).Load(); err == nil {
		t.Error("a user's file that is not there is no problem")
	}
}

func TestDifferencesBetweenProfiles(t *testing.T) {
	diff := func(old, new string) string {
		var all []string
		for _, c := range ruleChanges(profile(t, old), profile(t, new)) {
			all = append(all, map[bool]string{true: "+", false: "-"}[c.Added]+c.List.String()+" "+c.Text)
		}
		return strings.Join(all, ", ")
	}
	for _, row := range [][3]string{
		{`"denylist": ["a__b"]`, `"asklist": ["a__b"]`, `-denylist "a__b", +asklist "a__b"`},
		{`"denylist": ["a__b", "a__b"]`, `"denylist": ["a__b"]`, `-denylist "a__b"`},
		{`"denylist": ["a__b"]`, `"denylist": ["a__b", "a__b"]`, `+denylist "a__b"`},
		{`"denylist": ["a__b", "a__c"]`, `"denylist": ["a__c", "a__b"]`, ``}, {`"denylist": ["a__b"]`, `"denylist": ["a__c"]`,
			`-denylist "a__b", +denylist "a__c"`},
	} {
		if got := diff(row[0], row[1]); got != row[2] {
			t.Errorf("%s -> %s: got %s, want %s", row[0], row[1], got, row[2])
		}
	}
	c := parse(t, `{"evaluation": {"floor": "f", "profiles": {"f": {"denylist": ["a__b"]}, "p": {}, "q": {"denylist": ["a__b"]}}}}`)
	if got := len(ruleChanges(c.Profile("p"), c.Profile("q"))); got != 1 {
		t.Errorf("a rule of the floor and the same of the profile: %d differences", got)
	}
	if got := settingChanges(profile(t, `"unmatched": "ask"`), profile(t,
		`"unmatched": "deny", "limits": {"calls": 3}`)); strings.Join(got,
		"; ") != `unmatched: "ask" -> "deny"; limits: {} -> {"calls":3}` {
		t.Errorf("settings: %q", got)
	}
}

func TestTablesOfCalls(t *testing.T) {
	c := parse(t, inProfile(`"allowlist": ["a__b"], "asklist": [{"id": "q", "tool": "a__c"}]`))
	calls, err := ParseCalls("t",
		[]byte("# text\r\n\r\nprofile p\r\nallow  a__b  \r\n  ask a__c {\"x\":1} # q \r\ndeny a__d\r\nask a__c # other\nallow a.b\ndeny a__c\nprofile gone\nask a__c"))
	must(t, err)
	var got []string
	for _, r := range c.Try(calls) {
		got = append(got, fmt.Sprintf("%d:%d %s %s|%s|%s|%s", r.Pos.Line, r.Pos.Column, r.ExpectedCall.Verdict, r.Tool,
			r.Args, r.Rule, r.Failure))
	}
	want := []string{"4:1 allow a__b|||", `5:3 ask a__c|{"x":1}|q|`, "6:1 deny a__d|||",
		`7:1 ask a__c||other|got ask as wanted, but not for the rule "other"`, "8:1 allow a.b|||",
		"9:1 deny a__c|||got ask, want deny", `11:1 ask a__c|||there is no profile "gone"`}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for row, want := range map[string]string{"maybe a__b": "begins with", "allow": "without a tool",
		"allow # why": "without a tool", "allow #why": "without a tool", "allow {}": "without a tool",
		"allow a__b {": "not JSON", "allow a__b {} x": `"x" after`} {
		_, err := ParseCalls("t", []byte(row))
		if err == nil || !contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", row, err, want)
		}
	}
}

func TestExcerptsOfLongLines(t *testing.T) {
	long := strings.Repeat("a", 200)
	for _, row := range []struct {
		p                        settings.Problem
		before, after, dots, all bool // "... " in front, " ..." behind, a caret, an excerpt at all
	}{
		{settings.Problem{Position: settings.Position{File: "f", Line: 1, Column: 1}, Source: long[:120]}, false, false, true,
			true},
		{settings.Problem{Position: settings.Position{File: "f", Line: 1, Column: 1}, Source: long[:121]}, false, true, true,
			true},
		{settings.Problem{Position: settings.Position{File: "f", Line: 1, Column: 200}, Source: long}, true, false, true,
			true},
		{settings.Problem{Position: settings.Position{File: "f", Line: 1, Column: 100}, Source: long}, true, true, true,
			true},
		{settings.Problem{Position: settings.Position{File: "f", Line: 1, Column: 1}, Source: "  "}, false, false, false,
			false},
		{settings.Problem{Position: settings.Position{File: "f", Line: 0, Column: 0}, Source: "text"}, false, false, false,
			false},
	} {
		lines := strings.Split(row.p.String(), "\n")
		if !row.all {
			if len(lines) != 1 {
				t.Errorf("%+v: got %q", row.p, lines)
			}
			continue
		}
		if len(lines) != 3 || strings.HasPrefix(lines[1], "    ... ") != row.before ||
			strings.HasSuffix(lines[1], " ...") != row.after || strings.Count(lines[2], "^") != 1 {
			t.Errorf("%s: got\n%s", row.p.Position, strings.Join(lines, "\n"))
		}
	}
}

// TestForeseeWhereConditionsMeet has what depends on gaps and what does not in one rule.
func TestForeseeWhereConditionsMeet(t *testing.T) {
	c := parse(t, `{"evaluation": {"profiles": {"p": {"unmatched": "deny", "allowlist": [
{"id": "a", "tool": "s__a", "until": "2026-01-01T00:00:00Z", "when": {"/x": {"eq": 1}}},
{"id": "b", "tool": "s__b", "others": "none", "when": {"/x/y": {"eq": 1}, "/z": {"eq": 2}}}]}}}}`)
	for _, row := range []struct {
		tool, args string
		now        time.Time
		unknown    []string
		want       string
	}{
		// its time is over, whatever comes
		{"a", `{"x":0}`, time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), []string{"/x"}, "deny"},
		{"a", `{"x":0}`, time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), []string{"/x"}, "deny or allow: /x {\"eq\":1}"},
		{"b", `{"x":{"y":1},"z":2,"w":0}`, time.Time{}, []string{"/z"}, "deny"}, // /w is too many, whatever comes
		{"b", `{"x":{"y":1},"z":2}`, time.Time{}, []string{"/z"}, "deny or allow: /z {\"eq\":2}"},
		{"b", `{"x":{"y":1},"z":2}`, time.Time{}, []string{"/x/y/w"}, "deny or allow: /x/y {\"eq\":1}"},
		{"b", `{"x":{"y":1},"z":2}`, time.Time{}, []string{"/x"}, "deny or allow: /x/y {\"eq\":1}"},
		{"b", `{"x":{"y":1},"z":2}`, time.Time{}, []string{"/v"}, "deny or allow"},
	} {
		f := c.Profile("p").Foresee(profiles.Call{Server: "s", Tool: row.tool, Args: call.Unread(json.RawMessage(row.args)),
			Time: row.now}, profiles.Gaps{Unknown: row.unknown})
		got := strings.ReplaceAll(strings.Trim(fmt.Sprint(f.Verdicts), "[]"), " ", " or ")
		for _, d := range f.Depends {
			for _, o := range d.Conditions {
				got += ": " + o.Text
			}
		}
		if got != row.want {
			t.Errorf("%s %s with %v unknown: got %q, want %q", row.tool, row.args, row.unknown, got, row.want)
		}
	}
}

// TestOwnersOfFiles needs a file of somebody else, which only root can make.
func TestOwnersOfFiles(t *testing.T) {
	path := t.TempDir() + "/f"
	write(t, path, `{}`)
	check := func(mode os.FileMode) error {
		must(t, os.Chmod(path, mode))
		info, err := os.Stat(path)
		must(t, err)
		return ownedAlone(info)
	}
	if err := check(0o644); err != nil {
		t.Errorf("our own: %v", err)
	}
	for _, mode := range []os.FileMode{0o620, 0o602, 0o666} {
		if err := check(mode); err == nil {
			t.Errorf("%o passes", mode)
		}
	}
	if os.Getuid() != 0 {
		t.Log("the owner is not tried: only root can give files away")
		return
	}
	must(t, os.Chown(path, 12345, 12345))
	if err := check(0o644); err == nil || !contains(err.Error(), "belongs to somebody else") {
		t.Errorf("somebody else's: %v", err)
	}
}
