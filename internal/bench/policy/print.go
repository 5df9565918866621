package policy

import (
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/bench/junit"
	"github.com/codemode-project/codemode/internal/bench/printed"
	"github.com/codemode-project/codemode/internal/bench/sarif"
	"github.com/codemode-project/codemode/internal/visible"
)

// Formats are the formats that [Report.Write] supports.
var Formats = []string{"table", "json", "junit", "sarif", "markdown"}

// Write prints the report.
func (r *Report) Write(w io.Writer, format string) error {
	var text string
	switch format {
	case "table":
		text = r.table()
	case "markdown":
		text = r.markdown()
	case "json":
		return printed.JSON(w, r)
	case "junit":
		return r.junit(w)
	case "sarif":
		return r.sarif(w)
	default:
		return printed.Unknown(format)
	}
	_, err := io.WriteString(w, text)
	return err
}

func (r *Report) table() string {
	var b strings.Builder
	for i := range r.Findings {
		f := &r.Findings[i]
		fmt.Fprintf(&b, "%s: %s, %s, %s\n", visible.Line(f.Position()), f.Severity, f.Family, visible.Line(f.under()))
		if f.Rule != "" {
			fmt.Fprintf(&b, "    %s: %s\n", f.List, visible.Line(f.Rule))
		}
		fmt.Fprintf(&b, "    %s\n    allowed: %s %s\n", visible.Line(f.Message), visible.Line(f.Tool), f.shown())
		if len(f.Also) > 0 {
			fmt.Fprintf(&b, "    so it is with: %s\n", visible.Line(few(f.Also)))
		}
		for line := range strings.Lines(f.Program) {
			fmt.Fprintf(&b, "      | %s\n", visible.Line(strings.TrimSuffix(line, "\n")))
		}
		fmt.Fprintf(&b, "    to mend it: %s\n\n", visible.Line(f.Mend))
	}
	for _, s := range r.sentences() {
		fmt.Fprintf(&b, "%s\n", visible.Line(s))
	}
	return b.String()
}

func (r *Report) markdown() string {
	var b strings.Builder
	var rows [][]string
	for _, f := range r.Findings {
		rows = append(rows, []string{string(f.Severity), string(f.Family), strings.Join(f.Profiles, ", "), f.Position(),
			fmt.Sprintf("%s: %s %s", f.Message, f.Tool, f.shown()), f.Mend})
	}
	if len(rows) > 0 {
		printed.Markdown(&b, 0, []string{"severity", "family", "profile", "rule", "allowed", "mend"}, rows)
	}
	for _, s := range r.sentences() {
		fmt.Fprintf(&b, "\n%s\n", visible.Markdown(s))
	}
	return b.String()
}

// junit has a suite for each profile, with a case for each family, and one for the servers that listed no tools.
func (r *Report) junit(w io.Writer) error {
	report := junit.Report{Seconds: r.Seconds, Started: r.Started}
	for _, m := range r.Missing {
		report.Suite("servers", r.Started).Add(m.Server, 0, false, "it listed no tools", m.Why)
	}
	for _, profile := range r.Profiles {
		suite := report.Suite(profile, r.Started)
		for _, family := range Families {
			var found []string
			for i := range r.Findings {
				if f := &r.Findings[i]; f.Family == family && slices.Contains(f.Profiles, profile) {
					found = append(found, fmt.Sprintf("%s: %s: %s %s; to mend it: %s", f.Position(), f.Message, f.Tool, f.shown(),
						f.Mend))
				}
			}
			suite.Add(string(family), 0, len(found) == 0, fmt.Sprintf("findings: %d", len(found)), strings.Join(found, "; "))
		}
	}
	return report.Write(w)
}

// sarif has a rule for each family. A result is at the rule of the profile.
func (r *Report) sarif(w io.Writer) error {
	run := sarif.Run{Tool: "codemode bench policy", Subject: strings.Join(r.Profiles, ", ")}
	for i := range r.Findings {
		f := &r.Findings[i]
		run.Findings = append(run.Findings, sarif.Finding{
			Rule: string(f.Family), About: "Programs get round a rule: " + string(f.Family), Severity: string(f.Severity),
			Message: fmt.Sprintf("%s: %s %s; to mend it: %s", f.Message, f.Tool, f.shown(), f.Mend),
			URI:     uri(f.File), Line: f.Line, Column: f.Column,
			Fingerprint: strings.Join([]string{string(f.Family), f.List, f.Rule, f.Argument}, "/"),
		})
	}
	return sarif.Write(w, run)
}

// uri is a reference to a file; a path that is not absolute is one relative to the folder of the project.
func uri(file string) string {
	slashed := filepath.ToSlash(file)
	if filepath.IsAbs(file) {
		return (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(slashed, "/")}).String()
	}
	return (&url.URL{Path: slashed}).String()
}

// shownArguments bounds the arguments in a report for people, in bytes.
const shownArguments = 300

func (f *Finding) shown() string {
	text := visible.Line(string(f.Arguments))
	if len(text) > shownArguments {
		text = strings.ToValidUTF8(text[:shownArguments], "") + "..."
	}
	return text
}

// under names the profiles.
func (f *Finding) under() string {
	if len(f.Profiles) == 1 {
		return "profile " + f.Profiles[0]
	}
	return "profiles " + few(f.Profiles)
}

// few lists names, and only counts those beyond five.
func few(names []string) string {
	const most = 5
	if len(names) > most+1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// sentences sum the report up.
func (r *Report) sentences() []string {
	var said []string
	for _, m := range r.Missing {
		said = append(said, fmt.Sprintf("The server %s listed no tools, so the suite says nothing about it: %s.", m.Server,
			m.Why))
	}
	if len(r.Unclear) > 0 {
		said = append(said, "No arguments are known that fit these tools, so they were not called: "+few(r.Unclear)+".")
	}
	findings := "no findings"
	if len(r.Findings) > 0 {
		var counts []string
		for _, s := range severities {
			of := 0
			for _, f := range r.Findings {
				if f.Severity == s {
					of++
				}
			}
			if of > 0 {
				counts = append(counts, fmt.Sprintf("%d %s", of, s))
			}
		}
		findings = "findings: " + strings.Join(counts, ", ")
	}
	return append(said, fmt.Sprintf("%d hostile programs with %d tools under %s in %.1fs: %s. No server was called.",
		r.Programs, r.Tools, few(r.Profiles), r.Seconds, findings))
}
