package call

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// A Verdict says what may happen to a call. The zero value refuses.
type Verdict int

const (
	Deny  Verdict = iota // the call must not happen
	Ask                  // the call may happen after a person's yes
	Allow                // the call may happen
)

func (v Verdict) String() string {
	switch v {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	default:
		return "deny"
	}
}

// A Risk says how much is at stake. The zero value is unspecified; any other word counts as critical.
type Risk string

const (
	Low      Risk = "low"
	Medium   Risk = "medium"
	High     Risk = "high"
	Critical Risk = "critical"
)

// Compare orders risks: unspecified, low, medium, high, critical.
func (r Risk) Compare(other Risk) int { return cmp.Compare(r.rank(), other.rank()) }

// Grave reports whether a yes counts only after the person has seen everything, and whether only a person's yes to this
// very call allows it.
func (r Risk) Grave() bool { return r.Compare(Medium) > 0 }

// FormSuffices reports whether a form may approve a call of this risk. Any program can send a form back.
func (r Risk) FormSuffices() bool { return r.Compare(High) <= 0 }

func (r Risk) rank() int {
	if at := slices.Index([]Risk{"", Low, Medium, High}, r); at >= 0 {
		return at
	}
	return 4
}

// Higher is the higher of two risks.
func Higher(a, b Risk) Risk {
	if a.Compare(b) < 0 {
		return b
	}
	return a
}

// Why a call is denied: the values of [Decision.Code].
const (
	CodeDenied       = "denied"        // by a rule, the floor or the absence of a rule
	CodeBadArguments = "bad_arguments" // bad arguments: not JSON, duplicate keys, too deep, too long
	CodeLimit        = "limit"         // a limit is exhausted
)

// A Decision is what a policy says about one call, with what a program, a person and the record need to understand it.
// The zero value denies.
type Decision struct {
	Verdict Verdict
	Risk    Risk     // nothing on a deny
	Reasons []Reason // the deciders first: rules, or that no rule decided
	Code    string   // why, on a deny; "" means CodeDenied

	Profile string // the name of the profile that decided
	Digest  string // changes with the meaning of the profile

	// On an ask.
	Unknown  bool          // the result of a rule is unknown, which causes the question
	Floor    bool          // the floor, an overlay or another file demands the question
	Firm     bool          // a person must answer: an earlier answer or a fallback does not suffice
	Fallback bool          // allowed without an answer when nobody can answer
	Timeout  time.Duration // how long a person has; zero is the default of the asking code
	Remember Remember      // which grants a person may give with the answer
	Pointers []string      // the arguments that the ask rules read, as JSON Pointers, for grants with Args "rule"
	Rules    []string      // the deny and ask rules among the Reasons, as written
	Asking   string        // the profile's settings on who may answer, and on what is masked; see Basis
}

// A Reason is one cause of a decision.
type Reason struct {
	Rule    string   // the rule's id, or its patterns if it has none; "" if the cause is not a rule
	List    string   // denylist, asklist or allowlist; or unmatched, raise, mark, limits, arguments, definition
	Pos     Position // the rule's position
	Result  string   // true, false or unknown
	Text    string   // the rule's own reason, else a sentence
	Profile string   // the profile that contains the rule
	Layer   string   // floor, or "overlay NAME" ...: the reason is not the profile's own
	Floor   bool     // the reason belongs to the floor
	Soft    bool     // an ask rule with unlessAllowed: an allow rule overrides it
	Unless  []string // an ask rule with unlessAllowed: the allow rules of these ids override it

	Conditions []Condition // the result of each condition, for rules with conditions
}

// A Condition is the result of one condition of a rule.
type Condition struct {
	Pointer string // the argument, "" for conditions without one
	Result  string // true, false or unknown
	Text    string // why
}

// Remember says which grants a person may give with an answer. The zero value allows none.
type Remember struct {
	// For what an answer may be remembered.
	Scopes []string `key:"scopes" words:"once run count time session" min:"1"`
	// How long, if the person does not say.
	Default time.Duration `key:"default"`
	// How long at most; 168h is the most.
	Max  time.Duration `key:"max" max:"168h" like:"; for longer, write an allow rule"`
	Args string        `key:"args" words:"exact rule any"` // For which arguments.
}

// A Position is a place in a configuration file. Line and Column count from 1; Column counts Unicode code points, as
// editors do.
type Position struct {
	File   string
	Line   int
	Column int
}

// String returns file:line:column, or only the file if the position inside it is unknown.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Short is the position without the file's folders and without the column: programs and prompts get it, and they must
// not learn where people keep their files.
func (p Position) Short() string {
	if p.Line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", filepath.Base(p.File), p.Line)
}

// String is the reason in words for a program and a person.
func (r Reason) String() string {
	at := r.Pos.Short()
	if r.Layer != "" && at != "" {
		at += ", " + r.Layer
	}
	switch {
	case r.Rule != "" && r.Text != "" && at != "":
		return fmt.Sprintf("%s (rule %s, %s)", r.Text, r.Rule, at)
	case r.Rule != "" && at != "":
		return fmt.Sprintf("rule %s, %s", r.Rule, at)
	case r.Text != "":
		return r.Text
	}
	return r.Rule
}

// Lead is the deciding reason: the first one.
func (d *Decision) Lead() Reason {
	if len(d.Reasons) == 0 {
		return Reason{}
	}
	return d.Reasons[0]
}

// ProfileDenies is the Text of a denylist's rule without a reason of its own.
const ProfileDenies = "the profile denies it"

// Detail is one sentence for the program about a denial.
func (d *Decision) Detail() string {
	lead := d.Lead()
	if lead.Layer != "" && lead.Text == ProfileDenies {
		lead.Text = "the " + lead.Layer + " denies it"
	}
	text := lead.String()
	switch {
	case text == "":
		return "no rule allows it"
	case lead.Layer != "": // the profile did not refuse it
		if at := lead.Pos.Short(); lead.Rule == "" && at != "" {
			text += " (" + at + ")"
		}
		return lead.Layer + ": " + text
	case d.Profile != "":
		return fmt.Sprintf("profile %s: %s", d.Profile, text)
	}
	return text
}
