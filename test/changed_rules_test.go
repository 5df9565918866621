package codemode_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/testwait"
)

// While a person answers, somebody edits the rules. The yes counts while the rules put the same question or none. Where
// they put another one, people are asked that; where they deny the call, it is refused.
func TestRulesThatChangeUnderAYes(t *testing.T) {
	const rules = `{"evaluation": {"floor": "house", "profiles": {
	"house": {"denylist": ["none__*"]},
	"p": {"asklist": [{"id": "w", "tool": "filesystem__write_file", "reason": "writes"}],
		"allowlist": ["time__*"], "denylist": ["filesystem__delete_file"], "unmatched": "deny", "ask": {"timeout": "1m"},
		"remember": {"scopes": ["run", "time"]}}
}}}`
	const again, kept, denied = "asked again", "", "policy_changed"
	for _, test := range []struct {
		name, old, new string // in rules
		want, says     string
	}{
		{"nothing", ``, ``, kept, ""},
		{"another space", `"asklist": `, "\"asklist\":\n\n\n ", kept, ""},
		{"a rule for another tool", `["time__*"]`, `["time__*", "memory__*"]`, kept, ""},
		{"a rule for another tool before it", `{"id": "w"`, `"memory__*", {"id": "w"`, kept, ""},
		{"a denial of another tool", `__delete_file"]`, `__delete_file", "memory__*"]`, kept, ""},
		{"another profile", `"house": {`, `"other": {}, "house": {`, kept, ""},
		{"the time to answer", `"1m"`, `"3m"`, kept, ""},
		{"limits", `"unmatched"`, `"limits": {"calls": 77}, "unmatched"`, kept, ""},
		{"the fallback", `"unmatched"`, `"elicitationFallback": "deny", "unmatched"`, kept, ""},
		{"what may be remembered, for a yes to one call", `["run", "time"]`, `["run"]`, kept, ""},
		{"nobody needs to be asked", `"asklist": [{"id": "w", "tool": "filesystem__write_file", "reason": "writes"}],
		"allowlist": [`, `"allowlist": ["filesystem__write_file", `, kept, ""},
		{"a higher risk", `"reason": "writes"`, `"reason": "writes", "risk": "high"`, again, "its risk was medium and is high"},
		{"a lower risk", `"reason": "writes"`, `"reason": "writes", "risk": "low"`, again, "its risk was medium and is low"},
		{"another reason", `"writes"`, `"writes to the shared folder"`, again, "writes to the shared folder"},
		{"a second rule that asks", `{"id": "w"`, `{"id": "v", "tool": "filesystem__*"}, {"id": "w"`, again, "other reasons"},
		{"the floor asks", `"denylist": ["none__*"]`, `"asklist": ["filesystem__*"]`, again, "has to answer"},
		{"how fast people are", `"timeout": "1m"`, `"timeout": "1m", "minHuman": "1ns"`, again, "who may answer"},
		{"what is masked", `"unmatched"`, `"redact": {"keys": ["content"]}, "unmatched"`, again, "what they are shown"},
		{"a denial", `__delete_file"]`, `__delete_file", "filesystem__write_file"]`, denied, "denies it now"},
		{"a denial by the floor", `["none__*"]`, `["filesystem__write_*"]`, denied, "denies it now"},
		{"no rule for it", `"filesystem__write_file", "reason"`, `"filesystem__other", "reason"`, denied, "no rule decides"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path, dir := filepath.Join(t.TempDir(), "codemode.json"), t.TempDir()
			put := func(text string) {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Error(err)
				}
			}
			put(rules)
			e := open(t, "", func(o *codemode.Options) { o.ConfigPath, o.RecordDir = path, dir })
			var asked []string
			p := &person{answer: func(_ context.Context, r *prompt.Request) (call.Answer, error) {
				if asked = append(asked, prompt.Text(r, prompt.RenderOptions{})); len(asked) == 1 {
					before := e.Config()
					put(strings.Replace(rules, test.old, test.new, 1) + " ")
					if !testwait.Holds(func() bool { return e.Config() != before }) {
						t.Error("the edit was not noticed")
					}
				}
				return yes, nil
			}}
			r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Channels: []approvals.Channel{p},
				Code: `try { await codemode.filesystem__write_file({path: "a.md", content: "x"}); return "sent" }
					catch (e) { return e.reason + " " + e.detail }`})
			if err != nil {
				t.Fatal(err)
			}
			value, questions := string(r.Value), 1
			if test.want == again {
				questions = 2
			}
			if sent := value == `"sent"`; sent == (test.want == denied) || len(asked) != questions ||
				test.want == denied && !(strings.Contains(value, denied) && strings.Contains(value, test.says)) {
				t.Errorf("got %s after %d questions", value, len(asked))
			}
			if test.want == again && (len(asked) < 2 || !strings.Contains(asked[1], "asked again: the rules changed") ||
				!strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(asked[1], "|", "")), " "), test.says)) {
				t.Errorf("the second question:\n%s", asked[len(asked)-1])
			}
			if err := e.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			told := slices.ContainsFunc(readRecord(t, dir), func(x *audit.Entry) bool {
				return x.State == audit.Pending && x.Reason == "policy_changed"
			})
			if told != (test.want == again) {
				t.Errorf("the record says that people are asked again: %t", told)
			}
		})
	}
}

// A grant holds while the rules that ask about its calls stay as they are, whatever else is edited; so does an overlay
// that comes and goes without a word about them.
func TestGrantsOutliveEditsOfOtherRules(t *testing.T) {
	const rules = `{"evaluation": {"profiles": {"p": {
	"asklist": [{"id": "w", "tool": "filesystem__write_file"}], "allowlist": ["time__*"], "ask": {"timeout": "1m"},
	"remember": {"scopes": ["time"], "max": "1h"}}}}}`
	for _, test := range []struct {
		name, old, new string
		holds          bool
	}{
		{"a rule for another tool", `["time__*"]`, `["time__*", "memory__*"]`, true},
		{"the time to answer", `"1m"`, `"2m"`, true},
		{"the rule's reason", `"filesystem__write_file"`, `"filesystem__write_file", "reason": "writes"`, false},
		{"the rule's condition", `"filesystem__write_file"`,
			`"filesystem__write_file", "when": {"/path": {"exists": true}}`, false},
		{"another rule that asks", `[{"id": "w"`, `[{"id": "v", "tool": "filesystem__*"}, {"id": "w"`, false},
		{"how long it may be", `"1h"`, `"10m"`, false},
		{"other remembering", `["time"]`, `["run"]`, false},
		{"who may answer", `"timeout": "1m"`, `"timeout": "1m", "approver": "other"`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "codemode.json")
			put := func(text string) {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Error(err)
				}
			}
			put(rules)
			e := open(t, "", func(o *codemode.Options) { o.ConfigPath = path })
			write := func(answer call.Answer) (value string, questions int) {
				p := says(answer, nil)
				r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Principal: "anna",
					Channels: []approvals.Channel{p}, Code: attempts(false, "a.md")})
				if err != nil {
					t.Fatal(err)
				}
				return string(r.Value), len(p.asked)
			}
			remembered := yes
			remembered.Scope = call.ForTime
			if value, questions := write(remembered); value != `["ok"]` || questions != 1 {
				t.Fatalf("got %s after %d questions", value, questions)
			}
			before := e.Config()
			put(strings.Replace(rules, test.old, test.new, 1))
			if !testwait.Holds(func() bool { return e.Config() != before }) {
				t.Fatal("the edit was not noticed")
			}
			if _, questions := write(yes); (questions == 0) != test.holds {
				t.Errorf("after the edit: %d questions", questions)
			}
		})
	}
}

// A yes to a plan before the run holds like one to a call.
func TestRulesThatChangeUnderAYesToAPlan(t *testing.T) {
	const rules = `{"evaluation": {"profiles": {"p": {
	"asklist": [{"id": "w", "tool": "filesystem__write_file"}], "allowlist": ["time__*"], "remember": {"scopes": ["run"]}}}}}`
	for name, test := range map[string]struct {
		old, new string
		holds    bool
	}{
		"a rule for another tool": {`["time__*"]`, `["time__*", "memory__*"]`, true},
		"the rule":                {`"filesystem__write_file"`, `"filesystem__write_file", "risk": "low"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "codemode.json")
			put := func(text string) {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Error(err)
				}
			}
			put(rules)
			e := open(t, "", func(o *codemode.Options) { o.ConfigPath = path })
			p := &person{answer: func(context.Context, *prompt.Request) (call.Answer, error) {
				before := e.Config()
				put(strings.Replace(rules, test.old, test.new, 1))
				if !testwait.Holds(func() bool { return e.Config() != before }) {
					t.Error("the edit was not noticed")
				}
				return yes, nil
			}}
			got, err := e.Runs().AllowPlan(t.Context(), codemode.Request{Profile: "p", Principal: "anna",
				Channels: []approvals.Channel{p}, Code: `await codemode.filesystem__write_file({path: "a.md", content: "x"})`})
			if err != nil || got.Allowed != test.holds {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}
