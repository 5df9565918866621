package profiles

import (
	"fmt"
	"strings"
	"testing"
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
		got = append(got, fmt.Sprintf("%d %s %s %s %s %v asked=%t refused=%t", c.Line, c.Run, c.Tool, c.Verdict, c.Args, c.Masked, c.Asked, c.Refused))
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
	for _, broken := range []string{`{`, `[]`, `{"tool": 1, "verdict": "ask"}`, `{"verdict":"ask","verdict":"deny","tool":"x"}`} {
		if _, err := ReadRecord(strings.NewReader("\n" + broken)); err == nil || !contains(err.Error(), "line 2 of the record") {
			t.Errorf("%s: got %v", broken, err)
		}
	}
}

// TestH3TighteningOneRuleListsTheCallsItChanges is POLICY.md H3 and N7.
func TestH3TighteningOneRuleListsTheCallsItChanges(t *testing.T) {
	replayed := func(p *Profile) (changed string, s ReplaySummary) {
		var all []Replayed
		var lines []string
		for _, c := range past(t, pastRecord) {
			r := p.Replay(c)
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
	if got, s := replayed(profile(t, then+`, "denylist": ["git__push"]`)); got != "4 deny" || s.Stricter != 1 || s.Same != 5 {
		t.Errorf("one rule tightened: got %q, %s", got, s)
	}
	got, s := replayed(profile(t, then+`, "denylist": [{"id": "no-etc", "tool": "fs__*", "when": {"/path": {"under": "/etc"}}}]`))
	if got != "6 deny, 10 deny or ask or allow" || s.Unsure != 1 {
		t.Errorf("a rule on arguments: got %q, %s", got, s)
	}
	got, s = replayed(profile(t, `"allowlist": ["git__*", "fs__*"]`))
	if got != "4 allow, 5 allow, 6 allow" || s.SavedQuestions != 3 || s.AllowedRefused != 1 || !contains(s.String(), "saved 3 questions, and allowed 1 calls that a person refused") {
		t.Errorf("loosened: got %q, %s", got, s)
	}
	got, _ = replayed(profile(t, `"allowlist": ["git__*", "fs__read", {"tool": "fs__write", "when": {"/token": {"eq": "x"}}}], "asklist": ["git__push"], "unmatched": "ask"`))
	if got != "4 ask" && got != "5 ask or allow" {
		t.Errorf("a masked argument: got %q", got)
	}
}
