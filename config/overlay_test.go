package config

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/profiles"
)

// overlaid is a configuration with an allow-all profile "p", a profile "readonly", and overlays.
func overlaid(t testing.TB, overlays string) *Config {
	t.Helper()
	return parse(t, `{"evaluation": {"defaultProfile": "p", "profiles": {
		"p": {"limits": {"calls": 100, "asks": 5}},
		"readonly": {"allowlist": ["*__get"]}},
		"overlays": [`+overlays+`]}}`)
}

// TestOverlaysSelect is FEATURES.md S4.5, S4.6 and S4.8: an overlay is about those runs for
// which all that it names fits.
func TestOverlaysSelect(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	full := Subject{Session: "s1", Principal: Fingerprint("secret"), Role: "intern", Program: "sha256:aa",
		Script: "reports/2026/weekly.ts"}
	for _, row := range []struct {
		selects string
		who     Subject
		at      time.Time
		want    bool
	}{
		{`"session": "s1"`, full, now, true},
		{`"session": "s2"`, full, now, false},
		{`"session": "s1"`, Subject{}, now, false},
		{`"principal": "` + Fingerprint("secret") + `"`, full, now, true},
		{`"principal": "` + Fingerprint("other") + `"`, full, now, false},
		{`"role": "intern"`, full, now, true},
		{`"role": "Intern"`, full, now, false},
		{`"session": "s1", "role": "boss"`, full, now, false},
		{`"session": "s1", "role": "intern"`, full, now, true},
		{`"program": "sha256:aa"`, full, now, true},
		{`"program": ["sha256:bb", "reports/2026/weekly.ts"]`, full, now, true},
		{`"program": "sha256:bb"`, full, now, false},
		{`"program": "weekly.ts"`, full, now, false},
		{`"folder": "reports"`, full, now, true},
		{`"folder": "/reports/"`, full, now, true},
		{`"folder": "."`, full, now, true},
		{`"folder": "report"`, full, now, false},
		{`"folder": "reports/2025"`, full, now, false},
		{`"folder": "reports"`, Subject{Script: "reports"}, now, false},
		{`"folder": "."`, Subject{}, now, false},
		{`"folder": "reports"`, Subject{Script: "other/../reports/x"}, now, true},
		{`"folder": "reports"`, Subject{Script: "reports/../x"}, now, false},
		{`"folder": "reports", "program": "sha256:bb"`, full, now, true},
		{`"session": "s1", "until": "2026-11-21T12:00:01Z"`, full, now, true},
		{`"session": "s1", "until": "2026-11-21T12:00:00Z"`, full, now, false},
		// who does not know the time is not let out
		{`"session": "s1", "until": "2026-11-21T11:00:00Z"`, full, time.Time{}, true},
	} {
		c := overlaid(t, `{"id": "o", `+row.selects+`, "unmatched": "deny"}`)
		got := c.Narrowed("", row.who, row.at).Decide(profiles.Call{Name: "a__b"}).Verdict == call.Deny
		if got != row.want {
			t.Errorf("%s for %+v: got %t, want %t", row.selects, row.who, got, row.want)
		}
	}
}

func TestOverlaysNarrow(t *testing.T) {
	for _, row := range []struct {
		title, overlay string
		want           []string
	}{
		{"a profile has to agree", `"profile": "readonly"`, []string{`allow a__get`, `deny a__set`}},
		{"lists intersect", `"allowlist": ["a__*"]`, []string{`allow a__get`, `deny b__get`}},
		{"a profile and a list", `"profile": "readonly", "allowlist": ["a__*"]`,
			[]string{`allow a__get`, `deny a__set`, `deny b__get`}},
		{"some tools only", `"tool": "b__*", "profile": "readonly"`, []string{`allow a__set`, `allow b__get`, `deny b__set`}},
		{"a tool under its raw name", `"tool": "b-1__*", "denylist": ["*"]`, []string{`deny b-1__x`, `allow b__x`}},
		{"denials and questions", `"denylist": ["a__x"], "asklist": ["a__y"]`,
			[]string{`deny a__x`, `ask a__y`, `allow a__z`}},
		{"allow rules allow nothing that was not", `"allowlist": ["*"], "unmatched": "allow"`, []string{`allow a__x`}},
	} {
		c := overlaid(t, `{"id": "o", "session": "s", `+row.overlay+`}`)
		t.Run(row.title, func(t *testing.T) {
			wantVerdicts(t, c.Narrowed("p", Subject{Session: "s"}, time.Time{}), row.want...)
		})
		wantVerdicts(t, c.Narrowed("p", Subject{Session: "other"}, time.Time{}), `allow a__x`, `allow b__set`)
	}
	c := overlaid(t, `{"id": "o", "session": "s", "limits": {"calls": 7, "asks": 50}}`)
	p := c.Narrowed("p", Subject{Session: "s"}, time.Time{})
	if l := p.Limits(); l.Calls != 7 || l.Asks != 5 {
		t.Errorf("of limits the smaller is taken: got %+v", l)
	}
	if d := p.Decide(profiles.Call{Name: "a__b", Counters: profiles.Counters{Calls: 7}}); d.Verdict != call.Deny ||
		d.Code != call.CodeLimit {
		t.Errorf("got %s", described(d))
	}
	if p.Digest() == c.Profile("p").Digest() {
		t.Error("what was approved without the overlay would be good under it")
	}
	if c.Narrowed("p", Subject{}, time.Time{}) != c.Profile("p") || c.Narrowed("nobody", Subject{}, time.Time{}) != nil {
		t.Error("without overlays it is the profile itself")
	}
	shadowed := parse(t, `{"evaluation": {"profiles": {"p": {"shadow": "q"}, "q": {}}, "overlays": [{"id": "o", "session": "s", "denylist": ["a__b"]}]}}`)
	if q := shadowed.Narrowed("p", Subject{Session: "s"},
		time.Time{}).Shadow(); q.Decide(profiles.Call{Name: "a__b"}).Verdict != call.Deny ||
		q.Decide(profiles.Call{Name: "a__c"}).Verdict != call.Allow {
		t.Error("an overlay does not bind the profile that is tried beside")
	}
	if within := c.Profile("p").Within(profiles.Limits{Calls: 3, Asks: 9}); within.Limits().Calls != 3 ||
		within.Limits().Asks != 5 || within.Digest() == c.Profile("p").Digest() ||
		c.Profile("p").Within(profiles.Limits{}) != c.Profile("p") {
		t.Errorf("within limits: got %+v", within.Limits())
	}
	if p.Visible(callOf("a b", "")) != true || c.Narrowed("p", Subject{Session: "s"}, time.Time{}).Unrestricted() {
		t.Error("limits hide nothing, and restrict")
	}
}

// TestOverlaysOrder: the most specific comes first, and explain shows all of them.
func TestOverlaysOrder(t *testing.T) {
	c := overlaid(t, `
		{"id": "role", "role": "r", "denylist": ["a__*"]},
		{"id": "both", "session": "s", "program": "x", "denylist": ["a__*"]},
		{"id": "session", "session": "s", "denylist": ["a__*"], "allowlist": ["b__*"]},
		{"id": "principal", "principal": "p", "asklist": ["b__ask"]},
		{"id": "tools", "principal": "p", "tool": "a__*", "denylist": ["*"]}`)
	var order []string
	for _, o := range c.Overlays() {
		order = append(order, o.ID)
	}
	if got := strings.Join(order, " "); got != "both session tools principal role" {
		t.Errorf("got the order %s", got)
	}
	// Each is more specific than the next, although the names say otherwise.
	steps := []string{`"session": "s"`, `"principal": "p", "tool": "*"`, `"principal": "p"`, `"role": "r", "program": "x"`,
		`"role": "r", "folder": "x", "tool": "*"`,
		`"role": "r", "folder": "x"`, `"role": "r", "tool": "*"`, `"role": "r"`, `"program": "x", "folder": "x"`,
		`"program": "x"`, `"folder": "x"`}
	var reversed []string
	for i, step := range slices.Backward(steps) {
		reversed = append(reversed, fmt.Sprintf(`{"id": "%c", %s, "unmatched": "deny"}`, 'z'-i, step))
	}
	got := ""
	for _, o := range overlaid(t, strings.Join(reversed, ",")).Overlays() {
		got += o.ID
	}
	if got != "zyxwvutsrqp" {
		t.Errorf("got the order %s", got)
	}
	p := c.Narrowed("p", Subject{Session: "s", Principal: "p", Role: "r", Script: "x"}, time.Time{})
	var layers []string
	for _, r := range p.Decide(callOf("a b", "")).Reasons {
		layers = append(layers, r.Layer)
	}
	if got := strings.Join(layers, ", "); got != "overlay both, overlay session, overlay tools, overlay role" {
		t.Errorf("got the reasons of %s", got)
	}
	x := p.Explain(callOf("b x", ""))
	if x.Decision.Verdict != call.Allow || len(x.Considered) != 5 { // the overlay "tools" is not about b__x
		t.Errorf("got %s, considered %+v", described(x.Decision), x.Considered)
	}
	if r := x.Decision.Reasons; len(r) != 2 || r[0].Layer != "" || r[1].Layer != "overlay session" || r[1].Rule != "b__*" {
		t.Errorf("the rules that allow it: got %s", described(x.Decision))
	}
	x = p.Explain(callOf("c x", ""))
	want := `add "c__x" to what the overlay session allows at codemode.json:7:3`
	if x.Decision.Verdict != call.Deny || x.Decision.Reasons[0].Layer != "overlay session" || len(x.Changes) == 0 ||
		x.Changes[0] != want {
		t.Errorf("got %s, changes %q, want %q", described(x.Decision), x.Changes, want)
	}
	x = p.Explain(callOf("b ask", ""))
	if d := x.Decision; d.Verdict != call.Ask || !d.Floor || d.Remember.Scopes != nil ||
		!contains(x.Changes[0], "of the overlay principal") {
		t.Errorf("what an overlay asks about is asked each time: got %s, %q", described(d), x.Changes)
	}
}

// TestOverlaysNeverLoosen puts random rules over random profiles.
func TestOverlaysNeverLoosen(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(45, 48))}
	changed := 0
	for range *pairs / 100 {
		evaluation := m.evaluation()
		overlays := []any{}
		for i := range 1 + m.IntN(3) {
			o := object{"id": fmt.Sprint(i), "session": "s"}
			for _, list := range []string{"allowlist", "asklist", "denylist"} {
				if m.chance(40) {
					o[list] = []any{m.rule(list)}
				}
			}
			if m.chance(30) {
				o["tool"] = m.pattern()
			}
			o["unmatched"] = pick(m, "allow", "ask", "deny")
			if m.chance(30) {
				delete(o, "unmatched")
				o["profile"] = "p0"
			}
			overlays = append(overlays, o)
		}
		c := configOf(t, evaluation)
		names := c.All()
		for i := range overlays {
			if o := overlays[i].(object); o["profile"] != nil {
				o["profile"] = names[0]
			}
		}
		evaluation["overlays"] = overlays
		c = configOf(t, evaluation)
		for range 20 {
			name, asked := pick(m, names...), m.call()
			was := c.Profile(name).Decide(asked)
			is := c.Narrowed(name, Subject{Session: "s"}, asked.Time).Decide(asked)
			if is.Verdict > was.Verdict {
				t.Fatalf("%v loosen %+v with %s:\nfrom %s\nto %s", overlays, asked, asked.Args, described(was), described(is))
			}
			if is.Verdict != was.Verdict {
				changed++
			}
			checkDecision(t, is)
		}
	}
	if changed < *pairs/1000 {
		t.Errorf("only %d decisions changed: the test looks at too little", changed)
	}
}

func TestBrokenOverlays(t *testing.T) {
	for _, row := range []struct{ overlay, message, hint string }{
		{`{"session": "s", "denylist": ["*"]}`, "has no id", "reasons call"},
		{`{"id": "o", "denylist": ["*"]}`, "for nobody in particular", "floor"},
		{`{"id": "o", "tool": "a__*", "denylist": ["*"]}`, "for nobody in particular", ""},
		{`{"id": "o", "session": "s"}`, "changes nothing", ""},
		{`{"id": "o", "session": "s", "tool": "a__*"}`, "changes nothing", ""},
		{`{"id": "o", "session": "s", "profile": "readnly"}`, "which does not exist", `did you mean "readonly"`},
		{`{"id": "o", "sesion": "s", "denylist": ["*"]}`, `unknown key "sesion"`, `"session"`},
		{`{"id": "o", "session": "", "denylist": ["*"]}`, "must not be empty", ""},
		{`{"id": "o", "session": "s", "tool": "!x", "denylist": ["*"]}`, "cannot be negated", ""},
		{`{"id": "o", "session": "s", "tool": [], "denylist": ["*"]}`, "must not be empty", ""},
		{`{"id": "o", "session": "s", "until": "soon", "denylist": ["*"]}`, "RFC 3339", ""},
		{`{"id": "o", "session": "s", "denylist": [{"id": "x", "tool": "*"}, {"id": "x", "tool": "a"}]}`, `have the id "x"`,
			"line"},
		{`{"id": "o", "session": "s", "unmatched": "maybe"}`, `must be`, ""},
		{`{"id": "o", "session": "s", "denylist": ["*"]}, {"id": "o", "role": "r", "denylist": ["*"]}`,
			"two overlays have the id", "rename"},
		{`"o"`, "must be an object", ""},
	} {
		p := refused(t, `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {}, "readonly": {}}, "overlays": [`+row.overlay+`]}}`)
		if !contains(p.Message, row.message) || !contains(p.Hint, row.hint) {
			t.Errorf("%s: got %s", row.overlay, p)
		}
	}
}

// TestOverlayFiles: a file of nothing but overlays, as an admin page writes it.
func TestOverlayFiles(t *testing.T) {
	mine := Source{"codemode.json",
		[]byte(`{"evaluation": {"defaultProfile": "p", "profiles": {"p": {}, "readonly": {"allowlist": ["*__get"]}}}}`), User}
	for _, content := range []string{
		`{"overlays": [{"id": "o", "session": "s", "profile": "readonly"}]}`,
		`{"evaluation": {"overlays": [{"id": "o", "session": "s", "profile": "readonly"}]}}`,
	} {
		c, err := ParseAll(nil, mine, Source{"overlays.json", []byte(content), Narrowing})
		must(t, err)
		wantVerdicts(t, c.Narrowed("", Subject{Session: "s"}, time.Time{}), `allow a__get`, `deny a__set`)
		wantVerdicts(t, c.Narrowed("", Subject{}, time.Time{}), `allow a__set`)
		if c.Path != "codemode.json" || len(c.Files) != 2 || c.Overlays()[0].Pos.File != "overlays.json" {
			t.Errorf("got %s of %v", c.Path, c.Files)
		}
	}
	for _, content := range []string{`{"evaluation": {"profiles": {"p": {}}}}`, `{"mcpServers": {}}`,
		`{"limits": {"calls": 1}}`} {
		if _, err := ParseAll(nil, mine, Source{"overlays.json", []byte(content), Narrowing}); err == nil {
			t.Errorf("more than overlays is read from an overlay file: %s", content)
		}
	}
}

// A refusal names what refused: the overlay, the file and the line, not the profile.
func TestARefusalNamesTheOverlay(t *testing.T) {
	c := parse(t, `{"evaluation": {"floor": "house", "profiles": {
		"house": {"denylist": ["db__drop"]}, "p": {"denylist": ["own__x"]}},
		"overlays": [{"id": "interns", "role": "intern", "allowlist": ["a__b", "db__*", "own__*", "c__*"],
			"denylist": ["c__d"]}]}}`)
	p := c.Narrowed("p", Subject{Role: "intern"}, time.Time{})
	for name, want := range map[string]string{
		"x__y":     "overlay interns: no rule decides, and what is not on the allowlist is denied (codemode.json:3)",
		"c__d":     "overlay interns: the overlay interns denies it (rule c__d, codemode.json:4, overlay interns)",
		"db__drop": "floor: the floor denies it (rule db__drop, codemode.json:2, floor)",
		"own__x":   "profile p: the profile denies it (rule own__x, codemode.json:2)",
	} {
		d := p.Decide(profiles.Call{Name: name})
		if got := d.Detail(); d.Verdict != call.Deny || got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
