package bench

import (
	"encoding/xml"
	"io"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/visible"
)

// JUnit's report format as CI systems read it. Times are in seconds. The time of a suite is the sum of its cases. The
// time of all is the wall time, which is less where cases ran in parallel. A timestamp is when the first case began, in
// UTC.
type junitSuites struct {
	XMLName   xml.Name     `xml:"testsuites"`
	Tests     int          `xml:"tests,attr"`
	Failures  int          `xml:"failures,attr"`
	Time      float64      `xml:"time,attr"`
	Timestamp string       `xml:"timestamp,attr"`
	Suites    []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Time      float64     `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`

	started time.Time
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    float64       `xml:"time,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func (r *IsolationReport) writeJUnit(w io.Writer) error {
	suites := junitSuites{Time: round(r.Summary.TotalMS / 1000), Timestamp: timestamp(r.Started)}
	at := map[string]int{}
	for _, c := range r.Cases {
		i, ok := at[c.Class]
		if !ok {
			i = len(suites.Suites)
			at[c.Class] = i
			suites.Suites = append(suites.Suites, junitSuite{Name: xmlText(c.Class), started: c.Started})
		}
		suite := &suites.Suites[i]
		suite.add(c.File, c.Class, c.TookMS/1000, c.OK, c.got(), c.Detail)
		if c.Started.Before(suite.started) {
			suite.started = c.Started
		}
	}
	process := junitSuite{Name: "process", started: r.Started}
	leaks := r.Summary.Leaks()
	process.add("nothing is left over", "process", 0, len(leaks) == 0, "left over: "+strings.Join(leaks, ", "), "")
	suites.Suites = append(suites.Suites, process)
	for i := range suites.Suites {
		s := &suites.Suites[i]
		s.Timestamp = timestamp(s.started)
		suites.Tests += s.Tests
		suites.Failures += s.Failures
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suites); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func (s *junitSuite) add(name, class string, seconds float64, ok bool, message, text string) {
	c := junitCase{Name: xmlText(name), Class: xmlText(class), Time: round(seconds)}
	s.Tests++
	s.Time = round(s.Time + seconds)
	if !ok {
		s.Failures++
		c.Failure = &junitFailure{xmlText(message), xmlText(text)}
	}
	s.Cases = append(s.Cases, c)
}

// xmlText makes text visible, because XML cannot represent some characters, even escaped.
func xmlText(s string) string { return visible.Line(s) }
