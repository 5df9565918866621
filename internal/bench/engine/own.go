package engine

import (
	"fmt"
	"strings"

	"github.com/codemode-project/codemode/internal/bench"
	"github.com/codemode-project/codemode/internal/isolation"
)

// Own is the report of this build on a board, so that it has the formats of other engines.
func Own(report *bench.IsolationReport, suite *bench.Suite, version string) *Scoreboard {
	r := &Report{
		Name: "codemode", Engine: isolation.Hello{
			Protocol: isolation.Version, Name: "codemode", Version: version, Language: "javascript",
			Claims: isolation.Claims,
		},
		Started: report.Started, Starts: 1, Measured: report.Summary.Files != nil,
	}
	for i, c := range report.Cases {
		of := suite.Cases[i]
		out := CaseResult{Case: c.File, Class: c.Class, Kind: of.Kind, Severity: of.Severity,
			Expected: string(c.Expected), Got: string(c.Got), MS: c.MS}
		if !c.OK {
			out.Findings = []Finding{found{kind: Wrong, detail: shorten(fmt.Sprintf("it ended with %s, expected %s: %s", c.Got,
				c.Expected, c.Detail))}.of(&out)}
		}
		r.add(out)
	}
	left := CaseResult{Case: "nothing is left behind", Class: questionClass, Kind: "leak between runs", Severity: "medium"}
	if leaks := report.Summary.Leaks(); len(leaks) > 0 {
		left.Findings = []Finding{found{kind: Leak, detail: strings.Join(leaks, ", ")}.of(&left)}
	}
	r.add(left)
	r.finish()
	r.TotalMS = report.Summary.TotalMS
	return &Scoreboard{Engines: []*Report{r}}
}
