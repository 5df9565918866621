// Package sarif writes findings in SARIF 2.1.0 (OASIS), as code scanning reads it.
package sarif

import (
	"io"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/bench/printed"
	"github.com/codemode-project/codemode/internal/visible"
)

// A Run has the findings about one subject, such as an engine.
type Run struct {
	Tool     string // the command that found them
	Subject  string
	Findings []Finding
}

// A Finding is one result of a run.
type Finding struct {
	Rule     string // what it violates; one word or a few
	About    string // a sentence about the rule
	Help     string // what to do about findings of the rule; "" is not written
	HelpPage string // a page about them, relative to the repository of codemode; "" is not written
	Severity string // critical, high, medium or low
	Message  string
	URI      string // of the file, relative to the folder of the project
	Line     int    // from 1; 0 is unknown
	Column   int    // from 1; 0 is unknown
	// Fingerprint is the same for the same finding of another day.
	Fingerprint string
	// Baseline is "new" or "unchanged", or "" without a baseline.
	Baseline string
}

// run is a run of a log, with its members in their order there.
type run struct {
	Tool struct {
		Driver struct {
			Name           string `json:"name"`
			InformationURI string `json:"informationUri"`
			Rules          []rule `json:"rules"`
		} `json:"driver"`
	} `json:"tool"`
	Automation struct {
		ID string `json:"id"`
	} `json:"automationDetails"`
	Results []result `json:"results"`
}

type rule struct {
	ID         string            `json:"id"`
	About      text              `json:"shortDescription"`
	Help       *text             `json:"help,omitempty"`
	HelpURI    string            `json:"helpUri,omitempty"`
	Properties map[string]string `json:"properties"`
}

type text struct {
	Text string `json:"text"`
}

type result struct {
	Rule         string                `json:"ruleId"`
	Level        string                `json:"level"`
	Message      text                  `json:"message"`
	Locations    []map[string]location `json:"locations"`
	Fingerprints map[string]string     `json:"partialFingerprints"`
	Baseline     string                `json:"baselineState,omitempty"`
}

type location struct {
	Artifact map[string]string `json:"artifactLocation"`
	Region   struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn,omitempty"`
	} `json:"region"`
}

// scores are what code scanning of GitHub reads from "security-severity", and levels those of SARIF.
var (
	scores = map[string]string{"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "2.5"}
	levels = map[string]string{"critical": "error", "high": "error", "medium": "warning", "low": "note"}
)

// Write writes a log with the runs.
func Write(w io.Writer, runs ...Run) error {
	log := struct {
		Schema  string `json:"$schema"`
		Version string `json:"version"`
		Runs    []run  `json:"runs"`
	}{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []run{}}
	for i := range runs {
		log.Runs = append(log.Runs, runs[i].log())
	}
	return printed.JSON(w, log)
}

// noLink keeps a text of a program from being a link within a message (SARIF 2.1.0, section 3.11.6).
var noLink = strings.NewReplacer("](", "] (")

// project is the page of codemode.
const project = "https://github.com/codemode-project/codemode"

func (r *Run) log() run {
	out := run{Results: []result{}}
	driver := &out.Tool.Driver
	driver.Name, driver.InformationURI, driver.Rules = r.Tool, project, []rule{}
	// Code scanning takes what is before the last slash as the category, and accepts one run of each.
	out.Automation.ID = r.Tool + "/" + visible.Line(r.Subject) + "/"
	for i := range r.Findings {
		f := &r.Findings[i]
		name := visible.Line(f.Rule)
		if !slices.ContainsFunc(driver.Rules, func(r rule) bool { return r.ID == name }) {
			driver.Rules = append(driver.Rules, f.rule(name))
		}
		at := location{Artifact: map[string]string{"uri": f.URI}}
		at.Region.Line, at.Region.Column = max(f.Line, 1), f.Column
		out.Results = append(out.Results, result{
			Rule: name, Level: levels[f.Severity], Message: text{noLink.Replace(visible.Line(f.Message))},
			Locations:    []map[string]location{{"physicalLocation": at}},
			Fingerprints: map[string]string{"finding/v1": visible.Line(f.Fingerprint)}, Baseline: f.Baseline,
		})
	}
	return out
}

func (f *Finding) rule(name string) rule {
	found := rule{ID: name, About: text{visible.Line(f.About)},
		Properties: map[string]string{"security-severity": scores[f.Severity]}}
	if f.Help != "" {
		found.Help = &text{visible.Line(f.Help)}
	}
	if f.HelpPage != "" {
		found.HelpURI = project + "/blob/main/" + f.HelpPage
	}
	return found
}
