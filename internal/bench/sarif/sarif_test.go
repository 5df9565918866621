package sarif_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/bench/sarif"
	"github.com/codemode-project/codemode/internal/bench/sarif/sariftest"
	"github.com/codemode-project/codemode/internal/checktest"
)

// The text of a finding, or a URI, may be anything that an engine says.
func TestEveryLogIsValid(t *testing.T) {
	finding := sarif.Finding{Rule: "loops", About: "loops: denial of service", Severity: "high", Message: "it hangs",
		URI: "attacks/loop.js", Line: 3, Column: 7, Fingerprint: "loop.js/hang"}
	change := func(change func(*sarif.Finding)) sarif.Run {
		changed := finding
		change(&changed)
		return sarif.Run{Tool: "bench", Subject: "goja", Findings: []sarif.Finding{changed}}
	}
	const awkward = "\u202ea \"b\" <c> 50% {0} [d](e) \x00 \xff ü 𝒳\nf\\"
	for _, test := range []struct {
		name string
		runs []sarif.Run
	}{
		{"no run", nil},
		{"no finding", []sarif.Run{{Tool: "bench", Subject: "goja"}}},
		{"one finding", []sarif.Run{change(func(*sarif.Finding) {})}},
		{"no line", []sarif.Run{change(func(f *sarif.Finding) { f.Line, f.Column = 0, 0 })}},
		{"new", []sarif.Run{change(func(f *sarif.Finding) { f.Baseline = "new" })}},
		{"unchanged", []sarif.Run{change(func(f *sarif.Finding) { f.Baseline = "unchanged" })}},
		{"critical", []sarif.Run{change(func(f *sarif.Finding) { f.Severity = "critical" })}},
		{"medium", []sarif.Run{change(func(f *sarif.Finding) { f.Severity = "medium" })}},
		{"low", []sarif.Run{change(func(f *sarif.Finding) { f.Severity = "low" })}},
		{"awkward texts", []sarif.Run{{Tool: "bench", Subject: awkward, Findings: []sarif.Finding{{Rule: awkward,
			About: awkward, Severity: "low", Message: awkward, URI: "a", Fingerprint: awkward}}}}},
		{"two findings of a rule", []sarif.Run{{Tool: "bench", Findings: []sarif.Finding{finding, finding}}}},
		{"two subjects", []sarif.Run{{Tool: "bench", Subject: "goja"}, {Tool: "bench", Subject: "@a/b"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			checktest.OK(t, sarif.Write(&b, test.runs...))
			report, err := sariftest.Read(b.Bytes())
			if err != nil {
				t.Fatalf("%v in\n%s", err, &b)
			}
			if len(report.Runs) != len(test.runs) {
				t.Errorf("it has %d runs, want %d", len(report.Runs), len(test.runs))
			}
			for i, run := range report.Runs {
				if len(run.Results) != len(test.runs[i].Findings) {
					t.Errorf("run %d has %d results, want %d", i, len(run.Results), len(test.runs[i].Findings))
				}
			}
			if strings.ContainsAny(b.String(), "\u202e\x00") {
				t.Errorf("a person would not see everything of\n%q", &b)
			}
		})
	}
}

// What is not SARIF is refused, so that the test above can fail.
func TestALogThatIsNotValid(t *testing.T) {
	var b bytes.Buffer
	run := sarif.Run{Tool: "bench", Subject: "goja", Findings: []sarif.Finding{{Rule: "loops", About: "loops",
		Severity: "high", Message: "it hangs", URI: "a.js", Line: 3, Baseline: "new"}}}
	checktest.OK(t, sarif.Write(&b, run))
	for _, test := range []struct{ old, new, want string }{
		{`"level": "error"`, `"level": "high"`, "runs.0.results.0.level"},
		{`"startLine": 3`, `"startLine": 0`, "startLine"},
		{`"uri": "a.js"`, `"uri": "%"`, "uri"},
		{`"baselineState": "new"`, `"baselineState": "known"`, "baselineState"},
		{`"name": "bench"`, `"title": "bench"`, "title"},
		{`"ruleId": "loops"`, `"ruleId": "memory"`, "has no rule"},
		{`"version": "2.1.0"`, `"version": "2.2.0"`, "version"},
	} {
		text := strings.Replace(b.String(), test.old, test.new, 1)
		if text == b.String() {
			t.Errorf("there is no %s in\n%s", test.old, text)
		}
		if _, err := sariftest.Read([]byte(text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.new, err, test.want)
		}
	}
	b.Reset()
	checktest.OK(t, sarif.Write(&b, run, run))
	if _, err := sariftest.Read(b.Bytes()); err == nil || !strings.Contains(err.Error(), "two runs are the analysis") {
		t.Errorf("the same subject twice: got %v", err)
	}
}

// Code scanning sorts by the severity of a rule, which is a number from 0 to 10.
func TestSeverities(t *testing.T) {
	var got []string
	for _, severity := range []string{"critical", "high", "medium", "low"} {
		var b bytes.Buffer
		checktest.OK(t, sarif.Write(&b, sarif.Run{Tool: "bench", Findings: []sarif.Finding{{Rule: "r", About: "r",
			Severity: severity, Message: "m", URI: "a"}}}))
		report, err := sariftest.Read(b.Bytes())
		checktest.OK(t, err)
		run := report.Runs[0]
		got = append(got, fmt.Sprint(severity, " ", run.Results[0].Level, " ",
			run.Tool.Driver.Rules[0].Properties.Properties["security-severity"]))
	}
	want := []string{"critical error 9.5", "high error 8.0", "medium warning 5.5", "low note 2.5"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
