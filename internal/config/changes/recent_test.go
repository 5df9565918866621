package changes

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/profiletest"
)

// What a proposal would change in other calls of the record is said, decided under the rules before and after.
func TestAProposalSaysWhichOtherCallsItChanges(t *testing.T) {
	made := func(tool, args string, verdict call.Verdict, refused bool) PastCall {
		c := PastCall{Server: strings.SplitN(tool, "__", 2)[0], Tool: tool, Profile: "p", Verdict: verdict,
			Asked: verdict == call.Ask, Refused: refused}
		if args != "" {
			c.Args = json.RawMessage(args)
		}
		return c
	}
	record := []PastCall{
		made("fs__write", `{"path":"a"}`, call.Ask, false), made("fs__write", `{ "path": "a" }`, call.Ask, false),
		made("fs__write", `{"path":"b"}`, call.Ask, true),
		made("fs__write", `{"path":"c"}`, call.Ask, false), made("fs__read", `{}`, call.Ask, false),
		made("git__log", `{}`, call.Allow, false), made("fs__write", "", call.Ask, false),
		{Tool: "fs__write", Profile: "gone", Verdict: call.Ask},
	}
	for _, row := range []struct {
		title, body string
		p           Proposal
		want        []string
	}{
		{"exact arguments", `"asklist": ["fs__*"], "allowlist": ["git__*"]`,
			Proposal{Tool: "fs__write", Args: json.RawMessage(`{"path":"a"}`)}, []string{
				"of 7 recent calls (30 days) it changes 2 as proposed", "it also changes 1 of 7 recent calls:",
				"  ASK -> ASK OR ALLOW: fs__write under p (1 call)",
			}},
		{"any arguments", `"asklist": ["fs__*"], "allowlist": ["git__*"]`, Proposal{Tool: "fs__write"},
			[]string{"of 7 recent calls (30 days) it changes 5 as proposed, and no other"}},
		{"an allowlist where none was", ``, Proposal{Tool: "fs__write"}, []string{
			"of 7 recent calls (30 days) it changes 0 as proposed", "it also changes 2 of 7 recent calls:",
			"  ALLOW -> DENY: fs__read {} under p (1 call)", "  ALLOW -> DENY: git__log {} under p (1 call)",
		}},
		{"a deny rule", `"asklist": ["fs__*"], "allowlist": ["git__*"]`, Proposal{List: "denylist", Tool: "fs__r*"},
			[]string{"of 7 recent calls (30 days) it changes 1 as proposed, and no other"}},
		{"a rule for one profile is another's too", `"asklist": ["fs__*"], "allowlist": ["*"]`,
			Proposal{Tool: "fs__write", Args: json.RawMessage(`{"path":"b"}`)}, []string{
				"of 7 recent calls (30 days) it changes 1 as proposed", "it also changes 1 of 7 recent calls:",
				"  ASK -> ASK OR ALLOW: fs__write under p (1 call)",
			}},
	} {
		t.Run(row.title, func(t *testing.T) {
			row.p.Profile, row.p.Time = "p", time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
			e, err := row.p.effect(t.Context(), "f", []byte(profiletest.In(row.body)), func(text []byte) (*config.Config,
				error) {
				return config.Parse("f", text)
			}, record)
			must(t, err)
			if got := e.Lines("30 days", true); !slices.Equal(got, row.want) || e.Gone != 1 {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(row.want, "\n"))
			}
		})
	}
	p := Proposal{Profile: "p", Tool: "fs__write"}
	load := func(text []byte) (*config.Config, error) { return config.Parse("f", text) }
	if e, err := p.effect(t.Context(), "f", []byte(profiletest.In(`"denylist": ["fs__*"]`)), load, record); err == nil {
		t.Errorf("a proposal without effect: %+v", e)
	}
	e, err := p.effect(t.Context(), "f", []byte(profiletest.In(`"asklist": ["fs__*"]`)), load, nil)
	must(t, err)
	if got := e.Lines("30 days", true); len(got) != 1 ||
		got[0] != "the record of the last 30 days has no calls to compare with" {
		t.Errorf("got %q", got)
	}
	secret := &Effect{Calls: 1, Others: []Shift{{Tool: "a__b", Was: []call.Verdict{call.Ask},
		Is: []call.Verdict{call.Allow}, Count: 1, Args: json.RawMessage(`{"x":"y"}`)}}}
	if got := strings.Join(secret.Lines("30 days", false), "\n"); strings.Contains(got, `"y"`) ||
		!strings.Contains(got, "ASK -> ALLOW: a__b (1 call)") || secret.Others[0].Args == nil {
		t.Errorf("without arguments: %s", got)
	}
	refused := Shift{Tool: "a__b", Was: []call.Verdict{call.Ask}, Is: []call.Verdict{call.Allow}, Count: 3, Refused: 1,
		Args: json.RawMessage(`{"x":"` + strings.Repeat("y", 200) + `"}`)}
	if got := refused.text(); !strings.HasPrefix(got, `ASK -> ALLOW: a__b {"x":"yyy`) ||
		!strings.HasSuffix(got, "... (3 calls, this one and others, 1 refused by a person)") {
		t.Errorf("got %s", got)
	}
}
