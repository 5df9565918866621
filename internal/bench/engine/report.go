package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/codemode-project/codemode/internal/bench"
	"github.com/codemode-project/codemode/internal/isolation"
)

// The findings of the protocol.
const (
	Wrong     = "wrong"     // a program ended otherwise than its case accepts
	Leak      = "leak"      // something was seen or left that must not
	Lie       = "lie"       // what the engine said contradicts what the harness knows
	Crash     = "crash"     // the engine ended
	Hang      = "hang"      // a program went on after its limit of time, whether it ended later or had to be killed
	Overshoot = "overshoot" // the engine grew by more than the limits allow
	Protocol  = "protocol"  // the engine said something that the protocol does not provide for
)

// A Finding is one thing that is wrong with an engine.
type Finding struct {
	Case     string `json:"case"`
	Class    string `json:"class"`
	Kind     string `json:"kind"`     // of the class, such as "escape"
	Severity string `json:"severity"` // of the class
	Finding  string `json:"finding"`
	Detail   string `json:"detail"`

	measured, near bool // see found
}

func (f found) of(r *CaseResult) Finding {
	return Finding{Case: r.Case, Class: r.Class, Kind: r.Kind, Severity: r.Severity, Finding: f.kind, Detail: f.detail,
		measured: f.measured, near: f.near}
}

// A CaseResult is what became of a case or a question. Without findings, Skipped and Unproven it passed.
type CaseResult struct {
	Case     string   `json:"case"`
	Class    string   `json:"class"`
	Kind     string   `json:"kind"`
	Severity string   `json:"severity"`
	Expected string   `json:"expected,omitempty"`
	Got      string   `json:"got,omitempty"`
	Skipped  []string `json:"skipped,omitempty"` // what it needs and the engine does not claim
	// Unproven says that the program ended with an error instead of what the case expects, for example because the engine
	// lacks something of the language: nothing got out, but the case proves nothing either.
	Unproven bool      `json:"unproven,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
	Detail   string    `json:"detail,omitempty"`
	MS       float64   `json:"ms,omitempty"`        // the longest run
	GrownKiB int       `json:"grown_kib,omitempty"` // by how much the engine grew at most; 0 also if unknown

	own ownEnds // for the report about this build
}

func (r *CaseResult) add(end result, round int) {
	r.MS = max(r.MS, ms(end.took))
	r.own.add(r.Expected, end, round)
	if end.unproven && !r.Unproven {
		r.Unproven, r.Detail = true, "it ended with an error: "+shorten(end.Message)
	}
	if round == 0 {
		r.Got = end.Outcome.Outcome
	}
	if end.from.Known && end.to.Known {
		r.GrownKiB = max(r.GrownKiB, end.to.PeakKiB-end.from.ResidentKiB)
	}
	for _, f := range end.found {
		if round > 0 {
			f.detail = "in the second run: " + f.detail
		}
		r.find(f)
	}
}

// find adds a finding. One of the same name stays, unless the new one is more certain.
func (r *CaseResult) find(f found) {
	i := slices.IndexFunc(r.Findings, func(old Finding) bool { return old.Finding == f.kind })
	switch {
	case i < 0:
		r.Findings = append(r.Findings, f.of(r))
	case r.Findings[i].measured && !f.measured, r.Findings[i].near && !f.near:
		r.Findings[i] = f.of(r)
	}
}

// names lists the names of the findings.
func (r *CaseResult) names() (names []string) {
	for _, f := range r.Findings {
		names = append(names, f.Finding)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// A Report is what was found about one engine.
type Report struct {
	Name     string          `json:"name"`
	Command  []string        `json:"command"`
	Engine   isolation.Hello `json:"engine"`
	Started  time.Time       `json:"started"`
	TotalMS  float64         `json:"total_ms"`
	Starts   int             `json:"starts"`           // of the engine: also after a crash, a hang, and for some questions
	Measured bool            `json:"measured"`         // whether this system tells what processes hold
	Failed   string          `json:"failed,omitempty"` // what kept the engine from being tested to the end
	Kinds    []Kind          `json:"kinds"`
	Cases    []CaseResult    `json:"cases"`

	// See session.
	grown  growth
	memory ownMemory
	left   []string
}

// A Kind sums up the classes of one kind, such as "escape".
type Kind struct {
	Kind    string `json:"kind"`
	Cases   int    `json:"cases"` // that ran
	Passed  int    `json:"passed"`
	Skipped int    `json:"skipped"`
	// Unproven are those of Cases that ended with an error instead of what they expect, and have no finding.
	Unproven int `json:"unproven"`
	// Findings are how many cases have a finding of each name.
	Findings map[string]int `json:"findings,omitempty"`
}

func (r *Report) add(c CaseResult) { r.Cases = append(r.Cases, c) }

func (r *Report) finish() {
	r.TotalMS = ms(time.Since(r.Started))
	kinds := map[string]*Kind{}
	for i := range r.Cases {
		c := &r.Cases[i]
		c.Kind = cmp.Or(c.Kind, "other")
		k := kinds[c.Kind]
		if k == nil {
			k = &Kind{Kind: c.Kind, Findings: map[string]int{}}
			kinds[c.Kind] = k
		}
		switch {
		case len(c.Skipped) > 0:
			k.Skipped++
			continue
		case len(c.Findings) == 0 && c.Unproven:
			k.Unproven++
		case len(c.Findings) == 0:
			k.Passed++
		}
		k.Cases++
		for _, name := range c.names() {
			k.Findings[name]++
		}
	}
	for _, k := range kinds {
		r.Kinds = append(r.Kinds, *k)
	}
	order := func(k Kind) int {
		if i := slices.Index(bench.Kinds, k.Kind); i >= 0 {
			return i
		}
		return len(bench.Kinds)
	}
	slices.SortFunc(r.Kinds, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a.Kind, b.Kind))
	})
}

// Share is how many cases passed, of those that ran and prove something; "-" if none does.
func (k *Kind) Share() string {
	if k.Cases == k.Unproven {
		return "-"
	}
	return fmt.Sprintf("%d/%d", k.Passed, k.Cases-k.Unproven)
}

// Findings lists all findings in the order of the cases.
func (r *Report) Findings() (all []Finding) {
	for _, c := range r.Cases {
		all = append(all, c.Findings...)
	}
	return all
}

// A Scoreboard is the reports of several engines.
type Scoreboard struct {
	Engines []*Report `json:"engines"`
	// Place is the file in the project of the reader to which code scanning attaches the findings of a case. Nil is the
	// case itself, below attacks/.
	Place func(file string) string `json:"-"`
}

// Failed is an error for each engine that could not be tested to the end; nil if there is none.
func (s *Scoreboard) Failed() error {
	var failed []error
	for _, r := range s.Engines {
		failed = append(failed, failure(r.Name, r.Failed))
	}
	return errors.Join(failed...)
}

// failure is the error of an engine that something kept from its end; nil if nothing did.
func failure(engine, what string) error {
	if what == "" {
		return nil
	}
	return fmt.Errorf("%s: %s", engine, what)
}

// knownNames are the names of the findings that a baseline has for an engine, by case; nil is no baseline.
type knownNames map[string][]string

// names are those of the engine of a name; nil if there is no board.
func (s *Scoreboard) names(engine string) knownNames {
	if s == nil {
		return nil
	}
	names := knownNames{}
	for _, r := range s.Engines {
		if r.Name == engine {
			for _, c := range r.Cases {
				names[c.Case] = append(names[c.Case], c.names()...)
			}
		}
	}
	return names
}

// has reports whether the board has an engine of a name.
func (s *Scoreboard) has(engine string) bool {
	return slices.ContainsFunc(s.Engines, func(r *Report) bool { return r.Name == engine })
}

// New lists the findings that the baseline does not have for the engine of the same name; nil has none. Two findings
// are the same if their case and their name are the same, whatever their details.
func (s *Scoreboard) New(baseline *Scoreboard) (fresh []Finding) {
	for _, r := range s.Engines {
		known := baseline.names(r.Name)
		for _, f := range r.Findings() {
			if !slices.Contains(known[f.Case], f.Finding) {
				fresh = append(fresh, f)
			}
		}
	}
	return fresh
}

// gone counts the findings of the baseline that the board does not have, of cases that ran in both.
func (s *Scoreboard) gone(baseline *Scoreboard) (n int) {
	for _, r := range s.Engines {
		known := baseline.names(r.Name)
		for _, c := range r.Cases {
			if len(c.Skipped) > 0 {
				continue
			}
			for _, name := range known[c.Case] {
				if !slices.Contains(c.names(), name) {
					n++
				}
			}
		}
	}
	return n
}
