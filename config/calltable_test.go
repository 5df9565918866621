package config

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/profiles"
)

func TestH2TablesOfCalls(t *testing.T) {
	c := parse(t, `{"mcpServers": {"my-db": {"command": "x"}}, "evaluation": {"defaultProfile": "p", "profiles": {"p": {"denylist": [{"id": "drops", "tool": "my-db__drop"}], "asklist": ["a__*"]}, "q": {"unmatched": "deny"}}}}`)
	table := `
# rows before any profile belong to the base tool
deny my_db__drop # drops
allow b__c{"x": "# no comment"}
profile q
deny a.b {"x": {"y": [1, 2]}}   # which one?
allow a__b
profile nobody
ask a__b
`
	calls, err := ParseCalls("calls.txt", []byte(table))
	must(t, err)
	var got []string
	for _, r := range c.Try(calls) {
		got = append(got, strings.TrimSpace(r.Pos.String()+" "+r.Failure))
	}
	want := "calls.txt:3:1\ncalls.txt:4:1\ncalls.txt:6:1 got deny as wanted, but not for the rule \"which one?\"\ncalls.txt:7:1 got deny, want allow\ncalls.txt:9:1 there is no profile \"nobody\""
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if string(calls[1].Args) != `{"x": "# no comment"}` || calls[0].Args != nil {
		t.Errorf("got the arguments %s and %s", calls[0].Args, calls[1].Args)
	}
	if _, err := ParseCalls("calls.txt", []byte(`allow {"x": 1}`)); err == nil || !contains(err.Error(),
		"a row without a tool") {
		t.Errorf("got %v", err)
	}
	_, err = ParseCalls("calls.txt", []byte("\n  permit a__b\nask\nallow # x\ndeny a__b {x}\r\ndeny a__b {} tail\n"))
	var problems settings.Problems
	if !errors.As(err, &problems) || len(problems) != 5 || problems[0].Line != 2 || problems[0].Column != 3 ||
		problems[3].Line != 5 {
		t.Errorf("got %v", err)
	}
}

func TestCallsAreNamedAsPeopleNameThem(t *testing.T) {
	c := parse(t, `{"mcpServers": {"my-db": {"command": "x"}, "a": {"command": "x"}}}`)
	for _, row := range []struct{ tool, server, raw, name string }{
		{"my-db__drop", "my-db", "drop", "my_db__drop"}, {"my_db__drop", "my-db", "drop", "my_db__drop"},
		{"my-db.drop-it", "my-db", "drop-it", "my_db__drop_it"}, {"a__b__c", "a", "b__c", "a__b__c"},
		{"other__x.y", "other", "x.y", "other__x_y"}, {"plain", "plain", "", "plain"},
	} {
		got := c.Call(row.tool, json.RawMessage(`{}`))
		if got.Server != row.server || got.Tool != row.raw || got.Name != row.name {
			t.Errorf("%s: got %q %q %q", row.tool, got.Server, got.Tool, got.Name)
		}
	}
}

func TestDifferences(t *testing.T) {
	old := profile(t, `"denylist": ["a__b", {"id": "x", "tool": "c__*", "when": {"/p": {"eq": 1}}}], "asklist": ["d__*"], "limits": {"calls": 5}`)
	new := profile(t, `"asklist": [ "d__*" ], "denylist": [{"id":"x","tool":"c__*","when":{"/p":{"eq":2}}}, "a__b"], "limits": {"calls": 5, "asks": 1}, "unmatched": "ask"`)
	var got []string
	for _, c := range ruleChanges(old, new) {
		got = append(got, map[bool]string{true: "+", false: "-"}[c.Added]+c.Text)
	}
	want := "-{\"id\":\"x\",\"tool\":\"c__*\",\"when\":{\"/p\":{\"eq\":1}}}\n+{\"id\":\"x\",\"tool\":\"c__*\",\"when\":{\"/p\":{\"eq\":2}}}"
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if got := strings.Join(settingChanges(old, new),
		"\n"); got != "unmatched: \"allow\" -> \"ask\"\nlimits: {\"calls\":5} -> {\"asks\":1,\"calls\":5}" {
		t.Errorf("got\n%s", got)
	}
	floor := func(rule string) *profiles.Profile {
		return parse(t, `{"evaluation": {"floor": "f", "profiles": {"f": {"denylist": ["`+rule+`"]}, "p": {}}}}`).Profile("p")
	}
	if changes := ruleChanges(floor("a__b"), floor("a__c")); len(changes) != 2 || changes[0].Added ||
		changes[1].Text != `"a__c"` {
		t.Errorf("the rules of the floor: got %+v", changes)
	}
	if changes := ruleChanges(profile(t, `"denylist": ["a__b"]`), profile(t, `"asklist": ["a__b"]`)); len(changes) != 2 {
		t.Errorf("a rule that moved to another list: got %+v", changes)
	}
	if ruleChanges(old, old) != nil || settingChanges(old, old) != nil {
		t.Error("a profile differs from itself")
	}
}

// TestShown: what is in force can be read, whatever is in it.
func TestShown(t *testing.T) {
	c := together(t, user(`{"evaluation": {"floor": "f", "profiles": {"f": {"denylist": ["*__drop"], "raise": {"tainted": "deny"}},
		"p": {"allowlist": ["a__*"], "raise": {"tainted": "ask", "openWorldHint": "ask"}, "shadow": "f", "ask": {"channels": ["web"], "timeout": "1m", "batch": false, "approver": "other"},
			"remember": {"scopes": ["run"]}, "limits": {"cpu": "2s", "memory": "1MiB"}, "elicitationFallback": "allow"}}}}`),
		project(`{"evaluation": {"profiles": {"p": {"allowlist": ["b__*"]}}}}`, Untrusted))
	text := c.Profile("p").Text()
	for _, want := range []string{
		"profile p, codemode.json:2:3", "  allowlist\n    codemode.json:2  \"a__*\"",
		"bound by the floor, the profile f, codemode.json:1:44", "  unmatched: allow\n",
		"bound by the project file, .codemode.json:1:", "  allowlist (it allows nothing: the project file is not trusted",
		`raise: {"openWorldHint":"ask","tainted":"deny"}`, `shadow: "f"`,
		`ask: {"approver":"other","batch":false,"channels":["web"],"timeout":"1m0s"}`,
		`limits: {"cpu":"2s","memory":1048576}`, `remember: {"args":"rule","default":"5m0s","max":"8h0m0s","scopes":["run"]}`,
		`elicitationFallback: "allow"`, "unmatched: \"deny\"", "digest: sha256:",
	} {
		if !contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	var shown struct {
		Profile  string
		Rules    []struct{ List, At, Layer string }
		Settings map[string]any
	}
	must(t, json.Unmarshal(c.Profile("p").JSON(), &shown))
	if shown.Profile != "p" || len(shown.Rules) != 3 || shown.Rules[2].Layer != "project file" ||
		shown.Settings["unmatched"] != "deny" {
		t.Errorf("got %+v", shown)
	}
	if base := c.Profile("").Text(); !contains(base, "profile of the base tool") ||
		!contains(base, `remember: "nothing"`) {
		t.Errorf("got\n%s", base)
	}
}
