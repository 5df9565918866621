package config

import (
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/profiles"
)

func TestScriptsCovered(t *testing.T) {
	c := parse(t, `{"scripts": {"root": "s", "allow": [
		{"file": "a/b.ts", "sha256": "0000000000000000000000000000000000000000000000000000000000000000"},
		{"folder": ".", "pattern": "*.ts"},
		{"folder": "team", "pattern": "{x,y}-*"}]},
		"evaluation": {"defaultProfile": "p", "profiles": {"p": {}}}}`)
	if c.Scripts.Root != "s" || c.Scripts.Pos.Line != 1 {
		t.Errorf("got %+v", c.Scripts)
	}
	for _, x := range []struct {
		rule int
		name string
		want bool
	}{
		{0, "a/b.ts", true}, {0, "b.ts", false}, {0, "A/b.ts", false}, {0, "a/./b.ts", false},
		{1, "x.ts", true}, {1, ".ts", true}, {1, "x.js", false}, {1, "a/x.ts", false}, {1, "x.TS", false},
		{2, "team/x-1.ts", true}, {2, "team/own/x-1.ts", false}, {2, "x-1.ts", false}, {2, "team/z-1.ts", false},
		{2, "team/../team/x-1", false},
	} {
		if got := c.Scripts.Allow[x.rule].Covers(x.name); got != x.want {
			t.Errorf("rule %d covers %q: got %v, want %v", x.rule, x.name, got, x.want)
		}
	}
}

func TestPreflightIsRequired(t *testing.T) {
	c := parse(t, `{"evaluation": {"floor": "f", "profiles": {
		"f": {"unmatched": "allow"}, "p": {"requirePreflight": true}, "q": {"extends": ["p"], "requirePreflight": false}, "r": {}}}}`)
	for name, want := range map[string]bool{"": false, "p": true, "q": true, "r": false, "f": false} {
		if got := c.Profile(name).RequirePreflight(); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
	for _, text := range []string{
		`{"evaluation": {"requirePreflight": true, "profiles": {"f": {}, "p": {"requirePreflight": false}}}}`,
		`{"evaluation": {"floor": "f", "profiles": {"f": {"requirePreflight": true}, "p": {"requirePreflight": false}}}}`,
	} {
		c := parse(t, text)
		for _, name := range []string{"", "p", "f"} {
			if !c.Profile(name).RequirePreflight() {
				t.Errorf("%s: %q runs without a check", text, name)
			}
		}
	}
}

func TestDetectionIsSwitchedOff(t *testing.T) {
	c := parse(t, `{"evaluation": {"profiles": {
		"says": {"redact": {"detect": true}}, "silent": {"redact": {"keys": ["x"]}}, "off": {"redact": {"detect": false}}, "both": {"extends": ["says", "off"]}}}}`)
	for name, want := range map[string]bool{"says": false, "silent": false, "off": true, "both": false} {
		if got := c.Profile(name).Redact().NoDetect; got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestWithinLimits(t *testing.T) {
	p := profile(t, `"limits": {"calls": 10, "asks": 3}`)
	if p.Within(profiles.Limits{}) != p {
		t.Error("no limits make another profile")
	}
	q := p.Within(profiles.Limits{Calls: 5, Asks: 7, Repeat: 2})
	if l := q.Limits(); l.Calls != 5 || l.Asks != 3 || l.Repeat != 2 {
		t.Errorf("limits %+v", l)
	}
	if q.Digest() == p.Digest() || q.Digest() == p.Within(profiles.Limits{Calls: 6}).Digest() {
		t.Error("other limits have the same digest")
	}
	if d := q.Decide(profiles.Call{Server: "a", Tool: "b",
		Counters: profiles.Counters{Calls: 5}}); d.Code != call.CodeLimit {
		t.Errorf("the sixth call: %s", described(d))
	}
}

func TestWithAnotherFile(t *testing.T) {
	c := parse(t, `{"evaluation": {"profiles": {"p": {"allowlist": ["a__b"]}}}}`)
	narrow := []byte(`{"evaluation": {"overlays": [{"id": "o", "session": "s", "denylist": ["*"]}]}}`)
	both, err := c.With(Source{File: "overlays.json", Data: narrow, Standing: Narrowing})
	must(t, err)
	asked := profiles.Call{Server: "a", Tool: "b"}
	s := Subject{Session: "s"}
	if v := both.Narrowed("p", s, time.Time{}).Decide(asked).Verdict; v != call.Deny {
		t.Errorf("with the overlays: %v", v)
	}
	if v := c.Narrowed("p", s, time.Time{}).Decide(asked).Verdict; v != call.Allow {
		t.Errorf("the configuration itself has changed: %v", v)
	}
}
