package engine

import (
	"encoding/json"
	"io"
	"net/url"
	"slices"

	"github.com/codemode-project/codemode/internal/visible"
)

// The parts of SARIF 2.1.0 (OASIS) that a report needs. A run is an engine, a rule a class of the suite, a result a
// finding; the location of a result is the program.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool       sarifTool     `json:"tool"`
	Automation sarifID       `json:"automationDetails"`
	Results    []sarifResult `json:"results"`
}

type sarifID struct {
	ID string `json:"id"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string            `json:"id"`
	ShortDescription sarifText         `json:"shortDescription"`
	Properties       map[string]string `json:"properties"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID       string            `json:"ruleId"`
	Level        string            `json:"level"`
	Message      sarifText         `json:"message"`
	Locations    []sarifLocation   `json:"locations"`
	Fingerprints map[string]string `json:"partialFingerprints"`
	Baseline     string            `json:"baselineState,omitempty"`
}

type sarifLocation struct {
	Physical sarifPhysical `json:"physicalLocation"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   sarifRegion   `json:"region"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

// sarifLevels are SARIF's levels for our severities, and securitySeverities the scores that code scanning of GitHub
// reads from "security-severity".
var (
	sarifLevels        = map[string]string{"critical": "error", "high": "error", "medium": "warning", "low": "note"}
	securitySeverities = map[string]string{"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "2.5"}
)

func (s *Scoreboard) writeSARIF(w io.Writer, baseline *Scoreboard) error {
	log := sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0"}
	for _, r := range s.Engines {
		log.Runs = append(log.Runs, r.sarif(s.isNew(baseline, r)))
	}
	raw, err := json.MarshalIndent(log, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(raw, '\n'))
	return err
}

// caseURI is where a case is, relative to the folder of the suite. A question of the harness has no file.
func caseURI(f Finding) string { return "attacks/" + url.PathEscape(f.Case) }

func (r *Report) sarif(isNew func(Finding) bool) sarifRun {
	run := sarifRun{
		Tool: sarifTool{sarifDriver{
			Name: "codemode bench isolation", InformationURI: "https://github.com/codemode-project/codemode",
			Rules: []sarifRule{},
		}},
		Automation: sarifID{visible.Line(r.Name)}, Results: []sarifResult{},
	}
	for _, f := range r.Findings() {
		if !slices.ContainsFunc(run.Tool.Driver.Rules, func(rule sarifRule) bool { return rule.ID == f.Class }) {
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
				ID: f.Class, ShortDescription: sarifText{f.Class + ": " + f.Kind},
				Properties: map[string]string{"kind": f.Kind, "security-severity": securitySeverities[f.Severity]},
			})
		}
		result := sarifResult{
			RuleID: f.Class, Level: sarifLevels[f.Severity],
			Message:      sarifText{visible.Line(f.Finding + " in " + f.Case + ": " + f.Detail)},
			Locations:    []sarifLocation{{sarifPhysical{sarifArtifact{caseURI(f)}, sarifRegion{1}}}},
			Fingerprints: map[string]string{"caseAndFinding/v1": visible.Line(r.Name + "/" + f.Case + "/" + f.Finding)},
		}
		if result.Level == "" {
			result.Level = "warning"
		}
		if isNew != nil {
			result.Baseline = "unchanged"
			if isNew(f) {
				result.Baseline = "new"
			}
		}
		run.Results = append(run.Results, result)
	}
	return run
}
