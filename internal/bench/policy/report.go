package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/profiles/match"
)

// A Report is the result of a suite.
type Report struct {
	Started  time.Time `json:"started"`
	Seconds  float64   `json:"seconds"`
	Profiles []string  `json:"profiles"`
	Tools    int       `json:"tools"`
	Programs int       `json:"programs"` // that were run
	Findings []Finding `json:"findings"`
	// Missing are the servers that listed no tools: nothing is said about them.
	Missing []Missing `json:"missing,omitempty"`
	// Unclear are tools without a call: their schema did not say which arguments fit.
	Unclear []string `json:"unclear,omitempty"`
}

// A Missing is a server without tools, and why.
type Missing struct {
	Server string `json:"server"`
	Why    string `json:"why"`
}

// A Finding is a call that a profile lets through, and should not.
type Finding struct {
	Family   Family   `json:"family"`
	Severity Severity `json:"severity"`
	Profiles []string `json:"profiles"`

	// The rule to change. Rule is its text, "" if no rule mentions the call; then the position is that of the profile.
	Rule     string `json:"rule,omitempty"`
	List     string `json:"list,omitempty"`
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Argument string `json:"argument,omitempty"` // that it is about, as a JSON Pointer

	Message string `json:"message"`
	Mend    string `json:"mend"`

	// What was allowed, and the program that called it.
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Program   string          `json:"program"`
	Also      []string        `json:"also,omitempty"` // other tools with the same finding
}

// Position is where the rule is.
func (f *Finding) Position() string {
	if f.Line == 0 {
		return f.File
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// finding describes an attack that succeeded.
func (s *subject) finding(w *weakness, a *attack, shown *sentCall) *Finding {
	f := &Finding{Family: w.family, Severity: w.severity, Profiles: []string{s.name()}, Argument: w.argument,
		Message: a.message, Mend: w.mend, Tool: shown.tool, Arguments: shown.args, Program: a.program}
	rule := w.rule
	if rule == nil && a.by == "" {
		d := s.policy.Decide(s.registry.Describe(a.tool.Tool), call.Unread(shown.args), hostfns.Counters{})
		rule = s.behind(&d)
	}
	pos := s.pos
	switch {
	case rule != nil:
		f.Rule, f.List, pos = match.Shortened(rule.Text), rule.List.String(), rule.Pos
	case s.profile.Unrestricted():
		f.Mend = `programs have this profile without any rule: set "defaultProfile", or name in "expose" the profiles that ` +
			`they may have`
	}
	f.File, f.Line, f.Column = pos.File, pos.Line, pos.Column
	return f
}

// add adds findings. One that another profile has as well, or another tool, is the same finding.
func (r *Report) add(all []Finding) {
	for _, f := range all {
		i := slices.IndexFunc(r.Findings, func(g Finding) bool { return g.sameAs(&f) })
		if i < 0 {
			r.Findings = append(r.Findings, f)
			continue
		}
		g := &r.Findings[i]
		if !slices.Contains(g.Profiles, f.Profiles[0]) {
			g.Profiles = append(g.Profiles, f.Profiles[0])
		}
		if f.Tool != g.Tool && !slices.Contains(g.Also, f.Tool) {
			g.Also = append(g.Also, f.Tool)
		}
		if rank(f.Severity) < rank(g.Severity) {
			g.Severity = f.Severity
		}
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return rank(a.Severity) - rank(b.Severity) })
}

func (f *Finding) sameAs(g *Finding) bool {
	return f.Family == g.Family && f.File == g.File && f.Line == g.Line && f.Column == g.Column && f.Argument == g.Argument
}

// severities are the worst first.
var severities = []Severity{High, Medium, Low}

func rank(s Severity) int { return slices.Index(severities, s) }

// Pass reports whether nothing was found.
func (r *Report) Pass() bool { return len(r.Findings) == 0 }
