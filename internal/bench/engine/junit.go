package engine

import (
	"io"
	"strings"

	"github.com/codemode-project/codemode/internal/bench/junit"
)

// writeJUnit has a suite for each engine and class. A case fails if it has a finding that the baseline does not have.
// One that proves nothing was skipped. An engine that could not be tested to the end has a case that fails.
func (s *Scoreboard) writeJUnit(w io.Writer, baseline *Scoreboard) error {
	report := junit.Report{}
	for _, r := range s.Engines {
		isNew := s.isNew(baseline, r)
		report.Seconds += r.TotalMS / 1000
		if report.Started.IsZero() || r.Started.Before(report.Started) {
			report.Started = r.Started
		}
		if r.Failed != "" {
			report.Suite(r.Name, r.Started).Add("the engine can be tested", 0, false, "it could not be tested",
				r.Failed)
		}
		for i := range r.Cases {
			c := &r.Cases[i]
			suite := report.Suite(r.Name+" "+c.Class, r.Started)
			if len(c.Skipped) > 0 {
				suite.Skip(c.Case, "the engine does not claim "+strings.Join(c.Skipped, ", "))
				continue
			}
			if c.Unproven && len(c.Findings) == 0 {
				suite.Skip(c.Case, "it proves nothing: "+c.Detail)
				continue
			}
			var names, details []string
			for _, f := range c.Findings {
				if isNew == nil || isNew(f) {
					names = append(names, f.Finding)
					details = append(details, f.Severity+", "+f.Kind+": "+f.Detail)
				}
			}
			suite.Add(c.Case, c.MS/1000, len(names) == 0, strings.Join(names, ", "), strings.Join(details, "; "))
		}
	}
	return report.Write(w)
}
