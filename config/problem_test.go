package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/profiles/match"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/visible"
)

func TestProblemsRead(t *testing.T) {
	_, err := Parse("codemode.json",
		[]byte("{\n\t\"evaluation\": {\"profiles\": {\"safe\": {\"denylst\": [\"fs__*\"], \"unmatched\": \"dny\"}}}\n}"))
	const want = `codemode.json:2:39: unknown key "denylst" in a profile
     "evaluation": {"profiles": {"safe": {"denylst": ["fs__*"], "unmatched": "dny"}}}
                                          ^^^^^^^^^
    did you mean "denylist"?
codemode.json:2:74: "unmatched" must be "deny", "ask" or "allow"
     "evaluation": {"profiles": {"safe": {"denylst": ["fs__*"], "unmatched": "dny"}}}
                                                                             ^^^^^
    did you mean "deny"?`
	if err == nil || strings.ReplaceAll(err.Error(), "\t", " ") != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestProblemsAreSafeToPrint(t *testing.T) {
	for _, content := range []string{
		"{\"\x7f\u202e\u200b\U000e0041\": 1, \"a\": \"\u009b31m\"}",
		"{\"evaluation\": {\"profiles\": {\"\u202e\": {}}}}",
		"{\"a\\u001b[2J\": 1}",
		"{\"mcpServers\": {\"\\u001b]0;x\\u0007__\": 1}}",
	} {
		_, err := Parse("x", []byte(content))
		if err == nil {
			t.Fatalf("%q is accepted", content)
		}
		for _, r := range err.Error() {
			if r != '\n' && (r < ' ' || r == 0x7f || r >= 0x80 && !strings.ContainsRune("é", r)) {
				t.Errorf("%q: the message contains %U", content, r)
			}
		}
	}
}

func TestLongLinesAreCut(t *testing.T) {
	for _, at := range []int{0, 10, 500, 990} {
		p := settings.Problem{Position: settings.Position{File: "x", Line: 1, Column: at + 1}, Length: 3, Message: "m",
			Source: strings.Repeat("a", at) + "XYZ" + strings.Repeat("b", 997-at)}
		lines := strings.Split(p.String(), "\n")
		if len(lines) != 3 || len(lines[1]) > settings.ExcerptWidth+20 {
			t.Fatalf("got %q", lines)
		}
		if i := strings.Index(lines[1], "XYZ"); i < 0 || strings.Index(lines[2], "^^^") != i ||
			strings.Count(lines[2], "^") != 3 {
			t.Errorf("at %d the caret points elsewhere:\n%s\n%s", at, lines[1], lines[2])
		}
	}
	end := settings.Problem{Position: settings.Position{File: "x", Line: 1, Column: 4}, Length: 1, Message: "m",
		Source: "abc"}
	if got := end.String(); !strings.HasSuffix(got, "\n    abc\n       ^") {
		t.Errorf("got %q", got)
	}
}

func TestManyProblemsAreCut(t *testing.T) {
	_, err := Parse("x", []byte("{"+strings.Repeat("\"k\":1,\n", 5000)+"}"))
	ps := err.(settings.Problems)
	if len(ps) != settings.MaxProblems {
		t.Errorf("got %d problems, want %d", len(ps), settings.MaxProblems)
	}
	if text := err.Error(); !strings.HasSuffix(text, "... and 950 more problems") ||
		strings.Count(text, "unknown key") > settings.ProblemsShown {
		t.Errorf("got %.200s ... %s", text, text[len(text)-60:])
	}
}

func TestPositions(t *testing.T) {
	for p, want := range map[settings.Position]string{{File: "a.json", Line: 3, Column: 7}: "a.json:3:7",
		{File: "a.json"}: "a.json"} {
		if got := p.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	known := []string{"allowlist", "denylist", "asklist", "unmatched", "eq", "in"}
	for word, want := range map[string]string{
		"denylst": "denylist", "denlyist": "denylist", "DENYLIST": "denylist", "denylists": "denylist", "asklst": "asklist",
		"unmatchd": "unmatched", "qe": "eq", "x": "", "": "", "something": "", "lst": "", strings.Repeat("denylist", 20): "",
	} {
		if got := visible.Nearest(word, known); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

func TestProblemsComeInTheOrderOfTheFile(t *testing.T) {
	_, err := Parse("f", []byte("{\"evaluation\": {\"defaultProfile\": \"x\",\n\"profiles\": {\"p\": {\"extends\": [\"y\"],\n\"denylst\": 1}}}}"))
	var ps settings.Problems
	if !errors.As(err, &ps) || len(ps) != 3 || ps[0].Line != 1 || ps[1].Line != 2 || ps[2].Line != 3 {
		t.Errorf("got %v", err)
	}
}

func TestEdgesOfNamesAndTexts(t *testing.T) {
	for content, ok := range map[string]bool{
		`{"mcpServers": {"` + strings.Repeat("x", 64) + `": {"command": "x"}}}`:               true,
		`{"mcpServers": {"` + strings.Repeat("x", 65) + `": {"command": "x"}}}`:               false,
		`{"evaluation": {"defaultProfile": "azAZ09_", "profiles": {"azAZ09_": {}}}}`:          true,
		`{"evaluation": {"profiles": {"` + strings.Repeat("x", 32) + `": {}}}}`:               true,
		`{"evaluation": {"profiles": {"` + strings.Repeat("x", 33) + `": {}}}}`:               false,
		`{"evaluation": {"profiles": {"a@": {}}}}`:                                            false,
		`{"evaluation": {"profiles": {"a[": {}}}}`:                                            false,
		"{\"evaluation\": {\"profiles\": {\"a`\": {}}}}":                                      false,
		`{"evaluation": {"profiles": {"a{": {}}}}`:                                            false,
		`{"evaluation": {"profiles": {"a/": {}}}}`:                                            false,
		`{"evaluation": {"profiles": {"a:": {}}}}`:                                            false,
		`{"evaluation": {"profiles": {"p": {"allowlist": [], "unmatched": "deny"}}}} // fine`: true,
	} {
		if _, err := Parse("f", []byte(content)); (err == nil) != ok {
			t.Errorf("%s: got %v", content, err)
		}
	}
	for name, hint := range map[string]string{"safe-x": `for example "safe_x"`, "-": "at most 32 characters",
		strings.Repeat("x", 31) + "-": `for example "x`, strings.Repeat("x", 32) + "-y": "at most 32 characters"} {
		p := refused(t, `{"evaluation": {"profiles": {"`+name+`": {}}}}`)
		if !contains(p.Hint, hint) || contains(p.Hint, "for example") != contains(hint, "for example") {
			t.Errorf("%s: got the hint %s", name, p.Hint)
		}
	}
	if p := refused(t, "\x00{}"); !contains(p.Hint, "binary") {
		t.Errorf("got %s", p)
	}
	if p := refused(t, `{} /* x`); p.Length != 2 {
		t.Errorf("a comment that never ends: got the length %d", p.Length)
	}
	if got := match.Shortened(strings.Repeat("x", match.MaxText)); len(got) != match.MaxText {
		t.Errorf("got %d characters", len(got))
	}
	if got := match.Shortened(strings.Repeat("x", match.MaxText+1)); len(got) != match.MaxText+3 ||
		!strings.HasSuffix(got, "...") {
		t.Errorf("got %q", got)
	}
}
