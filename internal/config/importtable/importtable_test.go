package importtable

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/internal/profiletest"
	"github.com/codemode-project/codemode/profiles"
)

// firstMatch is what a rule table means: the first rule by priority that fits decides.
func firstMatch(rules []object, server, tool string, order Order) string {
	sorted := slices.Clone(rules)
	slices.SortStableFunc(sorted, func(a, b object) int {
		if order == LowestFirst {
			a, b = b, a
		}
		return b["priority"].(int) - a["priority"].(int)
	})
	for _, r := range sorted {
		if s, ok := r["serverId"].(string); ok && s != server {
			continue
		}
		if name, ok := r["toolName"].(string); ok && name != tool && !(contains(name, "*") &&
			profiletest.Glob(strings.ToLower(name), tool)) {
			continue
		}
		if p, ok := r["toolPattern"].(string); ok && !profiletest.Glob(strings.ToLower(p), tool) {
			continue
		}
		return map[any]string{"approve": "allow", "ask": "ask", "deny": "deny"}[r["action"]]
	}
	return "ask"
}

// TestS12ImportedTablesDecideTheSame is FEATURES.md S1.2: random rule tables against the
// profiles made of them. Where a note says that the profile is stricter, it may be.
func TestS12ImportedTablesDecideTheSame(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(1, 2))}
	letters := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(pick(m, "a", "b", "_", "c"))
		}
		return b.String()
	}
	exact := 0
	for range pairs / 100 {
		var rules []object
		for range 1 + m.IntN(6) {
			r := object{"serverId": nil, "toolName": nil, "toolPattern": nil, "priority": m.IntN(20),
				"action": pick(m, "approve", "ask", "deny")}
			if m.chance(50) {
				r["serverId"] = pick(m, "s", "ss", "t")
			}
			switch {
			case m.chance(40):
				r["toolName"] = letters(1+m.IntN(3)) + pick(m, "", "", "*")
			case m.chance(70):
				r["toolPattern"] = letters(m.IntN(2)) + "*" + letters(m.IntN(3))
				if m.chance(15) {
					r["toolPattern"] = r["toolPattern"].(string) + "*" + letters(1)
				}
			}
			rules = append(rules, r)
		}
		raw, err := json.Marshal(rules)
		must(t, err)
		order := pick(m, HighestFirst, LowestFirst)
		imported, err := ImportReleio(raw, "p", nil, order)
		if err != nil {
			t.Fatalf("%v\nof %s", err, raw)
		}
		_, unsaid := ImportReleio(raw, "p", nil, 0)
		p := parse(t, string(imported.File)).Profile("p")
		loose := slices.ContainsFunc(imported.Notes, func(n string) bool { return contains(n, "cannot be an exception") })
		for range 60 {
			server, tool := pick(m, "s", "ss", "t", "u"), letters(1+m.IntN(4))
			want := firstMatch(rules, server, tool, order)
			if other := firstMatch(rules, server, tool, HighestFirst+LowestFirst-order); other != want && unsaid == nil {
				t.Fatalf("%s of %s is decided by the order, %s or %s, and nobody has to say it\ntable %s", tool, server, want,
					other, raw)
			}
			got := p.Decide(profiles.Call{Server: server, Tool: tool}).Verdict.String()
			if got == want {
				exact++
				continue
			}
			ambiguous := contains(tool, "__") || contains(server+"__"+tool, "___") // where the server ends
			if !loose && !ambiguous || profiletest.Strictest(got, want) != got {
				t.Fatalf("%s of %s: got %s, want %s\ntable %s\nprofile %s", tool, server, got, want, raw, imported.File)
			}
		}
	}
	if exact < pairs/100*45 {
		t.Errorf("only %d of %d calls are decided as by the table", exact, pairs/100*60)
	}
}

func TestImportReads(t *testing.T) {
	for _, row := range []struct {
		title, table string
		servers      map[string]string
		want         []string // verdicts
		contains     string   // in the file
	}{
		{"an empty table asks about everything", `[]`, nil, []string{`ask a__b`}, `"unmatched": "ask"`},
		{"approve one server, ask about its writes", `[{"id":"1","serverId":"u-1","toolName":null,"toolPattern":null,"autoApprove":true,"priority":0},
			{"id":"2","serverId":null,"toolName":null,"toolPattern":"write_*","autoApprove":false,"priority":10}]`, map[string]string{"u-1": "my-fs"},
			[]string{`allow my-fs__read`, `ask my-fs__write_file`, `ask my-fs__WRITE_file`, `ask other__read`},
			`"reason":"rule 1 (approve every tool of my-fs, priority 0)"`},
		{"approve everything", `[{"action":"approve"}]`, nil, []string{`allow a__b`, `allow a__b__c`}, `"*__*"`},
		{"approve what begins and ends alike", `[{"toolPattern":"a*a","action":"approve"}]`, nil,
			[]string{`allow x__aba`, `ask x__ab`, `ask x__y__aba`}, `"*__a*a"`},
		{"an exception to a question",
			`[{"toolName":"write_log","autoApprove":1,"priority":20},{"toolPattern":"write_*","autoApprove":0,"priority":10},{"autoApprove":1,"priority":1}]`, nil,
			[]string{`allow a__write_log`, `ask a__write_file`, `allow a__read`}, `"imported-3"`},
		{"an exception to a denial",
			`{"servers":[{"id":"9","name":"fs"}],"rules":[{"server_id":"9","tool_name":"delete_tmp","action":"approve","priority":2},{"server_id":"9","tool_pattern":"delete_*","action":"deny","priority":1}]}`, nil,
			[]string{`deny fs__delete_tmp`, `deny fs__delete_it`, `ask fs__read`, `ask x__delete_it`},
			`rule 2 (deny delete_* of fs, priority 1)`},
		{"everything else is denied",
			`[{"toolPattern":"get_*","action":"approve","priority":3},{"toolName":"drop","action":"ask","priority":2},{"action":"deny","priority":1}]`, nil,
			[]string{`allow a__get_x`, `ask a__drop`, `deny a__read`}, `"unmatched": "deny"`},
		{"a rule that never decides", `[{"action":"ask","priority":2},{"toolName":"x","action":"approve","priority":1}]`, nil,
			[]string{`ask a__x`}, `approve x of every server`},
		{"several stars in an exception",
			`[{"toolPattern":"*a*b*","action":"ask","priority":3},{"toolPattern":"*a*","action":"approve","priority":5},{"action":"approve","priority":1}]`, nil,
			[]string{`allow x__c`, `allow x__ab`}, `never decides anything`},
	} {
		imported, err := ImportReleio([]byte(row.table), "p", row.servers, HighestFirst)
		if err != nil {
			t.Errorf("%s: %v", row.title, err)
			continue
		}
		if ambiguous := contains(string(imported.File),
			"imported-ambiguous"); ambiguous != slices.Contains([]string{"an exception to a question",
			"several stars in an exception", "approve what begins and ends alike", "everything else is denied"}, row.title) {
			t.Errorf("%s: asks about ambiguous names: %t\n%s", row.title, ambiguous, imported.File)
		}
		for _, empty := range []string{"[]", "[\n          \n"} {
			if contains(string(imported.File), empty) {
				t.Errorf("%s: a list of nothing is written\n%s", row.title, imported.File)
			}
		}
		if !contains(string(imported.File), row.contains) {
			t.Errorf("%s: got\n%s\nwant %s in it", row.title, imported.File, row.contains)
		}
		t.Run(row.title, func(t *testing.T) {
			profiletest.Want(t, parse(t, string(imported.File)).Profile("p"), row.want...)
		})
	}
	for _, row := range []struct{ table, want string }{
		{``, "there is nothing in it"}, {" \n", "there is nothing in it"}, {`{`, "is never closed"}, {`7`, "this is a number"},
		{`null`, "must be an array"}, {`"x"`, "must be an array"}, {`{}`, `an object without "rules"`},
		{`{"Rules": []}`, `did you mean "rules"?`}, {`{"rules": {}}`, "this is an object"}, {`{"rules": null}`, "this is null"},
		{`{"serverId": "a", "autoApprove": true}`, `an object without "rules"`},
		{`{"rules": [], "server": []}`, `did you mean "servers"?`}, {`{"rules": [], "rules": []}`, "twice in one object"},
		{`[7]`, "rule 1 of the table must be an object, this is a number"}, {`[[]]`, "this is an array"},
		{`[{"toolName":"x"}]`, "neither"}, {`[{"autoApprove":"yes"}]`, "must be true or false"},
		{`[{"autoApprove":null}]`, "neither"}, {`[{"autoApprove":2}]`, "must be true or false"},
		{`[{"action":"maybe"}]`, `must be "approve", "ask" or "deny"`}, {`[{"action":"aprove"}]`, `did you mean "approve"?`},
		{`[{"action":true}]`, "must be a string, this is true"}, {`[{"mode":["ask"]}]`, "this is an array"},
		{`[{"action":"ask","mode":"deny"}]`, `"mode" says the same as "action"`},
		{`[{"action":"ask","priority":"high"}]`, "must be a number"}, {`[{"action":"ask","priority":1e999}]`, "must be a number"},
		{`[{"action":"ask","toolName":""}]`, "must be text or null"}, {`[{"action":"ask","toolName":["a"]}]`, "text or null"},
		{`[{"action":"ask","serverId":7}]`, "must be text or null"}, {`[{"action":"ask","serverId":"a*"}]`, "is a pattern"},
		{`[{"toolPatern":"get_*","autoApprove":true}]`, `unknown key "toolPatern" in rule 1`},
		{`[{"toolPatern":"get_*","autoApprove":true}]`, `did you mean "toolPattern"?`},
		{`[{"toolpattern":"get_*","autoApprove":true}]`, `did you mean "toolPattern"?`},
		{`[{"ToolName":"get","autoApprove":true}]`, `did you mean "toolName"?`},
		{`[{"tool":"get","autoApprove":true}]`, `unknown key "tool"`}, {`[{"server":"a","autoApprove":true}]`, `unknown key "server"`},
		{`[{"enabled":false,"autoApprove":true}]`, `unknown key "enabled"`},
		{`[{"reason":"x","autoApprove":true}]`, `remove it, or write one of: serverId, server_id`},
		{`[{"conditions":{"toolName":"get"},"autoApprove":true}]`, `unknown key "conditions"`},
		{`[{"toolName":"a","toolName":"b","autoApprove":true}]`, "twice in one object"},
		{`[{"toolName":"a","tool_name":"b","autoApprove":true}]`, `"tool_name" says the same as "toolName"`},
		{`{"servers":{"1":"fs"},"rules":[]}`, `"servers" must be an array`}, {`{"servers":[7],"rules":[]}`, "this is a number"},
		{`{"servers":[{"id":"1","nmae":"fs"}],"rules":[]}`, `did you mean "name"?`},
		{`{"servers":[{"id":"1"}],"rules":[]}`, `has no "name"`},
		{`{"servers":[{"id":1,"name":"fs"}],"rules":[]}`, "must be a string, this is a number"},
		{`{"servers":[{"id":"1","name":"a"},{"id":"1","name":"b"}],"rules":[]}`, `"1" is twice`},
	} {
		if _, err := ImportReleio([]byte(row.table), "p", nil, HighestFirst); err == nil || !contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", row.table, err, row.want)
		}
	}
	_, err := ImportReleio([]byte(`[{"serverId":"u-1","action":"deny"}]`), "p", map[string]string{"u-2": "fs"}, HighestFirst)
	if err == nil || !contains(err.Error(), `did you mean "u-1"?`) {
		t.Errorf("a name for an id that is not there: got %v", err)
	}
	if _, err := ImportReleio([]byte(`[]`), "no good name", nil, HighestFirst); err == nil {
		t.Error("a profile of a bad name is made")
	}
}

// TestImportNamesRulesThatApproveEverything holds which rules a person should look at.
func TestImportNamesRulesThatApproveEverything(t *testing.T) {
	for _, row := range []struct{ table, want string }{
		{`[{"autoApprove":true}]`, "rule 1 (approve every tool of every server, priority 0) approves every tool"},
		{`[{"serverId":"*","toolName":"*","action":"approve"}]`, "of every server"},
		{`[{"toolPattern":"**","action":"approve"}]`, "of every server"},
		{`[{"toolName":"x","action":"ask","priority":2},{"serverId":null,"toolName":null,"action":"allow"}]`, "rule 2 "},
		{`[{"serverId":"fs","action":"approve"}]`, "every tool of fs"},
		{`[{"toolName":"get","action":"approve"},{"toolPattern":"*_get","action":"approve"}]`, ""},
		{`[{"action":"deny"}]`, ""}, {`[{"action":"ask"}]`, ""},
		{`[{"action":"ask","priority":2},{"action":"approve"}]`, ""}, // it never decides
	} {
		im, err := ImportReleio([]byte(row.table), "p", nil, HighestFirst)
		must(t, err)
		if got := strings.Join(im.Wide, "\n"); (got == "") != (row.want == "") || !contains(got, row.want) ||
			!contains(string(im.File), row.want) {
			t.Errorf("%s: got %q, want %q\n%s", row.table, got, row.want, im.File)
		}
	}
	for _, row := range []struct{ table, note string }{
		{`[]`, "the table has no rule"},
		{`[{"toolPattern":"^delete_.*$","action":"deny"}]`, "only * has a meaning"},
		{`{"servers":[{"id":"u-1","name":"fs"}],"rules":[{"serverId":"u-2","action":"deny"}]}`, `"u-2" has no name`},
	} {
		im, err := ImportReleio([]byte(row.table), "p", nil, HighestFirst)
		must(t, err)
		if len(im.Notes) != 1 || !contains(im.Notes[0], row.note) {
			t.Errorf("%s: got %q, want %q", row.table, im.Notes, row.note)
		}
	}
}

// TestRulesMeetAndCover holds what is said of two rules against names.
func TestRulesMeetAndCover(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(3, 4))}
	word := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(pick(m, "a", "B", "_"))
		}
		return b.String()
	}
	random := func() tableRule {
		r := tableRule{Server: pick(m, "", "s", "t")}
		switch {
		case m.chance(30):
			r.Tool = word(1 + m.IntN(3))
		case m.chance(80):
			r.Pattern = word(m.IntN(3)) + pick(m, "*", "*", "**", "") + word(m.IntN(3)) + pick(m, "", "*") + word(m.IntN(2))
		}
		return r
	}
	is := func(r tableRule, server, tool string) bool {
		return (r.Server == "" || r.Server == server) && (r.Tool == tool ||
			r.Tool == "" && (r.Pattern == "" || profiletest.Glob(strings.ToLower(r.Pattern), strings.ToLower(tool))))
	}
	met, covered := 0, 0
	for range 20_000 {
		a, b := random(), random()
		server, tool := pick(m, "s", "t"), word(1+m.IntN(5))
		inA, inB := is(a, server, tool), is(b, server, tool)
		if inA && inB && !(a.meets(&b) && b.meets(&a)) {
			t.Fatalf("%s__%s is of %+v and of %+v, which do not meet", server, tool, a, b)
		}
		if a.covers(&b) && inB && !inA {
			t.Fatalf("%s__%s is of %+v and not of %+v, which covers it", server, tool, b, a)
		}
		if a.meets(&b) {
			met++
		}
		if a.covers(&b) {
			covered++
		}
		if g, bad := match.ParseName(a.pattern(true)); bad != nil {
			t.Fatalf("%q: %s", a.pattern(true), bad.Message)
		} else if inA && !g.Match(server+"__"+tool) {
			t.Fatalf("%q does not fit %s__%s, which is of %+v", a.pattern(true), server, tool, a)
		}
	}
	if met < 2000 || met > 18_000 || covered < 500 {
		t.Errorf("%d of 20,000 pairs meet and %d cover", met, covered)
	}
}

// What a table means may depend on which priority is tried first. It is not written until somebody says it.
func TestAnImportedTableNeedsItsOrder(t *testing.T) {
	for _, row := range []struct {
		table   string
		depends []string // parts of the sentences; none: the order does not matter
		highest []string // verdicts with the highest first, and with the lowest
		lowest  []string
	}{
		{`[{"toolPattern":"delete_*","autoApprove":false,"priority":1},{"toolName":"*","autoApprove":true,"priority":100}]`,
			[]string{"*__delete_*: allow with highest-first, by rule 2 (approve * of every server, priority 100); ask with lowest-first, by rule 1 (ask about delete_* of every server, priority 1)"},
			[]string{"allow a__delete_x", "allow a__read"}, []string{"ask a__delete_x", "allow a__read"}},
		{`[{"toolName":"delete_*","autoApprove":false,"priority":1},{"serverId":"*","autoApprove":true,"priority":100}]`,
			[]string{"*__delete_*"}, []string{"allow a__delete_x"}, []string{"ask a__delete_x", "allow a__read"}},
		{`[{"toolName":"*","action":"approve","priority":7}]`, nil, []string{"allow a__b"}, []string{"allow a__b"}},
		{`[{"serverId":"a","toolName":"*","action":"approve","priority":7}]`, nil, []string{"allow a__b", "ask b__b"},
			[]string{"allow a__b"}},
		{`[{"toolName":"x","action":"deny","priority":1},{"toolName":"x","action":"deny","priority":2}]`, nil,
			[]string{"deny a__x"}, []string{"deny a__x"}},
		{`[{"toolName":"x","action":"deny","priority":1},{"toolName":"y","action":"approve","priority":2}]`, nil,
			[]string{"deny a__x"}, []string{"deny a__x"}},
		{`[{"serverId":"a","action":"deny","priority":1},{"serverId":"b","action":"approve","priority":2}]`, nil,
			[]string{"deny a__x"}, []string{"allow b__x"}},
		// A third rule decides either way.
		{`[{"toolName":"x","action":"ask","priority":0},{"toolName":"x","action":"deny","priority":5},{"action":"approve","priority":3},{"toolName":"x","action":"ask","priority":9}]`, nil,
			[]string{"ask a__x", "allow a__y"}, []string{"ask a__x", "allow a__y"}},
		{`[{"toolName":"*a*b*","action":"ask","priority":3},{"toolPattern":"*a*","action":"approve","priority":5}]`,
			[]string{"*__*a*b*: allow"}, nil, nil},
		{`[{"toolName":"a*","action":"ask","priority":3},{"toolPattern":"*b","action":"approve","priority":5}]`,
			[]string{"what both"}, nil, nil},
		{`[{"toolName":"*a*b*","action":"ask","priority":3},{"action":"approve","priority":5}]`, []string{"*__*a*b*: allow"},
			nil, nil},
	} {
		_, err := ImportReleio([]byte(row.table), "p", nil, 0)
		unsaid, refused := errors.AsType[*OrderError](err)
		if refused != (len(row.depends) > 0) {
			t.Errorf("%s: got %v, want %q", row.table, err, row.depends)
			continue
		}
		for i, part := range row.depends {
			if len(unsaid.Tools) != len(row.depends) || !contains(unsaid.Tools[i], part) {
				t.Errorf("%s: got %q, want %q", row.table, unsaid.Tools, row.depends)
			}
		}
		for order, want := range map[Order][]string{HighestFirst: row.highest, LowestFirst: row.lowest} {
			imported, err := ImportReleio([]byte(row.table), "p", nil, order)
			must(t, err)
			if len(imported.Depends) != len(row.depends) {
				t.Errorf("%s: it says %q depends on the order, want %q", row.table, imported.Depends, row.depends)
			}
			profiletest.Want(t, parse(t, string(imported.File)).Profile("p"), want...)
		}
	}
	tie, err := ImportReleio([]byte(`[{"toolName":"x","action":"ask"},{"action":"approve"}]`), "p", nil, 0)
	must(t, err)
	if len(tie.Depends) != 1 || !contains(tie.Depends[0], "same priority") {
		t.Errorf("a tie: got %q", tie.Depends)
	}
	if _, err := ImportReleio([]byte(`[{"toolName":"a*","toolPattern":"b*","action":"ask"}]`), "p", nil, 0); err == nil {
		t.Error("a rule of two patterns is read")
	}
	if _, err := ParseOrder("up"); err == nil {
		t.Error("an order that is none is read")
	}
}

// TestImportSaysWhatBecomesOfEachRule by its notes, and writes nothing twice.
func TestImportSaysWhatBecomesOfEachRule(t *testing.T) {
	for _, row := range []struct {
		table string
		notes []string
		has   []string
		lacks []string
	}{
		{`[{"action":"approve","priority":2},{"toolName":"x","action":"deny","priority":1}]`,
			[]string{"rule 2 (deny x of every server, priority 1) never decides anything: rules above it do"}, nil,
			[]string{`"denylist"`}},
		{`[{"toolName":"x","action":"ask","priority":2},{"toolName":"x","action":"approve","priority":1}]`,
			[]string{"rule 2 (approve x of every server, priority 1) never decides anything"}, nil,
			[]string{"imported-1", "imported-2"}},
		{`[{"toolName":"x","action":"approve","priority":3},{"toolName":"x","action":"ask","priority":2},{"toolName":"y","action":"approve","priority":1}]`, nil, nil, []string{`imported-2`}},
		{`[{"toolPattern":"*a*b*","action":"approve","priority":2},{"toolPattern":"a*","action":"deny","priority":1}]`,
			[]string{"rule 1 (approve *a*b* of every server, priority 2) cannot be an exception to rule 2 (deny a* of every server, priority 1)"}, []string{"imported-2"}, nil},
		{`[{"toolPattern":"*a*b*","action":"ask","priority":2},{"toolPattern":"*a*","action":"approve","priority":1}]`, nil,
			[]string{`"tool":"*__*[Aa]*[Bb]*"`}, nil},
		{`[{"serverId":"s","toolName":"x","action":"approve"},{"serverId":"t","toolPattern":"get_*","action":"deny"}]`, nil,
			[]string{`"tool":"s__x"`, `"tool":"t__[gG][eE][tT]_*"`}, []string{`"tool":[`}},
		{`[{"toolName":"x","autoApprove":true},{"toolName":5,"autoApprove":true}]`, nil, nil, nil},
	} {
		im, err := ImportReleio([]byte(row.table), "p", nil, HighestFirst)
		if err != nil {
			if row.notes != nil || row.has != nil {
				t.Errorf("%s: %v", row.table, err)
			}
			continue
		}
		for _, want := range row.notes {
			if !slices.ContainsFunc(im.Notes, func(n string) bool { return contains(n, want) }) {
				t.Errorf("%s: notes %q, want %q", row.table, im.Notes, want)
			}
		}
		if len(im.Notes) < len(row.notes) {
			t.Errorf("%s: notes %q", row.table, im.Notes)
		}
		for _, want := range row.has {
			if !contains(strings.ToLower(string(im.File)), strings.ToLower(want)) {
				t.Errorf("%s: want %s in\n%s", row.table, want, im.File)
			}
		}
		for _, not := range row.lacks {
			if contains(string(im.File), not) {
				t.Errorf("%s: %s is in\n%s", row.table, not, im.File)
			}
		}
	}
}
