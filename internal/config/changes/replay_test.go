package changes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/profiles"
)

// pastRecord has entries as the gate writes them, and in full as POLICY.md section 6 has them.
const pastRecord = `
{"time":"2026-11-01T10:00:00Z","kind":"running","run":"r_1","call":1,"profile":"p","server":"git","tool":"git__log","args":"sha256:aa","verdict":"allow","rule":"git__*","decidedBy":"rule"}
{"time":"2026-11-01T10:00:01Z","kind":"outcome","run":"r_1","call":1,"profile":"p","server":"git","tool":"git__log","args":"sha256:aa","verdict":"allow","rule":"git__*","decidedBy":"rule","outcome":"ok"}
{"time":"2026-11-01T10:00:02Z","kind":"running","run":"r_1","call":2,"profile":"p","server":"git","tool":"git__push","args":"sha256:bb","verdict":"ask","decidedBy":"person"}
{"v":1,"seq":9,"kind":"decision","run":"r_2","call":1,"profile":"p","server":"fs","tool":"write","verdict":"ask","decidedBy":{"how":"person","channel":"web"},"args":{"proposed":"hmac:1","redacted":{"path":"/tmp/a","token":"[redacted]"}}}
{"v":1,"seq":10,"kind":"refused","run":"r_2","call":2,"profile":"p","server":"fs","tool":"fs__write","verdict":"ask","decidedBy":{"how":"person"},"reason":"elicitation_declined","args":{"proposed":"hmac:2","redacted":{"path":"/etc/a"}}}
{"kind":"refused","run":"r_2","call":3,"profile":"p","tool":"fs__write","verdict":"deny","decidedBy":"limit"}
{"kind":"policy","run":"","call":0,"profile":"p","change":"reloaded"}
{"body":{"kind":"running","run":"r_3","call":1,"profile":"p","server":"fs","tool":"fs__read","verdict":"allow","decidedBy":"rule","arguments":{"path":"/tmp/b"}}}
{"kind":"running","run":"r_3","call":2,"profile":"p","server":"fs","tool":"fs__read","verdict":"allow","decidedBy":"rule","args":"sha256:cc"}
`

func past(t testing.TB, record string) []PastCall {
	t.Helper()
	calls, err := ReadRecord(strings.NewReader(record))
	must(t, err)
	return calls
}

func TestReadRecord(t *testing.T) {
	var got []string
	for _, c := range past(t, pastRecord) {
		got = append(got, fmt.Sprintf("%d %s %s %s %s %v asked=%t refused=%t", c.Line, c.Run, c.Tool, c.Verdict, c.Args,
			c.Masked, c.Asked, c.Refused))
	}
	want := []string{
		`2 r_1 git__log allow  [] asked=false refused=false`,
		`4 r_1 git__push ask  [] asked=true refused=false`,
		`5 r_2 fs__write ask {"path":"/tmp/a","token":"[redacted]"} [/token] asked=true refused=false`,
		`6 r_2 fs__write ask {"path":"/etc/a"} [] asked=true refused=true`,
		`9 r_3 fs__read allow {"path":"/tmp/b"} [] asked=false refused=false`,
		`10 r_3 fs__read allow  [] asked=false refused=false`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, broken := range []string{`{`, `[]`, `{"tool": 1, "verdict": "ask"}`,
		`{"verdict":"ask","verdict":"deny","tool":"x"}`} {
		if _, err := ReadRecord(strings.NewReader("\n" + broken)); err == nil || !contains(err.Error(),
			"line 2 of the record") {
			t.Errorf("%s: got %v", broken, err)
		}
	}
}

// TestH3TighteningOneRuleListsTheCallsItChanges is POLICY.md H3 and N7.
func TestH3TighteningOneRuleListsTheCallsItChanges(t *testing.T) {
	replayed := func(p *profiles.Profile) (changed string, s ReplaySummary) {
		var all []Replayed
		var lines []string
		for _, c := range past(t, pastRecord) {
			r := Replay(p, c)
			all = append(all, r)
			if r.Changed() || !r.Certain() {
				lines = append(lines, fmt.Sprintf("%d %s", r.Line, VerdictsText(r.Verdicts)))
			}
		}
		return strings.Join(lines, ", "), Summarise(all)
	}
	then := `"allowlist": ["git__*", "fs__read"], "asklist": ["git__push", "fs__write"]`
	if got, s := replayed(profile(t, then)); got != "" || s.Same != 6 {
		t.Errorf("the rules of then: got %q, %s", got, s)
	}
	if got, s := replayed(profile(t, then+`, "denylist": ["git__push"]`)); got != "4 deny" || s.Stricter != 1 ||
		s.Same != 5 {
		t.Errorf("one rule tightened: got %q, %s", got, s)
	}
	got, s := replayed(profile(t,
		then+`, "denylist": [{"id": "no-etc", "tool": "fs__*", "when": {"/path": {"under": "/etc"}}}]`))
	if got != "6 deny, 10 deny or ask or allow" || s.Unsure != 1 {
		t.Errorf("a rule on arguments: got %q, %s", got, s)
	}
	got, s = replayed(profile(t, `"allowlist": ["git__*", "fs__*"]`))
	if got != "4 allow, 5 allow, 6 allow" || s.SavedQuestions != 3 || s.AllowedRefused != 1 ||
		!contains(s.String(), "saved 3 questions, and allowed 1 calls that a person refused") {
		t.Errorf("loosened: got %q, %s", got, s)
	}
	got, _ = replayed(profile(t,
		`"allowlist": ["git__*", "fs__read", {"tool": "fs__write", "when": {"/token": {"eq": "x"}}}], "asklist": ["git__push"], "unmatched": "ask"`))
	if got != "4 ask" && got != "5 ask or allow" {
		t.Errorf("a masked argument: got %q", got)
	}
}

// TestReplayDoesNotGuess: the record keeps neither what a tool said of itself nor what a run had read.
func TestReplayDoesNotGuess(t *testing.T) {
	for _, row := range []struct{ entry, rules, want string }{
		{`"verdict":"allow","rule":"fs__*"`,
			`"allowlist": ["fs__*"], "denylist": [{"tool": "fs__rm", "annotations": {"destructiveHint": true}}]`,
			"deny or ask or allow"},
		{`"verdict":"allow","rule":"fs__*"`,
			`"unmatched": "ask", "allowlist": [{"tool": "fs__rm", "annotations": {"readOnlyHint": true}}]`, "ask"},
		{`"verdict":"ask"`, `"allowlist": ["fs__*"], "raise": {"destructiveHint": "ask"}`, "ask or allow"},
		{`"verdict":"ask","rules":[{"id":"","at":"c.json:2"}]`, `"allowlist": ["fs__*"], "raise": {"tainted": "ask"}`,
			"ask or allow"},
		{`"verdict":"ask","rules":[{"id":"asks"}]`, `"allowlist": ["fs__*"], "raise": {"tainted": "ask"}`, "allow"},
		{`"verdict":"allow"`, `"allowlist": ["fs__*"], "raise": {"tainted": "ask"}`, "allow"},
		{`"verdict":"deny"`, `"allowlist": ["fs__*"], "raise": {"tainted": "ask"}`, "allow"},
		{`"verdict":"deny"`, `"allowlist": ["fs__*"], "raise": {"tainted": "deny"}`, "deny or allow"},
		{`"verdict":"deny"`, `"denylist": ["fs__*"], "raise": {"tainted": "deny"}`, "deny"},
	} {
		calls := past(t, `{"kind":"call","run":"r","call":1,"server":"fs","tool":"fs__rm","args":{"redacted":{}},`+row.entry+`}`)
		r := Replay(profile(t, row.rules), calls[0])
		if got := VerdictsText(r.Verdicts); got != row.want || r.Certain() != (len(r.Depends) == 0) {
			t.Errorf("%s under %s: got %s, depending on %v, want %s", row.entry, row.rules, got, r.Depends, row.want)
		}
	}
	c := parse(t, `{"evaluation": {"floor": "f", "profiles": {"p": {"allowlist": ["fs__*"]}, "f": {"raise": {"openWorldHint": "ask"}}}}}`)
	calls := past(t, `{"kind":"call","run":"r","call":1,"server":"fs","tool":"fs__rm","verdict":"ask"}`)
	if r := Replay(c.Profile("p"), calls[0]); VerdictsText(r.Verdicts) != "ask or allow" {
		t.Errorf("raised by the floor: got %s", VerdictsText(r.Verdicts))
	}
}

func TestExportsThatAreNoLines(t *testing.T) {
	list := "[\n" + strings.ReplaceAll(strings.TrimSpace(pastRecord), "\n", ",\n") + "\n]\n"
	if got, want := len(past(t, list)), len(past(t, pastRecord)); got != want {
		t.Errorf("a list: got %d calls, want %d", got, want)
	}
	if _, err := ReadRecord(strings.NewReader("time,chain,seq,kind\n2026,1,1,call\n")); err == nil ||
		!contains(err.Error(), "--format jsonl") {
		t.Errorf("CSV: got %v", err)
	}
}

// TestWhatARecordSays has the ways in which entries put the same things.
func TestWhatARecordSays(t *testing.T) {
	for _, row := range []struct{ lines, want string }{
		{`{"run":"r","call":1,"tool":"fs__w","verdict":"ask"}`, "ask fs__w   asked=false refused=false"},
		{`{"run":"r","call":1,"tool":"w","server":"my fs","verdict":"ask"}`, "ask my_fs__w   asked=false refused=false"},
		{`{"run":"r","call":1,"tool":"w","verdict":"ask"}`, "ask w   asked=false refused=false"},
		{`{"run":"r","call":1,"verdict":"ask"}`, ""},
		{`{"run":"r","call":1,"tool":"fs__w","verdict":"perhaps"}`, ""},
		{`{"run":"r","call":1,"tool":"fs__w"}`, ""},
		// What decided.
		{`{"run":"r","call":1,"tool":"fs__w","verdict":"ask","decidedBy":{"how":"rule"},"reason":"elicitation_declined"}`,
			"ask fs__w   asked=false refused=false"},
		{`{"run":"r","call":1,"tool":"fs__w","verdict":"ask","decidedBy":"person","kind":"refused"}`,
			"ask fs__w   asked=true refused=true"},
		{`{"run":"r","call":1,"tool":"fs__w","verdict":"ask","decidedBy":"person","kind":"call","reason":"denied"}`,
			"ask fs__w   asked=true refused=false"},
		{`{"run":"r","call":1,"tool":"fs__w","verdict":"deny","decidedBy":"limit"}`, ""},
		{`{"run":"r","call":1,"tool":"fs__w","verdict":"deny","decidedBy":{"how":"error"}}`, ""},
		{`{"run":"r","call":1,"tool":"fs__w","verdict":"allow","decidedBy":{"how":"bypass"}}`, ""},
		{`{"run":"r","call":1,"tool":"fs__w","verdict":"ask","decidedBy":{"how":"definition_changed"}}`, ""},
		// Later entries of the same call.
		{`{"run":"r","call":1,"tool":"fs__w","verdict":"ask"}
		  {"run":"r","call":1,"tool":"fs__w","verdict":"ask","arguments":{"a":"x…"}}
		  {"run":"r","call":1,"tool":"fs__w","verdict":"ask","decidedBy":"person","kind":"refused","arguments":{"a":2}}
		  {"run":"r","call":1,"tool":"fs__w","verdict":"ask"}`, `ask fs__w {"a":"x…"} /a asked=true refused=true`},
		{`{"run":"r","call":1,"tool":"fs__w","verdict":"ask","decidedBy":"person"}
		  {"run":"r","call":1,"tool":"fs__w","verdict":"ask"}`, "ask fs__w   asked=true refused=false"},
		{`{"tool":"fs__w","verdict":"ask"}
		  {"tool":"fs__w","verdict":"ask"}`, "ask fs__w   asked=false refused=false; ask fs__w   asked=false refused=false"},
		// What was sent.
		{`{"run":"r","call":1,"tool":"fs__w","verdict":"ask","args":{"a":1}}`,
			`ask fs__w {"a":1}  asked=false refused=false`},
		{`{"run":"r","call":1,"tool":"fs__w","verdict":"ask","args":{"proposed":"hmac:1"}}`,
			"ask fs__w   asked=false refused=false"},
		{`{"run":"r","call":1,"tool":"fs__w","verdict":"ask","args":{"redacted":"gone"}}`,
			"ask fs__w   asked=false refused=false"},
		{`{"run":"r","call":1,"tool":"fs__w","verdict":"ask","args":{"redacted":{"a":1}}}`,
			`ask fs__w {"a":1}  asked=false refused=false`},
		{`{"run":"r","call":1,"tool":"fs__w","verdict":"ask","args":{"proposed":{"a":1}}}`,
			"ask fs__w   asked=false refused=false"},
		{`{"run":"r","call":1,"tool":"fs__w","verdict":"ask","args":"sha256:aa"}`, "ask fs__w   asked=false refused=false"},
		{`{"run":"r","call":1,"tool":"fs__w","verdict":"ask","input":{"a":1}}`,
			`ask fs__w {"a":1}  asked=false refused=false`},
		{`{"run":"r","call":1,"tool":"fs__w","verdict":"ask","args":{"l":["x",{"a~/b":"[redacted]"},"***"],"redacted_at":1}}`,
			`ask fs__w {"l":["x",{"a~/b":"[redacted]"},"***"],"redacted_at":1} /l/1/a~0~1b /l/2 asked=false refused=false`},
		// The row of an export around an entry.
		{`{"verdict":"","body":{"run":"r","call":1,"tool":"fs__w","verdict":"ask"}}`,
			"ask fs__w   asked=false refused=false"},
		{`{"tool":"fs__w","verdict":"allow","body":{"tool":"fs__w","verdict":"ask"}}`,
			"allow fs__w   asked=false refused=false"},
		{`{"tool":"fs__w","verdict":"","body":"text"}`, ""},
	} {
		var got []string
		for _, c := range past(t, row.lines) {
			got = append(got, fmt.Sprintf("%s %s %s %s asked=%t refused=%t", c.Verdict, c.Tool, c.Args,
				strings.Join(c.Masked, " "), c.Asked, c.Refused))
		}
		if strings.Join(got, "; ") != row.want {
			t.Errorf("%s\ngot  %s\nwant %s", row.lines, strings.Join(got, "; "), row.want)
		}
	}
	long := `{"run":"r","call":1,"tool":"fs__w","verdict":"ask","args":{"a":"` + strings.Repeat("x", 100_000) + `"}}`
	if calls := past(t, long); len(calls) != 1 || len(calls[0].Args) < 100_000 {
		t.Error("a long line is not read")
	}
}

// TestReplayFindsTheTool: the server's name may have a double underscore for its end nowhere else.
func TestReplayFindsTheTool(t *testing.T) {
	p := profile(t, `"denylist": ["my-fs__w"], "asklist": ["fs__*"]`)
	for line, want := range map[string]string{
		`{"tool":"my_fs__w","server":"my-fs","verdict":"allow"}`: "deny",
		`{"tool":"w","server":"my-fs","verdict":"allow"}`:        "deny",
		`{"tool":"my_fs__w","verdict":"allow"}`:                  "allow",
		`{"tool":"fs__a__b","verdict":"allow"}`:                  "ask",
	} {
		if r := Replay(p, past(t, line)[0]); VerdictsText(r.Verdicts) != want {
			t.Errorf("%s: got %s, want %s", line, VerdictsText(r.Verdicts), want)
		}
	}
}

func TestSummariesCount(t *testing.T) {
	was := func(was call.Verdict, refused bool, now ...call.Verdict) Replayed {
		return Replayed{PastCall: PastCall{Verdict: was, Refused: refused}, Verdicts: now}
	}
	for _, row := range []struct {
		all  []Replayed
		want string
	}{
		{nil, "0 calls: 0 as before, 0 otherwise (0 stricter, 0 looser)."},
		{[]Replayed{was(call.Allow, false, call.Allow), was(call.Ask, true, call.Ask),
			was(call.Ask, true, call.Deny, call.Ask)},
			"3 calls: 2 as before, 0 otherwise (0 stricter, 0 looser), 1 cannot be told."},
		{[]Replayed{was(call.Allow, false, call.Deny), was(call.Allow, false, call.Ask), was(call.Deny, false, call.Ask)},
			"3 calls: 0 as before, 3 otherwise (2 stricter, 1 looser)."},
		{[]Replayed{was(call.Deny, false, call.Allow)}, "1 calls: 0 as before, 1 otherwise (0 stricter, 1 looser)."},
		{[]Replayed{was(call.Ask, true, call.Allow), was(call.Ask, false, call.Allow)},
			"2 calls: 0 as before, 2 otherwise (0 stricter, 2 looser).\nIt would have saved 2 questions, and allowed 1 calls that a person refused."},
	} {
		if got := Summarise(row.all).String(); got != row.want {
			t.Errorf("got %q, want %q", got, row.want)
		}
	}
	unsure := was(call.Ask, false, call.Deny, call.Ask)
	if unsure.Changed() {
		t.Error("what cannot be told counts as changed")
	}
}

func TestASummaryOfStricterRules(t *testing.T) {
	summary := Summarise([]Replayed{{PastCall: PastCall{Verdict: call.Ask}, Verdicts: []call.Verdict{call.Deny}}})
	if summary.SavedQuestions != 0 || summary.Stricter != 1 {
		t.Errorf("asked then and denied now: %+v", summary)
	}
}
