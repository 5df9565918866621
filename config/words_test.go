package config

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/profiles"

	"github.com/codemode-project/codemode/call"
)

// TestReasonsSayWhichConditionGaveWhat has a rule with everything that a rule can look at.
func TestReasonsSayWhichConditionGaveWhat(t *testing.T) {
	c := parse(t, `{"servers": {"fs": {"command": "x", "trustAnnotations": true}}, "evaluation": {"profiles": {"p": {"allowlist": [
		{"id": "r", "tool": "fs__read", "until": "2026-12-01T00:00:00Z", "annotations": {"readOnlyHint": true},
		 "when": {"/path": {"under": "/tmp"}, "/n": {"lt": 5}}, "others": "none"}]}}}}`)
	early, late := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		args  string
		now   time.Time
		hints map[string]any
		want  []string
	}{
		{`{"path": "/tmp/a", "n": 1}`, early, map[string]any{"readOnlyHint": true}, []string{
			"true until 2026-12-01T00:00:00Z", "true annotation readOnlyHint is true", `true /path {"under":"/tmp"}`,
			`true /n {"lt":5}`, "true no other arguments"}},
		{`{"path": "/etc", "n": "x", "m": 0}`, late, map[string]any{"readOnlyHint": false}, []string{
			"false until 2026-12-01T00:00:00Z: its time is over", "false not annotation readOnlyHint is true",
			`false not /path {"under":"/tmp"}`,
			"unknown /n is not a decimal number", "false no other arguments: carries arguments that the rule does not name"}},
		{`{}`, time.Time{}, map[string]any{"readOnlyHint": "yes"}, []string{
			"false until 2026-12-01T00:00:00Z: the time of the call is not known",
			"unknown annotation readOnlyHint is true: is neither true nor false",
			"unknown /path is missing", "unknown /n is missing", "true no other arguments"}},
	} {
		x := c.Profile("p").Explain(profiles.Call{Server: "fs", Tool: "read", Args: call.Unread(json.RawMessage(row.args)),
			Time: row.now, Annotations: row.hints})
		var got []string
		for _, o := range x.Considered[0].Conditions {
			got = append(got, o.Result+" "+o.Text)
		}
		if d := cmp.Diff(row.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", row.args, d)
		}
	}
}

// TestExplainSaysWhatWouldChangeTheVerdict goes through the ways out, in the words that people read.
func TestExplainSaysWhatWouldChangeTheVerdict(t *testing.T) {
	for _, row := range []struct {
		title, body, tool string
		want              []string
	}{
		{"a soft ask gives way to an allow rule, and those that came near are named", `
"asklist": [{"id": "soft", "tool": "fs__*", "unlessAllowed": true}],
"allowlist": [{"id": "near", "tool": "fs__w", "when": {"/p": {"eq": 1}}}, {"id": "far", "tool": "fs__x"}]`, "fs__w", []string{
			`allow "fs__w": the rule "soft" at codemode.json:2:13 gives way to an allow rule`,
			`make the rule "near" at codemode.json:3:15 hold: /p is missing`}},
		{"a hard ask does not, so that no allow rule is named", `
"asklist": [{"id": "hard", "tool": "fs__*"}],
"allowlist": [{"id": "near", "tool": "fs__w", "when": {"/p": {"eq": 1}}}]`, "fs__w", []string{
			`remove or narrow the rule "hard" at codemode.json:2:13; or give it "unlessAllowed" and allow the tool`}},
		{"a soft ask that could not be judged", `
"asklist": [{"id": "soft", "tool": "fs__*", "unlessAllowed": true, "when": {"/q": {"eq": 1}}}],
"allowlist": [{"id": "near", "tool": "fs__w"}]`, "fs__w", []string{
			`make the rule "soft" at codemode.json:2:13 judgeable: /q is missing`}},
		{"nothing but deny rules count for a denied call", `
"denylist": [{"id": "no", "tool": "fs__*"}],
"asklist": [{"id": "soft", "tool": "fs__*", "unlessAllowed": true}],
"allowlist": ["fs__w"]`, "fs__w", []string{`remove or narrow the rule "no" at codemode.json:2:14`}},
		{"what no rule is about", `"allowlist": ["fs__r"]`, "fs__w",
			[]string{`add "fs__w" to the allowlist or the asklist of the profile "p" at codemode.json:1:30`}},
		{"what no rule is about, and is asked", `"unmatched": "ask"`, "fs__w",
			[]string{`add "fs__w" to the allowlist of the profile "p" at codemode.json:1:30`}},
	} {
		server, tool, _ := strings.Cut(row.tool, "__")
		x := profile(t, row.body).Explain(profiles.Call{Server: server, Tool: tool, Args: call.Unread(json.RawMessage(`{}`))})
		if d := cmp.Diff(row.want, x.Changes); d != "" {
			t.Errorf("%s (-want +got):\n%s", row.title, d)
		}
	}
}

// TestAnUntrustedFileIsNamedAsTheWayOut: its allow rules count once somebody has read it.
func TestAnUntrustedFileIsNamedAsTheWayOut(t *testing.T) {
	c, err := ParseAll(nil,
		Source{File: "user.json", Standing: User, Data: []byte(`{"evaluation": {"profiles": {"p": {"unmatched": "deny"}}}}`)},
		Source{File: "project.json", Standing: Untrusted,
			Data: []byte(`{"evaluation": {"profiles": {"p": {"allowlist": [{"id": "mine", "tool": "fs__w"}, "git__*"], "asklist": ["fs__*"]}}}}`)})
	must(t, err)
	x := c.Profile("p").Explain(profiles.Call{Server: "fs", Tool: "w"})
	if len(x.Changes) == 0 || x.Changes[0] != `let the rule "fs__w" at project.json:1:50 count: codemode profiles trust project.json` {
		t.Errorf("changes: %q", x.Changes)
	}
	var results []string
	for _, r := range x.Considered {
		results = append(results, r.List+" "+r.Result)
	}
	if got := strings.Join(results, ", "); got != "asklist true, allowlist ignored, allowlist other tool" {
		t.Errorf("considered: %s", got)
	}
}

// TestTheTextOfAProfile has every setting that a profile can have, and every layer.
func TestTheTextOfAProfile(t *testing.T) {
	c, err := ParseAll(nil,
		Source{File: "managed.json", Standing: Managed, Data: []byte(`{"evaluation": {"floor": "house", "profiles": {
"house": {"denylist": ["*__drop_*"], "raise": {"destructiveHint": "deny", "tainted": "ask"}},
"p": {"asklist": ["pay__*"]}}}}`)},
		Source{File: "user.json", Standing: User, Data: []byte(`{"evaluation": {"profiles": {"p": {
"allowlist": ["fs__*"], "elicitationFallback": "allow", "requirePreflight": true, "prompts": ["git__*"],
"limits": {"calls": 5, "wall": "3s"}, "redact": {"keys": ["k"], "pointers": ["/p"], "detect": false},
"raise": {"destructiveHint": "ask", "openWorldHint": "ask"},
"remember": {"scopes": ["run", "time"], "max": "1h"},
"ask": {"channels": ["web"], "timeout": "2m", "batch": false, "approver": "other"}}}}}`)},
		Source{File: "project.json", Standing: Untrusted,
			Data: []byte(`{"evaluation": {"profiles": {"p": {"allowlist": ["git__*"]}}}}`)})
	must(t, err)
	text, _, _ := strings.Cut(c.Profile("p").Text(), "digest: ")
	want := `profile p, user.json:1:30
  allowlist
    user.json:2  "fs__*"

bound by the floor, the profile house, managed.json:2:1
  denylist
    managed.json:2  "*__drop_*"
  unmatched: allow

bound by the managed file, the profile p, managed.json:3:1
  asklist
    managed.json:3  "pay__*"
  unmatched: allow

bound by the project file, project.json:1:30
  allowlist (it allows nothing: the project file is not trusted; read it, then: codemode profiles trust project.json)
    project.json:1  "git__*"
  unmatched: allow

unmatched: "deny"
elicitationFallback: "allow"
requirePreflight: true
keepResults: true
sessions: true
prompts: ["git__*"]
resources: []
limits: {"calls":5,"wall":"3s"}
ask: {"approver":"other","batch":false,"channels":["web"],"timeout":"2m0s"}
remember: {"args":"rule","default":"5m0s","max":"1h0m0s","scopes":["run","time"]}
redact: {"detect":false,"keys":["k"],"pointers":["/p"]}
raise: {"destructiveHint":"deny","openWorldHint":"ask","tainted":"ask"}
`
	if d := cmp.Diff(want, text); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if text := profile(t, `"remember": {"max": "1h"}`).Text(); !contains(text, "remember: \"nothing\"\n") {
		t.Errorf("without scopes nothing is remembered:\n%s", text)
	}
	if text := profile(t, ``).Text(); !contains(text, "remember: \"nothing\"\n") {
		t.Errorf("nothing is said of remembering:\n%s", text)
	}
}
