package config

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/profiles"
)

func TestForesee(t *testing.T) {
	p := profile(t, `
		"allowlist": [
			{"id": "own", "tool": "g__create", "when": {"/owner": {"eq": "acme"}}, "others": "none"},
			"g__list", "fs__*"
		],
		"asklist": [{"id": "soft", "tool": "g__*", "unlessAllowed": true}, {"id": "writes", "tool": "fs__write"}],
		"denylist": [
			{"id": "no-etc", "tool": "fs__*", "when": {"/path": {"under": ["/etc"]}}},
			"fs__drop",
			{"id": "deep", "tool": "d__*", "when": {"/files/*/path": {"prefix": "x"}}}
		]`)
	for _, tt := range []struct {
		tool, args    string
		unknown, open []string
		want          string // verdicts, and what they depend on
	}{
		{"g__list", `null`, []string{""}, nil, "allow"},
		{"fs__drop", `null`, []string{""}, nil, "deny"},
		{"fs__read", `{"path":"/tmp/x","n":null}`, []string{"/n"}, nil, "allow"},
		{"fs__read", `{"path":"/etc/x","n":null}`, []string{"/n"}, nil, "deny"},
		{"fs__read", `{"path":null}`, []string{"/path"}, nil, "deny ask allow: no-etc on /path"},
		{"fs__read", `{"Path":null,"path":"/tmp"}`, []string{"/Path"}, nil, "deny ask allow: no-etc on /path"},
		{"fs__read", `{"path":{"x":null}}`, []string{"/path/x"}, nil, "deny ask allow: no-etc on /path"},
		{"fs__read", `{"path":"/tmp/x"}`, nil, []string{""}, "deny ask allow: no-etc on /path"},
		{"fs__read", `{"path":"/tmp/x","o":{}}`, nil, []string{"/o"}, "allow"},
		{"fs__write", `null`, []string{""}, nil, "deny ask: no-etc on /path"},
		{"g__create", `{"owner":"acme","title":null}`, []string{"/title"}, nil,
			"ask allow: own on which arguments there are"},
		{"g__create", `{"owner":"acme"}`, nil, nil, "allow"},
		{"g__create", `{"owner":null}`, []string{"/owner"}, nil, "ask allow: own on /owner"},
		{"g__create", `{"owner":"other","title":null}`, []string{"/title"}, nil, "ask"},
		{"g__create", `{"owner":"acme"}`, nil, []string{""}, "ask allow: own on /owner and which arguments there are"},
		{"d__x", `{"files":[{"path":"y"},null]}`, []string{"/files/1"}, nil, "deny"}, // unmatched
		{"nothing__x", `null`, []string{""}, nil, "deny"},
		{"fs__read", `{"path":1,"path":2}`, nil, nil, "deny"},
	} {
		server, tool, _ := strings.Cut(tt.tool, "__")
		f := p.Foresee(profiles.Call{Server: server, Tool: tool, Args: call.Unread(json.RawMessage(tt.args))},
			profiles.Gaps{Unknown: tt.unknown, Open: tt.open})
		words := make([]string, len(f.Verdicts))
		for i, v := range f.Verdicts {
			words[i] = v.String()
		}
		got := strings.Join(words, " ")
		for _, d := range f.Depends {
			on := strings.TrimSuffix(strings.TrimPrefix(d.Text, "it depends on "), ", which only the running program knows")
			got += fmt.Sprintf(": %s on %s", d.Rule, on)
			if d.Pos.Line == 0 || d.Result != "unknown" {
				t.Errorf("%s %s: dependence %+v", tt.tool, tt.args, d)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s %s %v %v (-want +got):\n%s", tt.tool, tt.args, tt.unknown, tt.open, diff)
		}
	}
}

func TestForeseeWithAFloorAndLimits(t *testing.T) {
	c := parse(t, `{"evaluation": {"floor": "house", "profiles": {
		"house": {"denylist": [{"id": "no-drop", "tool": "db__*", "when": {"/sql": {"prefix": "drop"}}}], "unmatched": "allow"},
		"p": {"asklist": ["db__run"], "raise": {"tainted": "ask"}, "limits": {"calls": 3}}
	}}}`)
	unknown := profiles.Gaps{Unknown: []string{"/sql"}}
	asked := profiles.Call{Server: "db", Tool: "run", Args: call.Unread(json.RawMessage(`{"sql":null}`))}
	f := c.Profile("p").Foresee(asked, unknown)
	if diff := cmp.Diff([]call.Verdict{call.Deny, call.Ask}, f.Verdicts); diff != "" || len(f.Depends) != 1 ||
		!f.Depends[0].Floor {
		t.Errorf("%s %+v", diff, f.Depends)
	}
	asked.Tool, asked.Tainted = "look", true
	if f = c.Profile("p").Foresee(asked, unknown); !slices.Equal(f.Verdicts, []call.Verdict{call.Deny, call.Ask}) {
		t.Errorf("a tainted run: %v", f.Verdicts)
	}
	asked.Counters.Calls = 3
	if f = c.Profile("p").Foresee(asked, unknown); !slices.Equal(f.Verdicts, []call.Verdict{call.Deny}) ||
		f.Depends != nil {
		t.Errorf("a limit that is used up: %v %v", f.Verdicts, f.Depends)
	}
}

// TestForeseeHoldsForEveryCompletion compares the forecast with decisions: whatever comes to
// stand in the gaps, the verdict is one of those foreseen; and a call without gaps has one.
func TestForeseeHoldsForEveryCompletion(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(5, 6))}
	certain := 0
	const each = 20
	for range *pairs / each / 4 {
		evaluation := m.evaluation()
		p := configOf(t, evaluation).Profile("p")
		for range each {
			c := m.call()
			shown := m.object(2)
			var gaps profiles.Gaps
			var fill []func(object)
			for range m.IntN(3) {
				key := pick(m, "p", "q", "r", "P", "0")
				gaps.Unknown = append(gaps.Unknown, "/"+key)
				shown[key] = nil
				fill = append(fill, func(o object) {
					if o[key] = m.value(2); m.chance(20) {
						delete(o, key)
					}
				})
			}
			if inner, ok := shown["p"].(object); ok && m.chance(50) {
				gaps.Unknown = append(gaps.Unknown, "/p/q")
				inner["q"] = nil
				fill = append(fill, func(o object) {
					if inner, ok := o["p"].(object); ok {
						inner["q"] = m.value(1)
					}
				})
			}
			if m.chance(20) {
				gaps.Open = append(gaps.Open, "")
				fill = append(fill, func(o object) {
					for key, value := range m.object(2) {
						if _, ok := o[key]; !ok {
							o[key] = value
						}
					}
				})
			}
			text, _ := json.Marshal(shown)
			c.Args = call.Unread(text)
			f := p.Foresee(c, gaps)
			if len(fill) == 0 && (len(f.Verdicts) != 1 || f.Verdicts[0] != f.Decision.Verdict) {
				t.Fatalf("nothing is unknown, and the verdicts are %v", f.Verdicts)
			}
			if !slices.IsSorted(f.Verdicts) || !slices.Contains(f.Verdicts, f.Decision.Verdict) ||
				len(f.Verdicts) > 1 && len(f.Depends) == 0 {
				t.Fatalf("forecast %+v", f)
			}
			if len(f.Verdicts) == 1 && len(fill) > 0 {
				certain++
			}
			for range 5 {
				whole := object{}
				must(t, json.Unmarshal(text, &whole))
				for _, fill := range fill {
					fill(whole)
				}
				made := c
				filled, _ := json.Marshal(whole)
				made.Args = call.Unread(filled)
				if d := p.Decide(made); !slices.Contains(f.Verdicts, d.Verdict) {
					all, _ := json.MarshalIndent(evaluation, "", " ")
					t.Fatalf("shown %s with %+v: foreseen %v, but %s gets %s\n%s", c.Args, gaps, f.Verdicts, made.Args, described(d),
						all)
				}
			}
		}
	}
	if certain < *pairs/40 {
		t.Errorf("only %d forecasts with gaps are certain: the test looks at too little", certain)
	}
}

// An overlay about other tools has no part in it.
func TestForeseeUnderAnOverlay(t *testing.T) {
	c := parse(t, `{"evaluation": {"profiles": {"p": {"allowlist": ["*"]}}, "overlays": [
		{"id": "o", "session": "s", "tool": "fs__*", "denylist": [{"id": "etc", "tool": "*", "when": {"/path": {"under": ["/etc"]}}}]}]}}`)
	p := c.Narrowed("p", Subject{Session: "s"}, time.Time{})
	for tool, want := range map[string][]call.Verdict{"fs": {call.Deny, call.Ask, call.Allow}, "db": {call.Allow}} {
		f := p.Foresee(profiles.Call{Server: tool, Tool: "read", Args: call.Unread(json.RawMessage(`{"path":null}`))},
			profiles.Gaps{Unknown: []string{"/path"}})
		if !slices.Equal(f.Verdicts, want) {
			t.Errorf("%s: got %v, want %v", tool, f.Verdicts, want)
		}
		if tool == "fs" && (len(f.Depends) != 1 || f.Depends[0].Layer != "overlay o") {
			t.Errorf("it depends on %+v", f.Depends)
		}
	}
}
