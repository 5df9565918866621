package profiles

import (
	"encoding/json"
	"time"
)

// A Verdict says what may happen to a call. The zero value refuses.
type Verdict int

const (
	Deny  Verdict = iota // the call must not happen
	Ask                  // the call may happen once a person has said yes
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

// The values of [Decision.Code].
const (
	CodeDenied       = "denied"        // a rule, the floor or the absence of a rule
	CodeBadArguments = "bad_arguments" // the arguments cannot be judged: not JSON, duplicate keys, too deep, too long
	CodeLimit        = "limit"         // a limit of the profile is used up
)

// A Call is what is decided. Everything a decision may depend on is in it.
type Call struct {
	Server      string          // the upstream's name as configured
	Tool        string          // the tool's name as the upstream wrote it
	Name        string          // canonical server__tool; "" = made from Server and Tool
	Args        json.RawMessage // the arguments as they will be sent; empty or null = no arguments
	Annotations map[string]any  // the tool's annotations as the upstream gave them, with the marks of its _meta, see [IsMark]

	Time              time.Time // now; zero means unknown, and then no rule with "until" allows anything
	Tainted           bool      // what the run has read of an untrusted server may have reached the call
	Taint             string    // how, in a sentence; "" = nobody says
	DefinitionChanged bool      // the tool is no longer what was reviewed
	Counters          Counters
}

// Counters is what has happened before the call that is decided. The zero value is a
// fresh run.
type Counters struct {
	Calls          int // calls of this run so far
	Repeat         int // of those, how many had the same tool and the same arguments
	Asks           int // questions put to people in this run so far
	AsksLastMinute int // questions put to people by this principal in the last minute
	Pending        int // questions of this principal that are open now
	Refusals       int // refusals by people in this run
}

// A Decision is the answer of [Profile.Decide].
type Decision struct {
	Verdict Verdict
	Risk    string   // low, medium, high or critical; "" on a deny
	Reasons []Reason // never empty: the rules that decided, or that no rule did
	Code    string   // for a deny: one of the Code constants

	// Unknown says that a rule could not be judged and the question stands for that:
	// neither a grant nor a fallback may answer it.
	Unknown bool
	// Floor says that the floor, an overlay or another file demands this verdict: neither a
	// grant nor a fallback can answer it.
	Floor bool
	// Remember says which grants a person may give with the answer. Set on an ask.
	Remember Remember
	// Pointers are the arguments that the asking rules look at, for grants with
	// args "rule". Set on an ask.
	Pointers []string
}

// A Reason is one cause of a decision.
type Reason struct {
	Rule    string   // the rule's id, or its pattern if it has none; "" for what is not a rule
	List    string   // denylist, asklist or allowlist; or unmatched, raise, mark, limits, arguments, definition
	Pos     Position // where the rule stands
	Result  string   // true, false or unknown
	Text    string   // the rule's own reason, else a sentence
	Profile string   // the profile that the rule was written in
	Layer   string   // floor, or "overlay NAME" ...: the reason is not the profile's own
	Floor   bool     // the reason belongs to the floor
	Soft    bool     // an ask rule with unlessAllowed: an allow rule beats it
	Unless  []string // an ask rule with unlessAllowed: the allow rules of these ids beat it

	Conditions []Outcome // how each condition came out, for rules that have any
}

// An Outcome is what became of one condition of a rule.
type Outcome struct {
	Pointer string // the argument, "" for conditions that are not about one
	Result  string // true, false or unknown
	Text    string // why
}
