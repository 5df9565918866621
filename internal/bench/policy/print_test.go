package policy_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/bench/policy"
	"github.com/codemode-project/codemode/internal/bench/sarif/sariftest"
)

// hostileText is what a server may name a tool, and a person a file.
const hostileText = "\u202ea \"b\" <c> 50% | [e](f) `g` \x1b[31m ü 𝒳\nh\\&;"

// reportAbout has one finding, at a rule of a file.
func reportAbout(file string) *policy.Report {
	return &policy.Report{Started: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC), Seconds: 0.5, Tools: 3, Programs: 7,
		Profiles: []string{"work", "strict"},
		Findings: []policy.Finding{{Family: policy.Traversal, Severity: policy.High, Profiles: []string{"work"},
			Rule: `"files__*"`, List: "allowlist", File: file, Line: 4, Column: 9, Argument: "/path",
			Message: "the rule does not see through the path", Mend: "write under", Tool: "files__read",
			Arguments: json.RawMessage(`{"path":"a/../b"}`), Program: "return 1\n"}}}
}

func written(t *testing.T, r *policy.Report, format string) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Whatever servers and files are called, each format stays one, and shows no character that a person cannot see.
func TestReportsAreWellFormed(t *testing.T) {
	hostile := reportAbout(hostileText)
	f := &hostile.Findings[0]
	f.Rule, f.Argument, f.Message, f.Mend, f.Tool = hostileText, hostileText, hostileText, hostileText, hostileText
	f.Profiles, hostile.Profiles = []string{hostileText}, []string{hostileText}
	f.Also, f.Program, f.Arguments = []string{hostileText}, hostileText, json.RawMessage(`"`+"\u202e"+`[a](b)|"`)
	hostile.Missing, hostile.Unclear = []policy.Missing{{Server: hostileText, Why: hostileText}}, []string{hostileText}
	for name, report := range map[string]*policy.Report{
		"a finding":   reportAbout("codemode.json"),
		"no findings": {Profiles: []string{"work"}, Findings: []policy.Finding{}},
		"no profiles": {Profiles: []string{}, Findings: []policy.Finding{}},
		"hostile":     hostile,
	} {
		for _, format := range policy.Formats {
			text := written(t, report, format)
			if strings.ContainsAny(text, "\u202e\x1b") {
				t.Errorf("%s, %s: it has characters that nobody sees: %q", name, format, text)
			}
			var err error
			switch format {
			case "json":
				var back policy.Report
				if err = json.Unmarshal([]byte(text), &back); err == nil && len(back.Findings) != len(report.Findings) {
					t.Errorf("%s: %d findings came back, want %d", name, len(back.Findings), len(report.Findings))
				}
			case "sarif":
				_, err = sariftest.Read([]byte(text))
			case "junit":
				err = xml.Unmarshal([]byte(text), new(struct{ XMLName xml.Name }))
			case "markdown":
				for line := range strings.Lines(text) {
					bare := strings.NewReplacer(`\\`, "", `\|`, "", `\[`, "").Replace(line)
					if strings.ContainsAny(bare, "<`[") || strings.HasPrefix(bare, "|") && strings.Count(bare, "|") != 7 {
						t.Errorf("%s: text is more than text in %q", name, line)
					}
				}
			}
			if err != nil {
				t.Errorf("%s, %s: %v in\n%s", name, format, err, text)
			}
		}
	}
}

// A result of SARIF is at the rule, in a file whose name may have any characters.
func TestFindingsAsSARIF(t *testing.T) {
	for _, test := range []struct{ file, uri string }{
		{"codemode.json", "codemode.json"},
		{"my rules/codemode.json", "my%20rules/codemode.json"},
		{"50%.json", "50%25.json"},
		{"ü.json", "%C3%BC.json"},
		{"a\u202eb.json", "a%E2%80%AEb.json"},
		{`say "a".json`, "say%20%22a%22.json"},
		{"a:b.json", "./a:b.json"},
		{"a?b#c.json", "a%3Fb%23c.json"},
		{"../codemode.json", "../codemode.json"},
	} {
		log, err := sariftest.Read([]byte(written(t, reportAbout(test.file), "sarif")))
		if err != nil {
			t.Errorf("%s: %v", test.file, err)
			continue
		}
		r := log.Runs[0].Results[0]
		at := r.Locations[0].PhysicalLocation
		if got := *at.ArtifactLocation.URI; got != test.uri || *at.Region.StartLine != 4 || *at.Region.StartColumn != 9 {
			t.Errorf("%s: it is at %s:%d:%d, want %s:4:9", test.file, got, *at.Region.StartLine, *at.Region.StartColumn,
				test.uri)
		}
		if r.Level != "error" || *r.RuleID != "path traversal" || !strings.Contains(*r.Message.Text, "write under") {
			t.Errorf("%s: it is %s, %s: %s", test.file, r.Level, *r.RuleID, *r.Message.Text)
		}
	}
}

// JUnit has a suite for each profile, with a case for each family.
func TestFamiliesAsJUnit(t *testing.T) {
	var all struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Suites   []struct {
			Name     string `xml:"name,attr"`
			Failures int    `xml:"failures,attr"`
			Cases    []struct {
				Name    string  `xml:"name,attr"`
				Failure *string `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(written(t, reportAbout("codemode.json"), "junit")), &all); err != nil {
		t.Fatal(err)
	}
	if all.Tests != 2*len(policy.Families) || all.Failures != 1 || len(all.Suites) != 2 {
		t.Fatalf("got %d cases, %d failures in %d suites", all.Tests, all.Failures, len(all.Suites))
	}
	for i, want := range []int{1, 0} {
		if s := all.Suites[i]; s.Failures != want {
			t.Errorf("profile %s: got %d failures, want %d", s.Name, s.Failures, want)
		}
	}
	for _, c := range all.Suites[0].Cases {
		if failed := c.Name == "path traversal"; failed != (c.Failure != nil) {
			t.Errorf("%s failed: %t, want %t", c.Name, c.Failure != nil, failed)
		} else if failed && !strings.Contains(*c.Failure, "codemode.json:4: the rule does not see through the path: files") {
			t.Errorf("it says %q", *c.Failure)
		}
	}
}
