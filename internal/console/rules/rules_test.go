package rules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/config/changes"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/tools/catalog"
)

const text = `{
  "evaluation": {
    "floor": "house",
    "profiles": {
      "house": { "denylist": ["*__drop_*"], "unmatched": "allow" },
      "base": { "asklist": [{ "id": "mail", "tool": "mail__*", "unlessAllowed": true }] },
      "work": {
        "extends": ["base"],
        // what is read
        "allowlist": [
          "fs__read",
          { "tool": "fs__write", "when": { "/path": { "under": ["/tmp"] } } },
          { "tool": "fs__write", "when": { "/path": { "under": ["/work"] } } },
          "fs__delete_all"
        ],
        "denylist": ["fs__delete_*"]
      }
    },
    "overlays": [
      { "id": "contractor", "principal": "eve", "until": "2035-01-01T00:00:00Z", "denylist": ["mail__*"] },
      { "id": "last-year", "principal": "eve", "until": "2020-01-01T00:00:00Z", "unmatched": "deny" }
    ]
  }
}
`

// A shelf is a book of one file.
type shelf struct {
	*Book
	t     *testing.T
	path  string
	calls []changes.PastCall
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{t: t, path: filepath.Join(t.TempDir(), "codemode.json")}
	accepted, err := catalog.OpenPins(t.TempDir())
	must(t, err)
	s.Book = &Book{
		Rules: inforce.NewRules(slog.New(slog.DiscardHandler), accepted),
		Files: func() (config.Files, error) { return config.Files{User: s.path}, nil },
		Tools: func() (all []*call.Tool) {
			for _, name := range []string{"fs__read", "fs__write", "fs__delete_all", "mail__send", "db__drop_table"} {
				server, raw, _ := strings.Cut(name, "__")
				all = append(all, &call.Tool{Server: server, Raw: raw, Name: name,
					Annotations: map[string]any{"readOnlyHint": raw == "read"}})
			}
			return all
		},
		Past: func(context.Context) (changes.Past, error) {
			return changes.Past{Calls: s.calls, Days: 30, Cut: len(s.calls) > 6}, nil
		},
	}
	s.write(text)
	s.reload()
	return s
}

var must = checktest.OK

func (s *shelf) write(text string) {
	s.t.Helper()
	must(s.t, os.WriteFile(s.path, []byte(text), 0o600))
}

func (s *shelf) reload() {
	s.t.Helper()
	cfg, err := config.Load(s.path)
	must(s.t, err)
	s.Rules.Replace(&inforce.State{Config: cfg})
}

// past adds a call to the record, as changes.ReadRecord reads it.
func (s *shelf) past(profile, tool, args string, verdict call.Verdict, rule, at, layer string, change ...func(*changes.PastCall)) {
	server, _, _ := strings.Cut(tool, "__")
	c := changes.PastCall{Run: fmt.Sprintf("r_%d", len(s.calls)), Call: 1, Time: time.Now().Add(-time.Hour), Server: server,
		Tool: tool, Args: json.RawMessage(args), Profile: profile, Verdict: verdict, Rule: rule, At: at, Layer: layer}
	for _, f := range change {
		f(&c)
	}
	s.calls = append(s.calls, c)
}

// row writes a row of a table for comparison.
func row(r *Row) string {
	return fmt.Sprintf("%s %s of %s, line %d: %d tools, %d/%d/%d%s", r.List, r.Label, r.Profile, r.Line, len(r.Tools),
		r.Use.Calls, r.Use.Asked, r.Use.Refused, strings.Repeat("!", len(r.Doubts)))
}

// A profile is a table of its rules in the order in which they decide, with what the record says of each: the rule is
// known by its label, and by its place where two have one label.
func TestAProfileIsATableOfItsRules(t *testing.T) {
	s := newShelf(t)
	s.past("work", "fs__read", `{}`, call.Allow, "fs__read", "codemode.json:11", "")
	s.past("work", "fs__read", `{}`, call.Allow, "fs__read", "codemode.json:99", "") // it stood elsewhere then
	s.past("work", "fs__write", `{"path":"/work/a"}`, call.Allow, "fs__write", "codemode.json:13", "")
	s.past("work", "fs__write", `{"path":"/work/a"}`, call.Allow, "fs__write", "codemode.json:99", "") // which of two?
	s.past("work", "mail__send", `{}`, call.Ask, "mail", "codemode.json:6", "", func(c *changes.PastCall) { c.Refused = true })
	s.past("work", "mail__send", `{}`, call.Ask, "mail", "codemode.json:6", "")
	s.past("work", "db__drop_table", `{}`, call.Deny, "*__drop_*", "codemode.json:5", "floor")
	s.past("work", "git__log", `{}`, call.Deny, "", "codemode.json:7", "")
	s.past("work", "mail__send", `{}`, call.Deny, "mail__*", "codemode.json:21", "overlay contractor")
	s.past("base", "mail__send", `{}`, call.Ask, "mail", "codemode.json:6", "")
	table := s.Profile(t.Context(), "work")
	var got []string
	for _, x := range table.Sections {
		got = append(got, "section "+x.Layer+" "+x.Profile+" else "+x.Unmatched)
		for i := range x.Rows {
			got = append(got, row(&x.Rows[i]))
		}
	}
	want := []string{
		"section   else deny",
		"denylist fs__delete_* of work, line 16: 1 tools, 0/0/0",
		"asklist mail of base, line 6: 1 tools, 2/2/1",
		"allowlist fs__read of work, line 11: 1 tools, 2/0/0",
		"allowlist fs__write of work, line 12: 1 tools, 0/0/0",
		"allowlist fs__write of work, line 13: 1 tools, 1/0/0",
		"allowlist fs__delete_all of work, line 14: 1 tools, 0/0/0!", // which the denylist shadows
		"section floor house else allow",
		"denylist *__drop_* of house, line 5: 1 tools, 1/0/1",
	}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("got\n%s\nwant\n%s", a, b)
	}
	if table.Gone != 1 || table.NoRule != (Use{Calls: 1, Refused: 1}) || !table.Bound.Cut || table.Bound.Calls != 10 ||
		table.Bound.Since == "" {
		t.Errorf("gone %d, no rule %+v, %+v", table.Gone, table.NoRule, table.Bound)
	}
	if r := table.Sections[0].Rows[3]; r.At != "12:11" || r.File != s.path || !r.Never() {
		t.Errorf("%+v", r)
	}
	if s.Profile(t.Context(), "nobody") != nil || s.Profile(t.Context(), BaseName) == nil {
		t.Error("a profile that is not there, or the base tool's that is")
	}
	all := s.Profiles()
	if len(all) != 4 || all[0].Name != BaseName || !all[0].Default || all[3].Name != "work" || all[3].Rules != 6 {
		t.Errorf("%+v", all)
	}
	s.Past = func(context.Context) (changes.Past, error) {
		return changes.Past{}, errors.New("the secret of the disk")
	}
	if table = s.Profile(t.Context(), "work"); table.Bound.Unread == "" || strings.Contains(table.Bound.Unread, "secret") {
		t.Errorf("without a record: %+v", table.Bound)
	}
}

// Requests that all want recent calls get them one after the other, and none waits for long.
func TestRecentCallsAreReadForOneRequestAtATime(t *testing.T) {
	s := newShelf(t)
	synctest.Test(t, func(t *testing.T) {
		var readers atomic.Int32
		s.Past = func(ctx context.Context) (changes.Past, error) {
			defer readers.Add(-1)
			if readers.Add(1) > 1 {
				t.Error("two requests read the record at once")
			}
			<-ctx.Done()
			return changes.Past{Calls: make([]changes.PastCall, 3)}, nil // the disk is slow, and answers late
		}
		begin := time.Now()
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				p, err := s.Preview(t.Context(), s.path, text, strings.Replace(text, "fs__delete_*", "fs__d*", 1))
				if err != nil || len(p.Diff) == 0 || !strings.Contains(p.Bound.Unread, "longer than 20s") {
					t.Errorf("%+v, %v", p, err)
				}
			})
		}
		all.Wait()
		if took := time.Since(begin); took > countWait {
			t.Errorf("it took %s", took)
		}
	})
}

func TestOverlaysAreTablesToo(t *testing.T) {
	s := newShelf(t)
	s.past("work", "mail__send", `{}`, call.Deny, "mail__*", "codemode.json:21", "overlay contractor")
	all := s.Overlays(t.Context())
	if len(all) != 2 || all[0].Name != "contractor" || all[0].Over || !all[1].Over || all[0].Overlay.Principal != "eve" {
		t.Fatalf("%+v", all)
	}
	if got := row(&all[0].Sections[0].Rows[0]); got != "denylist mail__* of contractor, line 20: 1 tools, 1/0/1" {
		t.Errorf("got %s", got)
	}
}

// The page decides a call as the Gate does, whatever the call is and whoever makes it.
func TestTheAnswerIsTheGates(t *testing.T) {
	s := newShelf(t)
	for _, test := range []struct {
		q       Question
		verdict call.Verdict
		rule    string
		known   bool
	}{
		{Question{Profile: "work", Tool: "fs__read"}, call.Allow, "fs__read", true},
		{Question{Profile: "work", Tool: "fs__write", Args: json.RawMessage(`{"path":"/work/x"}`)}, call.Allow, "fs__write", true},
		{Question{Profile: "work", Tool: "fs__write", Args: json.RawMessage(`{"path":"/etc/x"}`)}, call.Deny, "", true},
		{Question{Profile: "work", Tool: "fs__write", Args: json.RawMessage(`{"path":`)}, call.Deny, "", true},
		{Question{Profile: "work", Tool: "mail__send"}, call.Ask, "mail", true},
		{Question{Profile: "work", Tool: "mail__send", Principal: "eve"}, call.Deny, "mail__*", true},
		{Question{Profile: "work", Tool: "db__drop_table"}, call.Deny, "", true},
		{Question{Profile: BaseName, Tool: "fs__read"}, call.Allow, "", true},
		{Question{Profile: "work", Tool: "fs__raed"}, call.Deny, "", false},
		{Question{Profile: "work", Tool: "fs__reаd"}, call.Deny, "", false}, // a Cyrillic а
	} {
		a, err := s.Explain(test.q)
		must(t, err)
		if a.Decision.Verdict != test.verdict || a.Known != test.known || test.rule != "" && a.Decision.Lead().Rule != test.rule {
			t.Errorf("%+v: %s by %q, known %t", test.q, a.Decision.Verdict, a.Decision.Lead().Rule, a.Known)
		}
		name := strings.TrimPrefix(test.q.Profile, BaseName)
		policy, err := s.Rules.Bind(name, config.Subject{Principal: test.q.Principal})
		must(t, err)
		for _, tool := range s.Tools() {
			if tool.Name != test.q.Tool {
				continue
			}
			gate := policy.Decide(tool, call.Unread(test.q.Args), hostfns.Counters{})
			if gate.Verdict != a.Decision.Verdict || gate.Lead().Pos != a.Decision.Lead().Pos {
				t.Errorf("%+v: the Gate says %s by %q", test.q, gate.Verdict, gate.Lead().Rule)
			}
		}
		if _, err := json.Marshal(a); err != nil {
			t.Errorf("%+v: %v", test.q, err)
		}
	}
	if a, err := s.Explain(Question{Profile: "work", Tool: "fs__raed"}); err != nil || a.Near != "fs__read" {
		t.Errorf("a near miss: %+v, %v", a, err)
	}
	if _, err := s.Explain(Question{Profile: "nobody", Tool: "fs__read"}); err == nil {
		t.Error("a profile that is not there decides")
	}
}

// A preview says which recent calls a text would decide otherwise, and what it does not know.
func TestAPreviewComparesRecentCalls(t *testing.T) {
	s := newShelf(t)
	for range 3 {
		s.past("work", "fs__read", `{}`, call.Allow, "fs__read", "", "")
	}
	s.past("work", "mail__send", `{}`, call.Ask, "mail", "", "", func(c *changes.PastCall) { c.Refused, c.Asked = true, true })
	s.past("gone", "fs__read", `{}`, call.Allow, "fs__read", "", "")
	s.past("work", "fs__read", `{}`, call.Allow, "fs__read", "", "", func(c *changes.PastCall) { c.Who.Principal = "mallory" })
	after := strings.NewReplacer(`"fs__read",`, `"mail__*",`).Replace(text)
	p, err := s.Preview(t.Context(), s.path, text, after)
	must(t, err)
	if p.Compared != 5 || p.Changed != 5 || p.Gone != 1 || len(p.Shifts) != 2 || len(p.Settings) != 0 {
		t.Fatalf("%+v", p)
	}
	if x := p.Shifts[0]; x.Tool != "fs__read" || x.Was != "allow" || x.Is != "deny" || x.Calls != 4 || x.Looser ||
		strings.Join(x.Runs, " ") != "r_1 r_2 r_5" {
		t.Errorf("%+v", x)
	}
	if x := p.Shifts[1]; x.Was != "ask" || x.Is != "allow" || !x.Looser || x.Refused != 1 {
		t.Errorf("%+v", x)
	}
	if len(p.Diff) != 6 || p.Diff[2] != (Line{"-", `          "fs__read",`, 11, 0}) {
		t.Errorf("%+v", p.Diff)
	}
	// An overlay for a principal concerns the calls of that principal.
	p, err = s.Preview(t.Context(), s.path, text, strings.Replace(text, `"overlays": [`,
		`"overlays": [{"id": "m", "principal": "mallory", "denylist": ["fs__*"]},`, 1))
	must(t, err)
	if p.Changed != 1 || len(p.Shifts) != 1 || p.Shifts[0].Is != "deny" {
		t.Errorf("an overlay: %+v", p)
	}
	p, err = s.Preview(t.Context(), s.path, text, `{"evaluation": {"defaultProfile": "new", "profiles": {"new": {}}}}`)
	must(t, err)
	if got := strings.Join(p.Settings, "\n"); !strings.Contains(got, "profile work is gone") ||
		!strings.Contains(got, "profile new is new") || !strings.Contains(got, `defaultProfile: "" -> "new"`) || p.Gone != 6 {
		t.Errorf("%s, %d gone", got, p.Gone)
	}
	if _, err := s.Preview(t.Context(), s.path, text, `{"evaluation": {"floor": "none"}}`); err == nil {
		t.Error("a text that is not good has a preview")
	}
}
