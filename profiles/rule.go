package profiles

import (
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/internal/settings"
)

// A List is the list of a rule. The constants are in the order of evaluation.
type List int

const (
	Denylist List = iota
	Asklist
	Allowlist
)

func (l List) String() string {
	return [...]string{"denylist", "asklist", "allowlist"}[l]
}

// A Rule is one entry of a list, checked and compiled.
type Rule struct {
	List     List
	Pos      settings.Position
	ID       string // as written; "" = none
	Profile  string
	Text     string // as written, as standard JSON
	Patterns []string
	Globs    []*match.Pattern

	When        []match.Condition
	annotations []hintIs
	closed      bool      // others: "none"
	Soft        bool      // unlessAllowed: any allow rule overrides it
	Unless      []string  // unlessAllowed: the allow rules of these ids override it
	until       time.Time // zero = no end
	risk        call.Risk
	reason      string
	remember    *call.Remember
}

// A hintIs is an annotation that a rule requires.
type hintIs struct {
	name string
	want bool
}

// Label names the rule in reasons: its id, else its patterns.
func (r *Rule) Label() string {
	if r.ID != "" {
		return r.ID
	}
	return strings.Join(r.Patterns, ", ")
}

// Conditional reports whether the rule depends on more than the tool's name.
func (r *Rule) Conditional() bool {
	return len(r.When) > 0 || len(r.annotations) > 0 || r.closed || !r.until.IsZero()
}

// Matches reports whether the rule is about the tool; raw is its name as the server spells it, <server>__<tool>.
//
// A rule names a tool by its canonical name or by its raw one, and is about no other tool: no raw name is the canonical
// name of another tool, see [call.Names]. A deny or ask rule is also about the tools whose canonical name is its own
// with a suffix, so that a server cannot take a tool away from the rule by listing another one of that name.
func (r *Rule) Matches(canonical, raw string) bool { return r.matches(newNames(canonical, raw)) }

func (r *Rule) matches(n names) bool {
	return slices.ContainsFunc(r.Globs, func(g *match.Pattern) bool {
		return n.exact(g) || r.List != Allowlist && n.base != n.canonical && g.Match(n.base)
	})
}

// names are the names of one tool.
type names struct {
	canonical string
	raw, half string // as the server spells it; half has the canonical name of the server. "" = canonical
	base      string // canonical without a suffix
}

func newNames(canonical, raw string) names {
	n := names{canonical: canonical, base: canonical}
	if raw == canonical || raw == "" {
		return n
	}
	n.raw, n.base = raw, call.Part(raw)
	if server, tool, ok := strings.Cut(raw, call.Separator); ok {
		if half := call.Part(server) + call.Separator + tool; half != raw && half != canonical {
			n.half = half
		}
	}
	return n
}

// exact reports whether the pattern names the tool.
func (n *names) exact(g *match.Pattern) bool {
	return g.Match(n.canonical) || n.raw != "" && g.Match(n.raw) || n.half != "" && g.Match(n.half)
}
