package engine

import (
	"cmp"
	"io"
	"net/url"

	"github.com/codemode-project/codemode/internal/bench/sarif"
)

// writeSARIF has a run for each engine. The rules are the classes of the suite, and a result is in the program.
func (s *Scoreboard) writeSARIF(w io.Writer, baseline *Scoreboard) error {
	var runs []sarif.Run
	for _, r := range s.Engines {
		run := sarif.Run{Tool: "codemode bench isolation", Subject: r.Name}
		isNew := s.isNew(baseline, r)
		for _, f := range r.Findings() {
			found := sarif.Finding{
				Rule: f.Class, About: f.Class + ": " + f.Kind, Severity: cmp.Or(f.Severity, "medium"),
				Message: f.Finding + " in " + f.Case + ": " + f.Detail, URI: "attacks/" + url.PathEscape(f.Case),
				Fingerprint: r.Name + "/" + f.Case + "/" + f.Finding,
			}
			if isNew != nil {
				found.Baseline = "unchanged"
				if isNew(f) {
					found.Baseline = "new"
				}
			}
			run.Findings = append(run.Findings, found)
		}
		runs = append(runs, run)
	}
	return sarif.Write(w, runs...)
}
