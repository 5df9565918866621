package changes

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/profiletest"
)

var proposed = Proposal{
	Profile: "work", Tool: "git__push", Args: json.RawMessage(`{"remote":"origin","force":false,"note":null}`),
	By: "anna", Why: "approved 40 times", Time: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC),
}

// TestE9AProposalDecidesNothingUntilItIsAccepted is POLICY.md E9.
func TestE9AProposalDecidesNothingUntilItIsAccepted(t *testing.T) {
	before := `{
  "evaluation": {
    "profiles": {
      "work": {
        "allowlist": ["git__log"]
      }
    }
  }
}
`
	after, err := Propose("codemode.json", []byte(before), proposed)
	must(t, err)
	want := `        "allowlist": [
          // Proposed 2026-11-21 by anna: approved 40 times.
          // To accept it, take the // of the next line away; to refuse it, remove the lines.
          // {"tool":"git__push","when":{"/force":{"eq":false},"/note":{"any":[{"exists":false},{"type":"null"}]},"/remote":{"eq":"origin"}},"others":"none"},
          "git__log"]
`
	if !contains(string(after), want) {
		t.Errorf("got\n%s\nwant in it\n%s", after, want)
	}
	profiletest.Want(t, parse(t, string(after)).Profile("work"), `deny git__push {"remote":"origin","force":false}`,
		`allow git__log`)
	accepted := strings.Replace(string(after), `// {"tool"`, `{"tool"`, 1)
	profiletest.Want(t, parse(t, accepted).Profile("work"), `allow git__push {"remote":"origin","force":false}`,
		`allow git__push {"remote":"origin","force":false,"note":null}`,
		`deny git__push {"remote":"origin","force":true}`, `deny git__push {"remote":"origin"}`,
		`deny git__push {"remote":"origin","force":false,"x":1}`, `allow git__log`)
}

func TestProposalsOfOtherKinds(t *testing.T) {
	for _, row := range []struct {
		title, file string
		p           Proposal
		want        string // in the file
		accepted    []string
	}{
		{"the first rule of a list", profiletest.In(``), Proposal{Profile: "p", Tool: "a__b"},
			"// With an allowlist, what no rule names is denied, unless \"unmatched\" says otherwise.\n  // \"allowlist\": [{\"tool\":\"a__b\"}],", []string{`allow a__b`, `deny a__c`}},
		{"a deny rule", profiletest.In(`"denylist": []`), Proposal{Profile: "p", List: "denylist", Tool: "a__b", ID: "x"},
			`// {"id":"x","tool":"a__b"},`, []string{`deny a__b`, `allow a__c`}},
		{"an ask rule with arguments", profiletest.In(`"asklist": ["x__y"]`), Proposal{Profile: "p", List: "asklist", Tool: "a__b",
			Args: json.RawMessage(`{"a/b":1}`)}, `"/a~1b":{"eq":1}`, []string{`ask a__b {"a/b":1}`, `allow a__b {"a/b":2}`}},
		{"no arguments", profiletest.In(`"allowlist": []`), Proposal{Profile: "p", Tool: "a__b", Args: json.RawMessage(`{}`)},
			`"others":"none"`, []string{`allow a__b`, `deny a__b {"x":1}`}},
		{"arguments that hide something", profiletest.In(`"allowlist": []`),
			Proposal{Profile: "p", Tool: "a__b", Args: json.RawMessage("{\"x\":\"\u202egnp\u200b\U000E0041\"}")},
			`"eq":"\u202egnp\u200b\udb40\udc41"`, []string{"allow a__b {\"x\":\"\u202egnp\u200b\U000E0041\"}",
				`deny a__b {"x":"gnp"}`}},
		{"a hostile reason", profiletest.In(`"allowlist": []`), Proposal{Profile: "p", Tool: "a__b", By: "x\n\"*\",",
			Why: "y\u2028\"*\","}, `by x "*",: y "*",.`, []string{`allow a__b`, `deny a__c`}},
		{"a file with a mark at its start", "\ufeff" + profiletest.In(`"allowlist": []`), Proposal{Profile: "p", Tool: "a__b"},
			`// {"tool":"a__b"},`, []string{`allow a__b`}},
	} {
		after, err := Propose("f", []byte(row.file), row.p)
		if err != nil {
			t.Errorf("%s: %v", row.title, err)
			continue
		}
		if !contains(string(after), row.want) {
			t.Errorf("%s: got\n%s\nwant in it\n%s", row.title, after, row.want)
		}
		var accepted []string
		for line := range strings.Lines(string(after)) {
			if body, ok := strings.CutPrefix(strings.TrimSpace(line), "// "); ok && (body[0] == '{' || body[0] == '"') {
				line = body + "\n"
			}
			accepted = append(accepted, line)
		}
		t.Run(row.title, func(t *testing.T) {
			profiletest.Want(t, parse(t, strings.Join(accepted, "")).Profile("p"), row.accepted...)
		})
	}
	for _, row := range []struct {
		title, file string
		p           Proposal
	}{
		{"no such profile", profiletest.In(``), Proposal{Profile: "q", Tool: "a__b"}},
		{"a broken file", `{`, Proposal{Profile: "p", Tool: "a__b"}},
		{"a broken pattern", profiletest.In(``), Proposal{Profile: "p", Tool: "a__["}},
		{"an id that is taken", profiletest.In(`"denylist": [{"id": "x", "tool": "y"}]`),
			Proposal{Profile: "p", Tool: "a__b", ID: "x"}},
		{"arguments that are none", profiletest.In(``), Proposal{Profile: "p", Tool: "a__b", Args: json.RawMessage(`[1]`)}},
		{"a list that is none", profiletest.In(``), Proposal{Profile: "p", Tool: "a__b", List: "greylist"}},
	} {
		if after, err := Propose("f", []byte(row.file), row.p); err == nil {
			t.Errorf("%s: got\n%s", row.title, after)
		}
	}
}

func TestProposeInFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "codemode.json")
	write(t, path, profiletest.In(`"allowlist": ["a__c"]`))
	link := filepath.Join(dir, "link.json")
	must(t, os.Symlink(path, link))
	must(t, ProposeInFiles(config.Files{User: link}, Proposal{Profile: "p", Tool: "a__b"}))
	data, err := os.ReadFile(path)
	must(t, err)
	if !contains(string(data), `// {"tool":"a__b"},`) {
		t.Errorf("got\n%s", data)
	}
	if target, err := os.Readlink(link); err != nil || target != path {
		t.Errorf("the link is not one any more: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
	if err := ProposeInFiles(config.Files{User: path}, Proposal{Profile: "q", Tool: "a__b"}); err == nil {
		t.Error("a proposal for no profile is written")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("something is left behind: %v, %v", entries, err)
	}
}

// TestAProposalHasAnEffect: what is proposed lets the call through once it is accepted, and nothing else that was not
// let through. What cannot have that effect is not written.
func TestAProposalHasAnEffect(t *testing.T) {
	args := json.RawMessage(`{"path":"a"}`)
	for _, row := range []struct {
		title, body string
		p           Proposal
		accepted    []string // verdicts; nil: it is refused
		refused     string   // a part of why
	}{
		{"beside a plain asklist", `"allowlist": ["git__*"],
  "asklist": [
    "fs__*",
    "x__y"
  ]`, Proposal{Tool: "fs__write", Args: args}, []string{`allow fs__write {"path":"a"}`, `ask fs__write {"path":"b"}`, `ask fs__write {"path":"a","x":1}`, `ask fs__read`, `ask x__y`, `allow git__log`}, ""},
		{"beside a rule with conditions",
			`"asklist": [{"id": "w", "tool": "fs__*", "when": {"/path": {"prefix": "a"}}, "risk": "high"}], "allowlist": []`,
			Proposal{Tool: "fs__write", Args: args}, []string{`allow fs__write {"path":"a"}`, `ask fs__write {"path":"ab"}`,
				`deny fs__write {"path":"b"}`}, ""},
		{"beside two rules", `"asklist": ["fs__*", {"tool": "*__write"}], "unmatched": "deny"`,
			Proposal{Tool: "fs__write", Args: args},
			[]string{`allow fs__write {"path":"a"}`, `ask fs__write {"path":"b"}`, `ask db__write`, `deny db__read`}, ""},
		{"beside a soft rule", `"asklist": [{"tool": "fs__*", "unlessAllowed": true}]`,
			Proposal{Tool: "fs__write", Args: args}, []string{`allow fs__write {"path":"a"}`, `ask fs__write {"path":"b"}`}, ""},
		{"any arguments", `"asklist": ["fs__*"]`, Proposal{Tool: "fs__write"},
			[]string{`allow fs__write {"path":"b"}`, `ask fs__read`}, ""},
		{"another rule that asks about other arguments",
			`"asklist": [{"tool": "fs__*", "when": {"/path": {"eq": "b"}}}], "allowlist": []`,
			Proposal{Tool: "fs__write", Args: args},
			[]string{`allow fs__write {"path":"a"}`, `ask fs__write {"path":"b"}`}, ""},
		{"beside an allow rule of everything", `"allowlist": ["*"], "asklist": ["fs__*"]`,
			Proposal{Tool: "fs__write", Args: args},
			[]string{`allow fs__write {"path":"a"}`, `ask fs__write {"path":"b"}`, `ask fs__write {"path":"a","x":1}`,
				`ask fs__read`, `allow db__read`}, ""},
		{"a second exception", `"allowlist": ["*", {"id": "one", "tool": "fs__list"}], "asklist": [{"tool": "fs__*", "unlessAllowed": ["one"]}]`, Proposal{Tool: "fs__write", Args: args},
			[]string{`allow fs__write {"path":"a"}`, `ask fs__write {"path":"b"}`, `allow fs__list`, `ask fs__read`}, ""},
		{"an exception with an id of its own", `"allowlist": ["*"], "asklist": ["fs__*"]`,
			Proposal{Tool: "fs__write", ID: "mine"}, []string{`allow fs__write {"path":"b"}`, `ask fs__read`}, ""},
		{"an exception whose id is taken", `"allowlist": ["*", {"id": "fs__write", "tool": "x__y"}], "asklist": ["fs__*"]`,
			Proposal{Tool: "fs__write"}, []string{`allow fs__write {"path":"b"}`, `ask fs__read`}, ""},
		{"what is denied", `"denylist": ["fs__*"]`, Proposal{Tool: "fs__write", Args: args}, nil,
			`the rule "fs__*" of the denylist`},
		{"what a rule cannot judge", `"denylist": [{"tool": "fs__*", "when": {"/file": {"eq": "x"}}}]`,
			Proposal{Tool: "fs__write", Args: args}, nil, "would have no effect"},
	} {
		t.Run(row.title, func(t *testing.T) {
			row.p.Profile, row.p.Time = "p", time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
			file := profiletest.In(row.body)
			after, err := Propose("f", []byte(file), row.p)
			if row.accepted == nil {
				if err == nil || !contains(err.Error(), row.refused) || !contains(err.Error(), "no effect") {
					t.Fatalf("got %v, want %q\n%s", err, row.refused, after)
				}
				return
			}
			must(t, err)
			// Nothing is different yet, and as the comments say it is afterwards.
			if was, is := parse(t, file).Profile("p").Digest(), parse(t, string(after)).Profile("p").Digest(); was != is {
				t.Errorf("the comments change the profile\n%s", after)
			}
			profiletest.Want(t, parse(t, accept(string(after))).Profile("p"), row.accepted...)
		})
	}
}

// accept does what the comments of a proposal say.
func accept(text string) string {
	var out []string
	remove := false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		body, comment := strings.CutPrefix(trimmed, "// ")
		switch {
		case comment && (body[0] == '{' || body[0] == '"'):
			out = append(out, body+"\n")
			continue
		case comment && contains(body, "remove the entry below"):
			remove = true
		case remove && !comment:
			remove = false
			rest := trimmed
			if rest[0] == '"' {
				rest = rest[strings.Index(rest[1:], `"`)+2:]
			} else {
				depth, i := 0, 0
				for ; i < len(rest); i++ {
					switch rest[i] {
					case '{':
						depth++
					case '}':
						depth--
					}
					if depth == 0 {
						break
					}
				}
				rest = rest[i+1:]
			}
			line = strings.TrimPrefix(strings.TrimSpace(rest), ",") + "\n"
		}
		out = append(out, line)
	}
	return strings.Join(out, "")
}

func TestProposalsThatCannotBe(t *testing.T) {
	file := []byte(profiletest.In(`"denylist": ["x__y"]`))
	for args, want := range map[string]string{`[1]`: "no JSON object", `{`: "no JSON object", `"x"`: "no JSON object"} {
		if _, err := Propose("f", file, Proposal{Profile: "p", Tool: "a__b", Args: json.RawMessage(args)}); err == nil ||
			!contains(err.Error(), want) {
			t.Errorf("%s: got %v", args, err)
		}
	}
	for _, row := range []struct {
		body, list string
		note       bool
	}{{``, "", true}, {`"unmatched": "allow"`, "", false}, {`"unmatched": "deny"`, "", false}, {``, "asklist", false},
		{`"allowlist": ["a__c"]`, "", false}} {
		after, err := Propose("f", []byte(profiletest.In(row.body)), Proposal{Profile: "p", Tool: "a__b", List: row.list})
		must(t, err)
		if got := contains(string(after), "what no rule names is denied"); got != row.note {
			t.Errorf("%s into %q: the note is there: %t", row.body, row.list, got)
		}
	}
}

func TestWhatTheRecordDoesNotSay(t *testing.T) {
	declined := past(t, `{"run":"r","call":1,"tool":"fs__w","verdict":"ask","kind":"call","decidedBy":{"how":"person"},"reason":"elicitation_declined"}`)
	if !declined[0].Refused {
		t.Error("a person who declined has not refused")
	}
	trusted := parse(t, profiletest.In(`"unmatched": "ask", "allowlist": [{"tool": "time__*", "annotations": {"readOnlyHint": true}}]`)).Profile("p")
	r := Replay(trusted, past(t,
		`{"run":"r","call":1,"tool":"time__now","server":"time","verdict":"allow","rule":"time__*","args":{"redacted":{}}}`)[0])
	if VerdictsText(r.Verdicts) != "ask or allow" || !contains(r.Depends[0].Text, "the tool's annotations") {
		t.Errorf("annotations of a trusted server are not in the record: %s, %v", VerdictsText(r.Verdicts), r.Depends)
	}
}
