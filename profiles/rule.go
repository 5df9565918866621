package profiles

import (
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/profiles/condition"
	"github.com/codemode-project/codemode/profiles/pattern"
)

// A List is where a rule stands, in the order in which lists are asked.
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
	Soft        bool      // unlessAllowed: any allow rule beats it
	Unless      []string  // unlessAllowed: the allow rules of these ids beat it
	until       time.Time // zero = no end
	risk        call.Risk
	reason      string
	remember    *call.Remember
}

// A hintIs is an annotation that a rule asks for.
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

// Conditional reports whether the rule looks at more than the tool's name.
func (r *Rule) Conditional() bool {
	return len(r.When) > 0 || len(r.annotations) > 0 || r.closed || !r.until.IsZero()
}

// Matches reports whether the rule is about the tool. A deny or ask rule is tried on every
// name the tool goes by, an allow rule only on the canonical one: two upstream tools may
// share what looks like one name, and only the canonical name is surely the tool that runs.
func (r *Rule) Matches(canonical, raw string) bool {
	for _, g := range r.Globs {
		if g.Match(canonical) || r.List != Allowlist && raw != canonical && g.Match(raw) {
			return true
		}
	}
	return false
}
