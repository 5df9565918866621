package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/profiles"
)

// TestEdgesOfFiles: what is just good enough loads, and of what is just not the problem says this
// and points there.
func TestEdgesOfFiles(t *testing.T) {
	deny := func(when string) string {
		return inProfile(`"denylist": [{"tool": "a__b", "when": {"/x": {` + when + `}}}]`)
	}
	script := func(body string) string {
		return `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {}}}, "scripts": {"root": "s", "allow": [{` + body +
			`}]}}`
	}
	sum := strings.Repeat("0", 64)
	for _, row := range []struct{ content, want string }{ // want "" = it loads
		// Lookaround of three kinds, and another mistake.
		{deny(`"regex": "(?=a)"`), "1:91"}, {deny(`"regex": "(?=a)"`), "has no lookaround"},
		{deny(`"regex": "(?!a)"`), "has no lookaround"}, {deny(`"regex": "(?<!a)"`), "has no lookaround"},
		{deny(`"regex": "(a"`), "the grammar is that of RE2"},
		// Folders.
		{deny(`"under": "~"`), "is not a plain path"}, {deny(`"under": "a~"`), ""},
		{deny(`"under": "file://x"`), "is not a plain path"}, {deny(`"under": "a\u0000b"`), "is not a plain path"},
		{deny(`"under": ".."`), "leads out"}, {deny(`"under": "../a"`), "leads out"},
		{deny(`"under": "a/../.."`), "leads out"}, {deny(`"under": "..a"`), ""}, {deny(`"under": "a/.."`), ""},
		// Rules.
		{inProfile(`"denylist": [{"id": "a b", "tool": "x__y"}]`), ""},
		{inProfile(`"denylist": [{"id": "a\u001fb", "tool": "x__y"}]`), "control characters"},
		{inProfile(`"denylist": [{"id": "a\u007fb", "tool": "x__y"}]`), "control characters"},
		{inProfile(`"allowlist": [{"tool": "a__b", "until": "0001-01-01T00:00:00Z"}]`), "not a time"},
		{inProfile(`"allowlist": [{"tool": "a__b", "until": "0001-01-01T00:00:01Z"}]`), ""},
		{inProfile(`"allowlist": [{"tool": "a__b", "until": "tomorrow"}]`), "not a time"},
		{inProfile(`"asklist": [{"tool": "a__b", "risk": "huge"}]`), "1:73"},
		{inProfile(`"asklist": [{"tool": "a__b", "annotations": {}}]`), "must not be empty"},
		{inProfile(`"asklist": [{"tool": "a__b", "annotations": {"other": true}}]`), "remove it, or write one of"},
		{inProfile(`"denylist": ["fs__[a"]`), "1:54"}, {inProfile(`"denylist": ["fs__\u0041[a"]`), "1:49"},
		// Limits and sizes.
		{`{"limits": {"calls": 2147483648}}`, ""}, {`{"limits": {"calls": 2147483649}}`, "at most"},
		{`{"limits": {"calls": 0}}`, "at least"}, {`{"limits": {"calls": 1}}`, ""},
		{`{"limits": {"memory": "2GiB"}}`, ""}, {`{"limits": {"memory": "3GiB"}}`, "number of bytes"},
		{`{"limits": {"memory": "1B"}}`, ""}, {`{"limits": {"memory": "0B"}}`, "number of bytes"},
		{`{"limits": {"memory": "-1B"}}`, "number of bytes"}, {`{"limits": {"memory": "xB"}}`, "number of bytes"},
		{`{"limits": {"memory": "2147483648B"}}`, ""}, {`{"limits": {"memory": "2147483649B"}}`, "number of bytes"},
		{`{"evaluation": {"preflightLifetime": "24h"}}`, ""}, {`{"evaluation": {"preflightLifetime": "24h0m0.000000001s"}}`,
			"at most"},
		// Addresses.
		{`{"evaluation": {"adminURL": "http://x"}}`, ""}, {`{"evaluation": {"adminURL": "https://x"}}`, ""},
		{`{"evaluation": {"adminURL": "ftp://x"}}`, "https:// or http://"},
		{`{"evaluation": {"adminURL": "https://"}}`, "https:// or http://"},
		{`{"evaluation": {"adminURL": "https://x\u007f"}}`, "https:// or http://"},
		{`{"evaluation": {"adminURL": "https://x?a"}}`, "query or a fragment"},
		{`{"evaluation": {"adminURL": "https://x#a"}}`, "query or a fragment"},
		{`{"evaluation": {"adminURL": "https://u@x"}}`, "password"},
		// Saved programs.
		{script(`"file": "a.ts", "sha256": "` + sum + `"`), ""}, {script(`"folder": ".", "pattern": "*"`), ""},
		{script(`"file": "a.ts", "folder": ".", "pattern": "*"`), "either a file or a folder"},
		{script(`"file": "a.ts", "sha256": "` + sum + `", "pattern": "*"`), `"sha256" belongs to "file"`},
		{script(`"folder": ".", "pattern": "*", "sha256": "` + sum + `"`), `"sha256" belongs to "file"`},
		{script(`"file": "a.ts"`), "with the SHA-256"}, {script(`"folder": "."`), "with a pattern"},
		{script(`"file": "a.ts", "sha256": 5`), "must be a string"},
		{script(`"file": "a.ts", "sha256": "` + sum[1:] + `"`), "64 hexadecimal digits"},
		{script(`"file": "/a.ts", "sha256": "` + sum + `"`), "inside the root"},
		{script(`"file": "..", "sha256": "` + sum + `"`), "inside the root"},
		{script(`"file": "../a", "sha256": "` + sum + `"`), "inside the root"},
		{script(`"file": "..a", "sha256": "` + sum + `"`), ""},
		{script(`"file": "a\\b", "sha256": "` + sum + `"`), "inside the root"},
		{script(`"file": "a//b", "sha256": "` + sum + `"`), `write "a/b"`},
		{script(`"file": "a", "sha256": "` + sum + `", "input": {"a": 1, "a": 2}`), "twice"},
		{script(`"file": "a", "sha256": "` + sum + `", "profile": "q"`), "does not exist"},
		{script(`"file": "a", "sha256": "` + sum + `", "profile": ""`), "empty"},
		{script(`"file": "a", "sha256": "` + sum + `", "profile": 5`), "must be a string"},
		{`{"scripts": {"root": "s", "allow": [{"file": "a", "sha256": "` + sum + `"}]}}`,
			"no profile says what this script may do"}, {`{"scripts": {"allow": []}}`, `has no "root"`},
		{`{"scripts": []}`, "must be an object"},
		// Text.
		{`{"builtin": false, "$schema": "\u00aF\u0f90\uABEd"}`, ""}, {`{"$schema": "\u00g0"}`, "no such escape"},
		{`{"$schema": "\u00G0"}`, "no such escape"}, {"{\"$schema\": \"\\u00`0\"}", "no such escape"},
		{`{"$schema": "\u00@0"}`, "no such escape"}, {`{"$schema": "\u00/0"}`, "no such escape"},
		{`{"$schema": "\u00:0"}`, "no such escape"}, {`{"$schema": "\U0041"}`, "no such escape"},
		{`{"$schema": "\u004`, "no such escape"},
		{`{"$schema": "\ud83d\ude00"}`, ""}, {`{"$schema": "\ud83dxxxxxx"}`, "half a surrogate pair"},
		{`{"$schema": "\ud83d\u0041"}`, "half a surrogate pair"}, {`{"$schema": "\ude00\ud83d"}`, "half a surrogate pair"},
		{"{\"$schema\": \"a\rb\"}", "does not end on its line"}, {"{\"$schema\": \"a\nb\"}", "does not end on its line"},
		{"{\"$schema\": \"a\tb\"}", "control character"}, {"{\"$schema\": \"\x7f\"}", ""},
		{"{\"$schema\": \"\x80\"}", "not UTF-8"}, {"{\"$schema\": \"\\n\x80\"}", "not UTF-8"},
		{"/*\xff*/{}", "this comment is not UTF-8"}, {"//\xff\n{}", "this comment is not UTF-8"}, {"//x", "nothing in it"},
		{"{}//", ""}, {`{"a": [`, "1:7: this [ is never closed"},
	} {
		_, err := Parse("f", []byte(row.content))
		switch {
		case row.want == "" && err != nil:
			t.Errorf("%q does not load: %v", row.content, err)
		case row.want != "" && (err == nil || !contains(err.Error(), row.want)):
			t.Errorf("%q: got %v, want %q in it", row.content, err, row.want)
		}
	}
}

// TestScriptsSayWhatTheyAllow: everything that a file says of one is there.
func TestScriptsSayWhatTheyAllow(t *testing.T) {
	c := parse(t, `{"evaluation": {"profiles": {"p": {}}}, "scripts": {"root": "s", "allow": [
 {"file": "a.ts", "sha256": "sha256:`+strings.Repeat("Ab", 32)+`", "profile": "p", "input": {"type": "object"}, "limits": {"calls": 7}, "description": "d"}]}}`)
	s := c.Scripts.Allow[0]
	got := fmt.Sprintf("%s %s %s %s %d %s %s", s.File, s.SHA256[:4], s.Profile, s.Input, s.Limits.Calls, s.Description,
		s.Pos)
	if want := `a.ts abab p {"type":"object"} 7 d codemode.json:2:2`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	user := Source{File: "user.json", Standing: User,
		Data: []byte(`{"evaluation": {"defaultProfile": "p", "profiles": {"p": {}}}}`)}
	managed := Source{File: "managed.json", Standing: Managed, Data: []byte(`{"evaluation": {"profiles": {"m": {}}}}`)}
	for _, row := range []struct {
		first Source
		loads bool
	}{{user, true}, {managed, false}} {
		if row.first.Standing == User {
			row.first.Standing = Managed
		}
		_, err := ParseAll(nil, row.first, Source{File: "own.json", Standing: User,
			Data: []byte(`{"scripts": {"root": "s", "allow": [{"folder": ".", "pattern": "*"}]}}`)})
		if (err == nil) != row.loads {
			t.Errorf("beside %s: got %v", row.first.File, err)
		}
	}
}

// TestSettingsAreJoinedByTheStricter has each setting whose order of strictness is not that of numbers.
func TestSettingsAreJoinedByTheStricter(t *testing.T) {
	for _, row := range []struct{ parent, child, want string }{
		{`"raise": {"tainted": "deny"}`, `"raise": {"tainted": "ask"}`, `raise: {"tainted":"deny"}`},
		{`"raise": {"tainted": "ask"}`, `"raise": {"tainted": "deny"}`, `raise: {"tainted":"deny"}`},
		{`"unmatched": "deny"`, `"unmatched": "allow"`, `unmatched: "deny"`},
		{`"unmatched": "allow"`, `"allowlist": []`, `unmatched: "deny"`},
		{`"ask": {"channels": ["web", "terminal"]}`, `"ask": {"channels": ["terminal", "elicitation"]}`,
			`"channels":["terminal"]`},
		{`"ask": {"channels": ["web"]}`, `"ask": {}`, `"channels":["web"]`}, {`"ask": {}`, `"ask": {"channels": ["web"]}`,
			`"channels":["web"]`},
		{`"ask": {"batch": true}`, `"ask": {"batch": false}`, `"batch":false`},
		{`"ask": {"batch": false}`, `"ask": {"batch": true}`, `"batch":false`},
		{`"ask": {"batch": true}`, `"ask": {"batch": true}`, `"batch":true`}, {`"ask": {"batch": true}`, ``, `"batch":true`},
		{`"ask": {"budget": "5m"}`, `"ask": {"budget": "1m"}`, `"budget":"1m0s"`},
		{`"ask": {"minHuman": "1s"}`, `"ask": {"minHuman": "2s"}`, `"minHuman":"2s"`},
		{`"redact": {"detect": true}`, `"redact": {"detect": false}`, `"detect":true`},
		{`"redact": {"detect": false}`, `"redact": {"keys": ["a"]}`, `"detect":false`},
		{`"redact": {"keys": ["a"]}`, `"redact": {"detect": false}`, `"detect":false`},
		{`"redact": {"detect": false}`, `"redact": {"detect": true}`, `"detect":true`},
		{`"remember": {"scopes": ["run", "time"], "default": "3m", "max": "2h"}`,
			`"remember": {"scopes": ["time", "count"], "default": "2m", "args": "exact"}`,
			`remember: {"args":"exact","default":"2m0s","max":"2h0m0s","scopes":["time"]}`},
		{`"requirePreflight": true`, `"requirePreflight": false`, `requirePreflight: true`},
	} {
		text := parse(t, `{"evaluation": {"profiles": {"a": {`+row.parent+`}, "p": {"extends": ["a"], `+strings.TrimSuffix(row.child, ",")+`}}}}`).Profile("p").Text()
		if !contains(text, row.want) {
			t.Errorf("%s and %s: want %s in\n%s", row.parent, row.child, row.want, text)
		}
	}
}

// TestLayersHideMoreAndAskSooner: an overlay of a file that ranks above cannot switch off what a profile has,
// nor stand in for a default of it.
func TestLayersHideMoreAndAskSooner(t *testing.T) {
	files := func(managed, user string) *profiles.Profile {
		c, err := ParseAll(nil, Source{File: "m", Standing: Managed, Data: []byte(inProfile(managed))},
			Source{File: "u", Standing: User, Data: []byte(inProfile(user))})
		must(t, err)
		return c.Profile("p")
	}
	if p := files(`"ask": {"budget": "1h", "timeout": "1h"}`, ``); p.Ask().Budget != 0 || p.Ask().Timeout != 0 {
		t.Errorf("a layer lengthens a default: %+v", p.Ask())
	}
	if p := files(`"ask": {"budget": "1h", "timeout": "1h"}`,
		`"ask": {"budget": "2h", "timeout": "2h"}`); p.Ask().Budget != time.Hour || p.Ask().Timeout != time.Hour {
		t.Errorf("a layer does not shorten: %+v", p.Ask())
	}
	if p := files(`"elicitationFallback": "deny"`, `"elicitationFallback": "allow"`); p.Fallback() {
		t.Error("a layer that forbids the fallback does not")
	}
	if p := files(``, `"elicitationFallback": "allow"`); !p.Fallback() {
		t.Error("a layer that says nothing of the fallback forbids it")
	}
	if p := files(`"redact": {"detect": false}`, ``); p.Redact().NoDetect {
		t.Error("a layer switches detection off")
	}
	if p := files(`"redact": {"detect": true}`, `"redact": {"detect": false}`); p.Redact().NoDetect || !p.Redact().Detect {
		t.Error("a layer does not switch detection on")
	}
	asked := files(`"asklist": [{"tool": "a__*", "risk": "high"}]`,
		`"asklist": [{"tool": "a__*", "risk": "low"}]`).Decide(callOf("a b", ``))
	if asked.Risk != "high" || !asked.Floor || len(asked.Reasons) != 2 {
		t.Errorf("asked by both: %s", described(asked))
	}
	for _, row := range [][2]string{{`"asklist": [{"tool": "a__*", "risk": "low"}]`,
		`"allowlist": [{"tool": "a__*", "risk": "critical"}]`}, {`"allowlist": [{"tool": "a__*", "risk": "critical"}]`,
		`"asklist": [{"tool": "a__*", "risk": "low"}]`}} {
		if d := files(row[0], row[1]).Decide(callOf("a b", ``)); d.Verdict != call.Ask || d.Risk != "critical" {
			t.Errorf("%s: the higher risk counts, whoever asks: %s", row, described(d))
		}
	}
}

func TestGrantsOfHighRiskEndWithTheRun(t *testing.T) {
	p := profile(t, `"remember": {"scopes": ["run", "count", "time", "session"]}, "asklist": [{"tool": "a__*", "risk": "high"}, {"tool": "*__*", "when": {"/x": {"exists": true}}}]`)
	d := p.Decide(callOf("a b", `{}`))
	if got := strings.Join(d.Remember.Scopes, " "); got != "run count" || len(d.Pointers) != 0 {
		t.Errorf("got %q, %v", got, d.Pointers)
	}
	d = p.Decide(callOf("a b", `{"x": 1}`))
	if len(d.Pointers) != 1 {
		t.Errorf("pointers: %v", d.Pointers)
	}
	raised := profile(t, `"remember": {"scopes": ["run"]}, "asklist": [{"tool": "*", "when": {"/x": {"eq": 1}}}], "raise": {"destructiveHint": "deny"}`)
	d = raised.Decide(profiles.Call{Server: "a", Tool: "b", Args: call.Unread(json.RawMessage(`{}`)),
		Annotations: map[string]any{"destructiveHint": true}})
	if d.Verdict != call.Deny || d.Unknown || len(d.Remember.Scopes)+len(d.Pointers) != 0 {
		t.Errorf("denied by raise: %s, %+v", described(d), d)
	}
}
