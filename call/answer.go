package call

import (
	"encoding/json"
	"time"
)

// An Answer is what came of a question to a person. Its zero value is a no.
//
// A channel fills in what the person said and how it knows. Package approvals judges that, and sets the rest for the
// program, the record and whoever makes the call.
type Answer struct {
	Allowed bool
	// Err says why a channel brought no answer about one of several calls. Then nothing else counts.
	Err error

	// What the person said.
	By       string          // who answers, if the channel knows: a principal such as "local:anna"
	Reason   string          // their words
	Args     json.RawMessage // the arguments that they allow instead of those of the question; nil are those
	Scope    Scope           // how long a yes is remembered; "" is Once
	Length   time.Duration   // of the grant, within what the profile offers; 0 is what was offered
	Uses     int             // likewise
	Selected []int           // the options chosen in a program's question, by their indexes from 0
	Text     string          // the words that answer a program's question

	// How the channel knows.

	// Typed says that the channel saw the answer being typed after the question was shown, or that the same form says
	// yes to another call. Such a refusal counts however fast it is, unless the profile sets minHuman.
	Typed bool
	// Checked says that the queue checked the answer before it told the person that the answer was taken.
	Checked bool

	// What package approvals sets. It overwrites whatever a channel says here.
	How     string        // what decided: ByPerson, ByGrant, ByFallback or ByNobody
	Channel string        // over which a person answered
	Code    string        // why not: CodeDeclined and the like
	Detail  string        // one sentence about a no, for the program and the record
	Took    time.Duration // from the question to its answer
	Grant   string        // the ID of the grant that answers, or, with a Scope, of the one that the answer gives
}

// What decided, in [Answer.How].
const (
	ByPerson   = "person"
	ByGrant    = "grant"    // what a person allowed before
	ByFallback = "fallback" // the profile allows it when nobody is there
	ByNobody   = "none"
)

// Why an answer is a no: the values of [Answer.Code].
const (
	CodeDeclined    = "elicitation_declined"    // a person said no
	CodeUnsupported = "elicitation_unsupported" // no channel can ask
	CodeNoApprover  = "no_approver"             // no channel brought a person's clear answer
	CodeTimeout     = "timeout"                 // nobody answered in time
	CodeCanceled    = "canceled"                // the question was closed without an answer, or the run ended
	CodeTooMany     = "too_many_asks"           // the channels carry no more questions of this run
	CodeInvalid     = "invalid_decision"        // an approver decided something that is neither a refusal nor an approval
)

// A Scope says how long a yes is remembered.
type Scope = string

const (
	Once       Scope = "once"    // not at all
	ForRun     Scope = "run"     // until the run ends
	ForCount   Scope = "count"   // for the next calls of the run
	ForTime    Scope = "time"    // until a time
	ForSession Scope = "session" // like ForTime, and not longer than the session if there is one
	ForPlan    Scope = "plan"    // for this call and those of the plan that was shown with it
)
