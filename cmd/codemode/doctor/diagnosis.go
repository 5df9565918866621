package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/visible"
)

// A finding is the outcome of one check.
type finding struct {
	// configuration, permissions, record, server, profile, script, client, sign-in, oauth, sandbox, confine, cache,
	// approvals, notifications, name, doctor
	Check   string `json:"check"`
	Subject string `json:"subject"` // the checked thing
	Level   string `json:"level"`   // ok, warning or failure
	Text    string `json:"text"`
	Hint    string `json:"hint,omitempty"` // how to correct it

	lines []string // Text for a terminal
}

// newFinding formats a text. If the text is an error and nothing else, its lines are those of [errorLines].
func newFinding(check, subject, level, hint, format string, args ...any) finding {
	f := finding{Check: check, Subject: subject, Level: level, Text: fmt.Sprintf(format, args...), Hint: hint}
	f.lines = []string{visible.Line(strings.TrimSpace(f.Text))}
	if format == "%v" {
		if err, ok := args[0].(error); ok {
			f.lines = cli.ErrorLines(err)
		}
	}
	return f
}

const (
	levelOK      = "ok"
	levelWarning = "warning"
	levelFailure = "failure"
)

// A diagnosis collects the findings.
type diagnosis struct {
	findings []finding
	code     int
}

func (d *diagnosis) ok(check, subject, format string, args ...any) {
	d.findings = append(d.findings, newFinding(check, subject, levelOK, "", format, args...))
}

func (d *diagnosis) warn(check, subject, hint, format string, args ...any) {
	d.findings = append(d.findings, newFinding(check, subject, levelWarning, hint, format, args...))
}

// fail adds a failure. The first failure sets the exit code.
func (d *diagnosis) fail(code int, check, subject, hint, format string, args ...any) {
	d.findings = append(d.findings, newFinding(check, subject, levelFailure, hint, format, args...))
	if d.code == cli.ExitOK {
		d.code = code
	}
}

// all makes the checks in turn. What a check found while doctor was being ended says nothing.
func (d *diagnosis) all(ctx context.Context, checks []func()) {
	for _, check := range checks {
		found, code := len(d.findings), d.code
		if check(); ctx.Err() != nil {
			d.findings, d.code = d.findings[:found], code
			return
		}
	}
}

func (d *diagnosis) print(s cli.Streams) {
	marks := map[string]string{levelOK: "ok", levelWarning: "warning", levelFailure: "FAILURE"}
	failures, warnings := 0, 0
	for _, f := range d.findings {
		switch f.Level {
		case levelFailure:
			failures++
		case levelWarning:
			warnings++
		}
		visible.Fprintf(s.Out, "%-8s %s %s: ", marks[f.Level], f.Check, f.Subject)
		fmt.Fprintln(s.Out, strings.Join(f.lines, "\n            "))
		if f.Hint != "" {
			visible.Fprintf(s.Out, "            %s\n", f.Hint)
		}
	}
	fmt.Fprintf(s.Out, "\n%s, %s\n", cli.Count(failures, "failure"), cli.Count(warnings, "warning"))
}
