package engine

import (
	"cmp"
	"io"
	"net/url"
	"strings"

	"github.com/codemode-project/codemode/internal/bench/sarif"
)

// writeSARIF has a run for each engine. The rules are the classes of the suite, and a result is in the program.
func (s *Scoreboard) writeSARIF(w io.Writer, baseline *Scoreboard) error {
	var runs []sarif.Run
	for _, r := range s.Engines {
		run := sarif.Run{Tool: "codemode bench isolation", Subject: r.Name}
		isNew := s.isNew(baseline, r)
		for _, f := range r.Findings() {
			place := "attacks/" + url.PathEscape(f.Case)
			if s.Place != nil {
				parts := strings.Split(s.Place(f.Case), "/")
				for i := range parts {
					parts[i] = url.PathEscape(parts[i])
				}
				place = strings.Join(parts, "/")
			}
			found := sarif.Finding{
				Rule: f.Class, About: f.Class + ": " + f.Kind, Severity: cmp.Or(f.Severity, "medium"),
				Message: f.Finding + " in " + f.Case + ": " + f.Detail, URI: place,
				Help: "codemode bench isolation --show CASE prints the program of a case, what it does to an engine that fails " +
					"it, and which outcomes are accepted", HelpPage: "docs/isolation-ci.md",
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
