// Package sariftest reads logs of package sarif as strictly as code scanning does. Only tests use it.
package sariftest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
)

// Read parses a log. The error says what is wrong with it: it has a property that SARIF does not have, the schema of
// SARIF 2.1.0 refuses it, a result has a rule that its run does not describe, or two runs are one analysis.
func Read(text []byte) (*sarif.Report, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(new(sarif.Report)); err != nil {
		return nil, err
	}
	report, err := sarif.FromBytes(text)
	if err != nil {
		return nil, err
	}
	// The library validates what it has read. There a property that is left out has no value, instead of the default of
	// the schema, and these may not be empty.
	for _, run := range report.Runs {
		run.Language = cmp.Or(run.Language, "en-US")
		run.Tool.Driver.Language = cmp.Or(run.Tool.Driver.Language, "en-US")
		if len(run.NewlineSequences) == 0 {
			run.NewlineSequences = []string{"\r\n", "\n"}
		}
	}
	if err := report.Validate(); err != nil {
		return nil, err
	}
	analyses := map[string]bool{}
	for _, run := range report.Runs {
		rules := map[string]bool{}
		for _, rule := range run.Tool.Driver.Rules {
			if rules[*rule.ID] {
				return nil, fmt.Errorf("the rule %q is there twice", *rule.ID)
			}
			rules[*rule.ID] = true
		}
		for _, result := range run.Results {
			if result.RuleID == nil || !rules[*result.RuleID] {
				return nil, fmt.Errorf("the result %q has no rule", *result.Message.Text)
			}
		}
		if run.AutomationDetails == nil || run.AutomationDetails.ID == nil {
			return nil, fmt.Errorf("a run of %q does not say which analysis it is", *run.Tool.Driver.Name)
		}
		// Code scanning replaces the alerts of a tool and a category, which ends at the last slash.
		id := *run.AutomationDetails.ID
		analysis := *run.Tool.Driver.Name + ": " + id[:strings.LastIndex(id, "/")+1]
		if analyses[analysis] {
			return nil, fmt.Errorf("two runs are the analysis %q", analysis)
		}
		analyses[analysis] = true
	}
	return report, nil
}
