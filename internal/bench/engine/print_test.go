package engine

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/bench/sarif/sariftest"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/isolation"
)

// A row says what became of a case.
func passed(name string) CaseResult {
	return CaseResult{Case: name, Class: "loops", Kind: "denial of service", Severity: "high", Got: "timeout", MS: 1500}
}

func skipped(name string, claims ...string) CaseResult {
	r := passed(name)
	r.Skipped = claims
	return r
}

func unproven(name string) CaseResult {
	r := passed(name)
	r.Unproven, r.Detail = true, "it ended with an error: no generators"
	return r
}

func failed(name string, finding, detail string) CaseResult {
	r := passed(name)
	r.Findings = []Finding{found{kind: finding, detail: detail}.of(&r)}
	return r
}

// board has one engine of a name, with these cases.
func board(name string, cases ...CaseResult) *Scoreboard {
	r := &Report{Name: name, Engine: isolation.Hello{Name: name, Version: "1.2"}, Measured: true, Starts: 1,
		Started: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)}
	for _, c := range cases {
		r.add(c)
	}
	r.finish()
	r.TotalMS = 90000
	return &Scoreboard{Engines: []*Report{r}}
}

func broken(name, why string) *Scoreboard {
	return &Scoreboard{Engines: []*Report{{Name: name, Failed: why, Started: time.Now()}}}
}

// written is a report as text.
func written(t *testing.T, s *Scoreboard, format string, baseline *Scoreboard) string {
	t.Helper()
	var b bytes.Buffer
	checktest.OK(t, s.Write(&b, format, baseline, false))
	return b.String()
}

const awkward = "\u202ea \"b\" <c> 'd' 50% | [e](f) `g` \x1b[31m \x00 ü 𝒳\nh\\&; *i* http://j www.k"

// awkwardShown is how a line shows it.
const awkwardShown = `\u{202e}a "b" <c> 'd' 50% | [e](f) ` + "`g`" + ` \u{1b}[31m \u{0} ü 𝒳\nh\&; *i* http://j www.k`

// noLink is how SARIF shows it, where brackets before parentheses are a link.
var noLink = strings.ReplaceAll(awkwardShown, "](", "] (")

// reports are what the tests of the formats print.
var reports = map[string]struct{ board, baseline *Scoreboard }{
	"nothing ran":     {board("goja"), nil},
	"all passed":      {board("goja", passed("a.js"), skipped("b.js", "memory", "clock"), unproven("c.js")), nil},
	"a finding":       {board("goja", passed("a.js"), failed("b.js", Hang, "no outcome came")), nil},
	"two of one case": {board("goja", twice(failed("b.js", Hang, "no outcome came"))), nil},
	"new and unchanged": {board("goja", failed("a.js", Hang, "1"), failed("b.js", Leak, "2")),
		board("goja", failed("a.js", Hang, "0"))},
	"all known": {board("goja", failed("a.js", Hang, "1")), board("goja", failed("a.js", Hang, "0"))},
	"gone": {board("goja", failed("a.js", Hang, "1"), passed("b.js"), skipped("c.js", "memory")),
		board("goja", twice(failed("a.js", Hang, "0")), failed("b.js", Leak, "0"), failed("c.js", Leak, "0"),
			failed("d.js", Leak, "0"))},
	"known of another":    {board("goja", failed("a.js", Hang, "1")), board("deno", failed("a.js", Hang, "0"))},
	"did not start":       {broken("goja", `"no-such" was not found`), nil},
	"ended half-way":      {halfWay(board("goja", failed("a.js", Hang, "1")), "no file is left"), nil},
	"awkward":             {board(awkward, failed(awkward, Leak, awkward), skipped(awkward, awkward)), board("x")},
	"bytes without words": {board("\xff\xfe", failed("\xff.js", Leak, "\xc0\x80")), nil},
	"two engines": {&Scoreboard{Engines: []*Report{board("@a/b", failed("a.js", Hang, "1")).Engines[0],
		board("@a/c", passed("a.js")).Engines[0]}}, nil},
}

func halfWay(s *Scoreboard, why string) *Scoreboard {
	s.Engines[0].Failed = why
	return s
}

func twice(r CaseResult) CaseResult {
	r.Findings = append(r.Findings, found{kind: Leak, detail: "a file was left"}.of(&r))
	return r
}

// Whatever an engine says, each format stays one, and shows no character that a person cannot see.
func TestReportsAreWellFormed(t *testing.T) {
	for name, test := range reports {
		for _, format := range Formats {
			text := written(t, test.board, format, test.baseline)
			if strings.ContainsAny(text, "\u202e\x1b\x00") {
				t.Errorf("%s, %s: it has characters that nobody sees: %q", name, format, text)
			}
			var err error
			switch format {
			case "json":
				var back Scoreboard
				if err = json.Unmarshal([]byte(text), &back); err == nil && len(back.Engines) != len(test.board.Engines) {
					t.Errorf("%s: %d engines came back, want %d", name, len(back.Engines), len(test.board.Engines))
				}
			case "sarif":
				_, err = sariftest.Read([]byte(text))
			case "junit", "badge":
				err = wellFormed(text)
			}
			if err != nil {
				t.Errorf("%s, %s: %v in\n%s", name, format, err, text)
			}
		}
	}
	if wellFormed("<a><b></a>") == nil || wellFormed("<a>\x00</a>") == nil || wellFormed("") == nil {
		t.Error("what is not XML is taken for it")
	}
}

// wellFormed returns an error unless a text is XML with a root.
func wellFormed(text string) error {
	d := xml.NewDecoder(strings.NewReader(text))
	elements := 0
	for {
		token, err := d.Token()
		if err == io.EOF && elements > 0 {
			return nil
		}
		if err != nil {
			return err
		}
		if _, ok := token.(xml.StartElement); ok {
			elements++
		}
	}
}

// A finding of SARIF says whether it is new, where the program is, and what names it from week to week.
func TestFindingsAsSARIF(t *testing.T) {
	for _, test := range []struct {
		report string
		want   []string // level, rule, message, baseline, file and fingerprint of each
	}{
		{"all passed", nil},
		{"did not start", nil},
		{"a finding", []string{"error|loops|hang in b.js: no outcome came||attacks/b.js|goja/b.js/hang"}},
		{"new and unchanged", []string{"error|loops|hang in a.js: 1|unchanged|attacks/a.js|goja/a.js/hang",
			"error|loops|leak in b.js: 2|new|attacks/b.js|goja/b.js/leak"}},
		{"awkward", []string{"error|loops|leak in " + noLink + ": " + noLink + "|new|attacks/" +
			`%E2%80%AEa%20%22b%22%20%3Cc%3E%20%27d%27%2050%25%20%7C%20%5Be%5D%28f%29%20%60g%60%20%1B%5B31m%20%00%20` +
			`%C3%BC%20%F0%9D%92%B3%0Ah%5C&%3B%20%2Ai%2A%20http:%2F%2Fj%20www.k|` +
			awkwardShown + "/" + awkwardShown + "/leak"}},
	} {
		t.Run(test.report, func(t *testing.T) {
			r := reports[test.report]
			log, err := sariftest.Read([]byte(written(t, r.board, "sarif", r.baseline)))
			checktest.OK(t, err)
			var got []string
			for _, run := range log.Runs {
				for _, x := range run.Results {
					state := ""
					if x.BaselineState != nil {
						state = *x.BaselineState
					}
					got = append(got, strings.Join([]string{x.Level, *x.RuleID, *x.Message.Text, state,
						*x.Locations[0].PhysicalLocation.ArtifactLocation.URI, x.PartialFingerprints["finding/v1"]}, "|"))
				}
			}
			if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// The findings are at a file of the reader's project, and each rule says where help is.
func TestFindingsAtAFileOfTheProject(t *testing.T) {
	board := *reports["a finding"].board
	board.Place = func(file string) string { return "my suite/" + file }
	text := written(t, &board, "sarif", nil)
	if _, err := sariftest.Read([]byte(text)); err != nil {
		t.Error(err)
	}
	for _, want := range []string{`"uri": "my%20suite/b.js"`, `"helpUri": "https://`, "docs/isolation-ci.md", "--show CASE"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
}

// A junitReport is what CI systems read.
type junitReport struct {
	junitCounts
	Suites []struct {
		junitCounts
		Name  string `xml:"name,attr"`
		Cases []struct {
			Name    string     `xml:"name,attr"`
			Time    float64    `xml:"time,attr"`
			Failure *junitText `xml:"failure"`
			Skipped *junitText `xml:"skipped"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

type junitCounts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Skipped  int `xml:"skipped,attr"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// CI systems read how many cases there are and which failed.
func TestCasesAsJUnit(t *testing.T) {
	for _, test := range []struct {
		report                   string
		tests, failures, skipped int
		want                     []string // what each case says
	}{
		{"nothing ran", 0, 0, 0, nil},
		{"all passed", 3, 0, 2, []string{"a.js", "b.js is skipped: the engine does not claim memory, clock",
			"c.js is skipped: it proves nothing: it ended with an error: no generators"}},
		{"a finding", 2, 1, 0, []string{"a.js", "b.js fails, hang: high, denial of service: no outcome came"}},
		{"two of one case", 1, 1, 0, []string{"b.js fails, hang, leak: high, denial of service: no outcome came; " +
			"high, denial of service: a file was left"}},
		{"new and unchanged", 2, 1, 0, []string{"a.js", "b.js fails, leak: high, denial of service: 2"}},
		{"all known", 1, 0, 0, []string{"a.js"}},
		{"gone", 3, 0, 1, []string{"a.js", "b.js", "c.js is skipped: the engine does not claim memory"}},
		{"known of another", 1, 1, 0, []string{"a.js fails, hang: high, denial of service: 1"}},
		{"did not start", 1, 1, 0, []string{
			`the engine can be tested fails, it could not be tested: "no-such" was not found`}},
		{"ended half-way", 2, 2, 0, []string{"the engine can be tested fails, it could not be tested: no file is left",
			"a.js fails, hang: high, denial of service: 1"}},
		{"two engines", 2, 1, 0, []string{"a.js fails, hang: high, denial of service: 1", "a.js"}},
	} {
		t.Run(test.report, func(t *testing.T) {
			r, all := reports[test.report], junitReport{}
			checktest.OK(t, xml.Unmarshal([]byte(written(t, r.board, "junit", r.baseline)), &all))
			if all.Tests != test.tests || all.Failures != test.failures || all.Skipped != test.skipped {
				t.Errorf("got %d tests, %d failures, %d skipped; want %d, %d, %d", all.Tests, all.Failures, all.Skipped,
					test.tests, test.failures, test.skipped)
			}
			var got []string
			for _, suite := range all.Suites {
				if !strings.HasSuffix(suite.Name, " loops") && suite.Cases[0].Name != "the engine can be tested" {
					t.Errorf("the suite %q does not name the engine and the class", suite.Name)
				}
				for _, c := range suite.Cases {
					switch {
					case c.Skipped != nil:
						c.Name += " is skipped: " + c.Skipped.Message
					case c.Failure != nil:
						c.Name += " fails, " + c.Failure.Message + ": " + c.Failure.Text
					case c.Time != 1.5:
						t.Errorf("%s took %v seconds, want 1.5", c.Name, c.Time)
					}
					got = append(got, c.Name)
				}
			}
			if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// The badge counts cases that passed, of those that ran. Its colour says what somebody has to do.
func TestBadge(t *testing.T) {
	const (
		green = "#2e7d32" // nothing
		brown = "#8d6e00" // not all cases passed, and all that is wrong is known
		red   = "#c62828" // new findings
		grey  = "#616161" // it could not be tested
	)
	for _, test := range []struct{ report, text, colour string }{
		{"a finding", "1 of 2", red},
		{"new and unchanged", "0 of 2", red},
		{"known of another", "0 of 1", red},
		{"all known", "0 of 1", brown},
		{"all passed", "1 of 2", brown}, // one ended with an error and proves nothing
		{"two engines", "1 of 2", red},
		{"did not start", "not tested", grey},
	} {
		r := reports[test.report]
		text := written(t, r.board, "badge", r.baseline)
		if !strings.Contains(text, "<title>isolation: "+test.text+"</title>") {
			t.Errorf("%s: it does not say %q:\n%s", test.report, test.text, text)
		}
		if fills := aFill.FindAllString(text, -1); len(fills) != 3 || fills[1] != `fill="`+test.colour+`"` {
			t.Errorf("%s: it has the colours %q, want %s for the figure", test.report, fills, test.colour)
		}
	}
	if text := written(t, board("goja", passed("a.js")), "badge", nil); !strings.Contains(text, green) {
		t.Errorf("one of one is not green:\n%s", text)
	}
}

var aFill = regexp.MustCompile(`fill="#[0-9a-f]+"`)

// A table has the findings, a column for each engine, and a sentence about each.
func TestTable(t *testing.T) {
	for _, test := range []struct{ report, want string }{
		{"a finding", `
goja  high  denial of service  hang  b.js  no outcome came

engine             goja
version            1.2
denial of service  1/2
unproven           0
skipped            0
findings           hang 1
minutes            1.5

The engine goja 1.2 passed 1 of 2 cases. Unproven: 0. Skipped: 0. Its starts: 1.
`},
		{"new and unchanged", `
known  goja  high  denial of service  hang  a.js  1
NEW    goja  high  denial of service  leak  b.js  2

engine             goja
version            1.2
denial of service  0/2
unproven           0
skipped            0
findings           hang 1, leak 1
minutes            1.5

The engine goja 1.2 passed 0 of 2 cases. Unproven: 0. Skipped: 0. Its starts: 1.
Findings: 2. Not in the baseline: 1. In the baseline only: 0.
`},
		{"gone", `
known  goja  high  denial of service  hang  a.js  1

engine             goja
version            1.2
denial of service  1/2
unproven           0
skipped            1
findings           hang 1
minutes            1.5

The engine goja 1.2 passed 1 of 2 cases. Unproven: 0. Skipped: 1. Its starts: 1.
Findings: 1. Not in the baseline: 0. In the baseline only: 2.
`},
		{"all passed", `
engine             goja
version            1.2
denial of service  1/1
unproven           1
skipped            1
findings           none
minutes            1.5

The engine goja 1.2 passed 1 of 2 cases. Unproven: 1. Skipped: 1. Its starts: 1.
`},
		{"known of another", `
NEW  goja  high  denial of service  hang  a.js  1

engine             goja
version            1.2
denial of service  0/1
unproven           0
skipped            0
findings           hang 1
minutes            1.5

The engine goja 1.2 passed 0 of 1 cases. Unproven: 0. Skipped: 0. Its starts: 1. The baseline has no engine of this name.
Findings: 1. Not in the baseline: 1. In the baseline only: 0.
`},
		{"did not start", `
engine    goja
version   
unproven  0
skipped   0
findings  none
minutes   0.0

The engine goja could not be tested: "no-such" was not found
`},
	} {
		r := reports[test.report]
		if got := "\n" + written(t, r.board, "table", r.baseline); got != test.want {
			t.Errorf("%s: got%s\nwant%s", test.report, got, test.want)
		}
	}
	var b bytes.Buffer
	for _, format := range []string{"table", "markdown"} {
		b.Reset()
		err := reports["all passed"].board.Write(&b, format, nil, true)
		if text := b.String(); err != nil || !strings.Contains(text, "skipped   b.js: it does not claim memory, clock\n") ||
			!strings.Contains(text, "unproven  c.js: it ended with an error: no generators\n") {
			t.Errorf("verbose %s: %v, it does not list the cases that were skipped or prove nothing:\n%s", format, err, text)
		}
	}
}

// Markdown is for the summary of a job, which everybody reads: a program cannot write a link, a picture or a column.
func TestMarkdown(t *testing.T) {
	for _, test := range []struct{ report, want string }{
		{"a finding", `
| engine | version | denial of service | unproven | skipped | findings | minutes |
|---|---|---|---|---|---|---|
| goja | 1.2 | 1/2 | 0 | 0 | hang 1 | 1.5 |

## goja 1.2

| severity | kind | finding | case | what was seen |
|---|---|---|---|---|
| high | denial of service | hang | b.js | no outcome came |

The engine goja 1.2 passed 1 of 2 cases. Unproven: 0. Skipped: 0. Its starts: 1.
`},
		{"all known", `
| engine | version | denial of service | unproven | skipped | findings | minutes |
|---|---|---|---|---|---|---|
| goja | 1.2 | 0/1 | 0 | 0 | hang 1 | 1.5 |

## goja 1.2

| baseline | severity | kind | finding | case | what was seen |
|---|---|---|---|---|---|
| known | high | denial of service | hang | a.js | 1 |

The engine goja 1.2 passed 0 of 1 cases. Unproven: 0. Skipped: 0. Its starts: 1.

Findings: 1. Not in the baseline: 0. In the baseline only: 0.
`},
	} {
		r := reports[test.report]
		if got := "\n" + written(t, r.board, "markdown", r.baseline); got != test.want {
			t.Errorf("%s: got%s\nwant%s", test.report, got, test.want)
		}
	}
	r := reports["awkward"]
	for line := range strings.Lines(written(t, r.board, "markdown", r.baseline)) {
		bare := strings.NewReplacer(`\\`, "", `\|`, "", `\[`, "", `\*`, "", `\://`, "", `www\.`, "").Replace(line)
		columns := strings.Count(bare, "|")
		links := strings.ContainsAny(bare, "<`[*") || strings.Contains(bare, "://") || strings.Contains(bare, "www.")
		if links || strings.HasPrefix(bare, "|") && columns != 7 && columns != 8 {
			t.Errorf("text of an engine is more than text in %q", line)
		}
	}
}
