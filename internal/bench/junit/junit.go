// Package junit writes reports in JUnit's format, as CI systems read it.
package junit

import (
	"encoding/xml"
	"io"
	"math"
	"time"

	"github.com/codemode-project/codemode/internal/visible"
)

// A Report has the suites of a run. Its time is the wall time, which is less than the sum where cases ran in parallel.
type Report struct {
	Seconds float64
	Started time.Time
	suites  []*Suite
}

// A Suite has cases that belong together. Its time is their sum.
type Suite struct {
	Name    string
	Started time.Time // when the first case began
	cases   []testCase
	seconds float64
	failed  int
	skipped int
}

type testCase struct {
	Name    string  `xml:"name,attr"`
	Class   string  `xml:"classname,attr"`
	Time    float64 `xml:"time,attr"`
	Failure *said   `xml:"failure,omitempty"`
	Skipped *said   `xml:"skipped,omitempty"`
}

type said struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// Suite returns the suite of a name. A new one comes after the others.
func (r *Report) Suite(name string, started time.Time) *Suite {
	for _, s := range r.suites {
		if s.Name == name {
			return s
		}
	}
	s := &Suite{Name: name, Started: started}
	r.suites = append(r.suites, s)
	return s
}

// Add adds a case. message and text are those of a failure.
func (s *Suite) Add(name string, seconds float64, ok bool, message, text string) {
	c := testCase{Name: safe(name), Class: safe(s.Name), Time: round(seconds)}
	s.seconds = round(s.seconds + seconds)
	if !ok {
		s.failed++
		c.Failure = &said{safe(message), safe(text)}
	}
	s.cases = append(s.cases, c)
}

// Skip adds a case that did not run.
func (s *Suite) Skip(name, why string) {
	s.skipped++
	s.cases = append(s.cases, testCase{Name: safe(name), Class: safe(s.Name), Skipped: &said{Message: safe(why)}})
}

// Write writes the report as XML. Times are in seconds, a timestamp is in UTC.
func (r *Report) Write(w io.Writer) error {
	type suite struct {
		Name      string     `xml:"name,attr"`
		Tests     int        `xml:"tests,attr"`
		Failures  int        `xml:"failures,attr"`
		Skipped   int        `xml:"skipped,attr,omitempty"`
		Time      float64    `xml:"time,attr"`
		Timestamp string     `xml:"timestamp,attr"`
		Cases     []testCase `xml:"testcase"`
	}
	all := struct {
		XMLName   xml.Name `xml:"testsuites"`
		Tests     int      `xml:"tests,attr"`
		Failures  int      `xml:"failures,attr"`
		Skipped   int      `xml:"skipped,attr,omitempty"`
		Time      float64  `xml:"time,attr"`
		Timestamp string   `xml:"timestamp,attr"`
		Suites    []suite  `xml:"testsuite"`
	}{Time: round(r.Seconds), Timestamp: timestamp(r.Started)}
	for _, s := range r.suites {
		all.Tests += len(s.cases)
		all.Failures += s.failed
		all.Skipped += s.skipped
		all.Suites = append(all.Suites, suite{safe(s.Name), len(s.cases), s.failed, s.skipped, s.seconds,
			timestamp(s.Started), s.cases})
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

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// round keeps milliseconds.
func round(seconds float64) float64 { return math.Round(seconds*1000) / 1000 }

// safe makes text visible, because XML cannot represent some characters, even escaped.
func safe(s string) string { return visible.Line(s) }
