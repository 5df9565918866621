package config

import (
	"encoding/json"
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/profiles"
)

// stricterPairs is how many random pairs of a change and a call are compared. One million takes some minutes:
// go test ./config -run TestP39_2 -stricter 1000000.
var stricterPairs = flag.Int("stricter", unlessRace(20_000, 4_000), "random (stricter profile, call) pairs to compare")

// fewerAnswers says in which respect a call may happen with fewer answers of people under the decision is than under
// was; "" if in none.
func fewerAnswers(was, is call.Decision) string {
	more := func(s string) bool { return !slices.Contains(was.Remember.Scopes, s) }
	switch {
	case was.Verdict == call.Deny && is.Verdict == call.Allow, was.Verdict == call.Ask && is.Verdict == call.Allow:
		return "nobody is asked"
	case was.Verdict != call.Ask || is.Verdict != call.Ask:
		return ""
	case was.Firm && !is.Firm:
		return "the question is not firm"
	case is.Fallback && !was.Fallback:
		return "the fallback answers"
	case slices.ContainsFunc(is.Remember.Scopes, more):
		return "an answer is remembered for longer"
	case is.Risk.Compare(was.Risk) < 0:
		return "the risk is lower"
	}
	return ""
}

// demanding adds to random rules what makes calls stricter besides rules, and what answers questions without people.
func (m maker) demanding(evaluation object) {
	all := evaluation["profiles"].(object)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := all[name].(object)
		if m.chance(60) {
			p["remember"] = object{"scopes": pick(m, []any{"run"}, []any{"run", "time"}, []any{"count", "session", "time"})}
		}
		if m.chance(70) {
			p["elicitationFallback"] = pick(m, "allow", "allow", "allow", "deny")
		}
		if m.chance(40) {
			p["raise"] = m.raise()
		}
		if m.chance(30) {
			p["limits"] = object{"repeat": 1 + m.IntN(3)}
		}
		for _, list := range []string{"asklist", "allowlist"} {
			rules, _ := p[list].([]any)
			for _, rule := range rules {
				if o, ok := rule.(object); ok && m.chance(20) {
					o["risk"] = pick(m, "low", "medium", "high", "critical")
				}
			}
		}
	}
	if m.chance(40) {
		overlay := object{"id": "o", "principal": "anna", "profile": pick(m, "q", "r", "f")}
		if m.chance(50) {
			overlay["tool"] = m.pattern()
		}
		evaluation["overlays"] = []any{overlay}
	}
}

func (m maker) raise() object {
	o := object{}
	for _, key := range []string{"destructiveHint", "openWorldHint", "tainted", "approval"} {
		if m.chance(40) {
			o[key] = pick(m, "ask", "ask", "ask", "deny")
		}
	}
	return o
}

// harder makes one change that may not spare people an answer: another "raise", or an ask rule for an allow rule.
func (m maker) harder(evaluation object) string {
	victim := pick(m, "p", "q", "r", "f")
	p := evaluation["profiles"].(object)[victim].(object)
	if allows, _ := p["allowlist"].([]any); len(allows) > 0 && m.chance(60) {
		i := m.IntN(len(allows))
		ask := object{"tool": allows[i]}
		if o, ok := allows[i].(object); ok {
			for _, key := range []string{"tool", "when", "annotations", "risk"} {
				if o[key] != nil {
					ask[key] = o[key]
				}
			}
		}
		asks, _ := p["asklist"].([]any)
		p["allowlist"], p["asklist"] = slices.Delete(allows, i, i+1), append(asks, ask)
		return "an allow rule of " + victim + " asks"
	}
	raise, _ := p["raise"].(object)
	if raise == nil {
		raise = object{}
		p["raise"] = raise
	}
	for key, to := range m.raise() { // in any order
		if raise[key] != "deny" {
			raise[key] = to
		}
	}
	return "raise of " + victim
}

// demandingCall is a random call in a random situation.
func (m maker) demandingCall() profiles.Call {
	c := m.call()
	c.Tainted, c.DefinitionChanged, c.Counters.Repeat = m.chance(40), m.chance(5), m.IntN(4)
	for _, key := range []string{"openWorldHint", "codemode/approval", "needs_confirmation"} {
		if !m.chance(20) {
			continue
		}
		if c.Annotations == nil {
			c.Annotations = map[string]any{}
		}
		c.Annotations[key] = pick[any](m, true, false, "ask", "never")
	}
	return c
}

// Whoever makes an ask rule of an allow rule, or adds to "raise", in a profile, its parents, its floor or an overlay,
// saves people no answer.
func TestP39_2NothingStricterNeedsFewerAnswers(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(39, 4))}
	const each = 50
	seen := map[string]int{}
	for range *stricterPairs / each {
		before, after := m.evaluation(), object{}
		m.demanding(before)
		data, err := json.Marshal(before)
		must(t, err)
		must(t, json.Unmarshal(data, &after))
		change := m.harder(after)
		old, now := configOf(t, before), configOf(t, after)
		for range each {
			asked := m.demandingCall()
			name, subject := pick(m, "p", "p", "q", "f"), Subject{Principal: pick(m, "anna", "ben")}
			was := old.Narrowed(name, subject, asked.Time).Decide(asked)
			is := now.Narrowed(name, subject, asked.Time).Decide(asked)
			if fewer := fewerAnswers(was, is); fewer != "" {
				text, _ := json.MarshalIndent(after, "", "  ")
				t.Fatalf("%s: %s, for profile %q of %s and the call %+v with %s\nfrom %s\nto %s\nin %s", change, fewer, name,
					subject.Principal, asked, asked.Args, described(was), described(is), text)
			}
			if was.Verdict != is.Verdict || was.Firm != is.Firm {
				seen["changed"]++
			}
			if is.Verdict == call.Ask {
				seen[map[bool]string{true: "firm", false: "loose"}[is.Firm]]++
			}
		}
	}
	t.Log(seen)
	for _, what := range []string{"changed", "firm", "loose"} {
		if seen[what] < *stricterPairs/100 {
			t.Errorf("only %d of %d pairs were %s: the test looks at too little", seen[what], *stricterPairs, what)
		}
	}
}

// Where an ask rule matches, "raise", marks, repetition and a changed definition make its question firm.
func TestP39_2EachReasonMakesAQuestionFirm(t *testing.T) {
	c := parse(t, `{"evaluation": {"floor": "f", "profiles": {"f": {"unmatched": "allow"},
		"p": {"asklist": ["a__*"], "elicitationFallback": "allow", "remember": {"scopes": ["run", "time"]},
			"limits": {"repeat": 2}, "raise": {"tainted": "ask", "destructiveHint": "ask"}},
		"child": {"extends": ["p"]}, "byFloor": {"asklist": ["a__*"], "elicitationFallback": "allow",
			"remember": {"scopes": ["run"]}}}}}`)
	raising := parse(t, `{"evaluation": {"floor": "f", "profiles": {"f": {"unmatched": "allow", "raise": {"tainted": "ask"}},
		"p": {"asklist": ["a__*"], "elicitationFallback": "allow", "remember": {"scopes": ["run"]}}}}}`)
	for _, row := range []struct {
		title   string
		profile *profiles.Profile
		call    profiles.Call
		firm    bool
	}{
		{"nothing else", c.Profile("p"), profiles.Call{}, false},
		{"tainted", c.Profile("p"), profiles.Call{Tainted: true}, true},
		{"tainted, by a parent", c.Profile("child"), profiles.Call{Tainted: true}, true},
		{"tainted, by the floor", raising.Profile("p"), profiles.Call{Tainted: true}, true},
		{"tainted, where nobody raises it", c.Profile("byFloor"), profiles.Call{Tainted: true}, false},
		{"a hint", c.Profile("p"), profiles.Call{Annotations: map[string]any{"destructiveHint": true}}, true},
		{"a hint that is not raised", c.Profile("p"), profiles.Call{Annotations: map[string]any{"openWorldHint": true}}, false},
		{"a mark", c.Profile("byFloor"), profiles.Call{Annotations: map[string]any{"needsApproval": true}}, true},
		{"a mark that says no", c.Profile("p"), profiles.Call{Annotations: map[string]any{"needsApproval": false}}, false},
		{"the same call again", c.Profile("p"), profiles.Call{Counters: profiles.Counters{Repeat: 2}}, true},
		{"a changed definition", c.Profile("p"), profiles.Call{DefinitionChanged: true}, true},
	} {
		row.call.Name = "a__x"
		d := row.profile.Decide(row.call)
		if d.Verdict != call.Ask || d.Firm != row.firm || d.Fallback == row.firm || (len(d.Remember.Scopes) == 0) != row.firm {
			t.Errorf("%s: got %s, firm %t, fallback %t, remembered for %v; want a question that is firm: %t", row.title,
				d.Verdict, d.Firm, d.Fallback, d.Remember.Scopes, row.firm)
		}
		if d.Lead().List != "asklist" {
			t.Errorf("%s: the question is led by %s", row.title, d.Lead().List)
		}
	}
}
