package engine

import (
	"encoding/xml"
	"io"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/visible"
)

// JUnit's report format as CI systems read it: a suite for each engine and class. Times are in seconds.
type junitSuites struct {
	XMLName  xml.Name      `xml:"testsuites"`
	Tests    int           `xml:"tests,attr"`
	Failures int           `xml:"failures,attr"`
	Skipped  int           `xml:"skipped,attr"`
	Suites   []*junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      float64     `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    float64       `xml:"time,attr"`
	Failure *junitMessage `xml:"failure,omitempty"`
	Skipped *junitMessage `xml:"skipped,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnit counts a case as failed if it has a finding that the baseline does not have.
func (s *Scoreboard) writeJUnit(w io.Writer, baseline *Scoreboard) error {
	all := junitSuites{}
	for _, r := range s.Engines {
		isNew := s.isNew(baseline, r)
		at := map[string]*junitSuite{}
		for i := range r.Cases {
			c := &r.Cases[i]
			suite := at[c.Class]
			if suite == nil {
				suite = &junitSuite{Name: visible.Line(r.Name + " " + c.Class), Timestamp: r.Started.Format(time.RFC3339)}
				at[c.Class] = suite
				all.Suites = append(all.Suites, suite)
			}
			suite.add(c, isNew)
		}
	}
	for _, suite := range all.Suites {
		all.Tests += suite.Tests
		all.Failures += suite.Failures
		all.Skipped += suite.Skipped
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(c *CaseResult, isNew func(Finding) bool) {
	out := junitCase{Name: visible.Line(c.Case), Class: visible.Line(c.Class), Time: c.MS / 1000}
	s.Tests++
	s.Time += out.Time
	var messages, details []string
	for _, f := range c.Findings {
		if isNew == nil || isNew(f) {
			messages = append(messages, visible.Line(f.Finding))
			details = append(details, visible.Line(f.Severity+", "+f.Kind+": "+f.Detail))
		}
	}
	switch {
	case len(messages) > 0:
		s.Failures++
		out.Failure = &junitMessage{strings.Join(messages, ", "), strings.Join(details, "\n")}
	case len(c.Skipped) > 0:
		s.Skipped++
		out.Skipped = &junitMessage{Message: "the engine does not claim " + strings.Join(c.Skipped, ", ")}
	}
	s.Cases = append(s.Cases, out)
}
