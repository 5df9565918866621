package profiles

import (
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/profiles/condition"
	"github.com/codemode-project/codemode/profiles/pattern"
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
	Globs    []*pattern.Pattern

	When        []condition.Condition
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

// Matches reports whether the rule is about the tool. It compares a deny or ask rule with every name of the tool, and
// an allow rule only with the canonical one: two upstream tools may share what looks like one name, and only the
// canonical name certainly identifies the tool that runs.
func (r *Rule) Matches(canonical, raw string) bool {
	for _, g := range r.Globs {
		if g.Match(canonical) || r.List != Allowlist && raw != canonical && g.Match(raw) {
			return true
		}
	}
	return false
}
