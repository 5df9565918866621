package profiles

import (
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/profiles/condition"
	"github.com/codemode-project/codemode/profiles/pattern"
)

// A list is where a rule stands, in the order in which lists are asked.
type list int

const (
	denylist list = iota
	asklist
	allowlist
)

func (l list) String() string {
	return [...]string{"denylist", "asklist", "allowlist"}[l]
}

// A rule is one entry of a list, checked and compiled.
type rule struct {
	list     list
	pos      settings.Position
	id       string // as written; "" = none
	profile  string
	text     string // as written, as standard JSON
	patterns []string
	globs    []*pattern.Pattern

	when        []condition.Condition
	annotations []hintIs
	closed      bool      // others: "none"
	soft        bool      // unlessAllowed: any allow rule beats it
	unless      []string  // unlessAllowed: the allow rules of these ids beat it
	until       time.Time // zero = no end
	risk        call.Risk
	reason      string
	remember    *Remember
}

// A hintIs is an annotation that a rule asks for.
type hintIs struct {
	name string
	want bool
}

// label is how the rule is called in reasons: its id, else its patterns.
func (r *rule) label() string {
	if r.id != "" {
		return r.id
	}
	return strings.Join(r.patterns, ", ")
}

// conditional reports whether the rule looks at more than the tool's name.
func (r *rule) conditional() bool {
	return len(r.when) > 0 || len(r.annotations) > 0 || r.closed || !r.until.IsZero()
}

// matches reports whether the rule is about the tool. A deny or ask rule is tried on every
// name the tool goes by, an allow rule only on the canonical one: two upstream tools may
// share what looks like one name, and only the canonical name is surely the tool that runs.
func (r *rule) matches(canonical, raw string) bool {
	for _, g := range r.globs {
		if g.Match(canonical) || r.list != allowlist && raw != canonical && g.Match(raw) {
			return true
		}
	}
	return false
}
