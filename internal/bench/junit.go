package bench

import (
	"encoding/xml"
	"io"
	"strings"

	"github.com/codemode-project/codemode/internal/visible"
)

// The form of JUnit's reports that CI systems read.
type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Time     float64     `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
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
	var suites junitSuites
	at := map[string]int{}
	for _, c := range r.Cases {
		i, ok := at[c.Class]
		if !ok {
			i = len(suites.Suites)
			at[c.Class] = i
			suites.Suites = append(suites.Suites, junitSuite{Name: xmlText(c.Class)})
		}
		suites.Suites[i].add(c.File, c.Class, c.MS/1000, c.OK, c.got(), c.Detail)
	}
	process := junitSuite{Name: "process"}
	leaks := r.Summary.leaks()
	process.add("nothing is left over", "process", 0, len(leaks) == 0, "left over: "+strings.Join(leaks, ", "), "")
	suites.Suites = append(suites.Suites, process)
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

// xmlText makes text visible, of which XML cannot hold some, escaped or not.
func xmlText(s string) string { return visible.Line(s) }
