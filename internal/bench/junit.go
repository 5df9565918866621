package bench

import (
	"io"
	"strings"

	"github.com/codemode-project/codemode/internal/bench/junit"
)

// writeJUnit has a suite for each class, and one for what the process holds afterwards.
func (r *IsolationReport) writeJUnit(w io.Writer) error {
	report := junit.Report{Seconds: r.Summary.TotalMS / 1000, Started: r.Started}
	for _, c := range r.Cases {
		suite := report.Suite(c.Class, c.Started)
		suite.Add(c.File, c.TookMS/1000, c.OK, c.got(), c.Detail)
		if c.Started.Before(suite.Started) {
			suite.Started = c.Started
		}
	}
	leaks := r.Summary.Leaks()
	report.Suite("process", r.Started).Add("nothing is left over", 0, len(leaks) == 0,
		"left over: "+strings.Join(leaks, ", "), "")
	return report.Write(w)
}
