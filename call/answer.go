package call

import (
	"encoding/json"
	"time"
)

// An Answer is the outcome of a question to a person. Its zero value is a no.
//
// A channel fills in what the person said and how it knows. Package approvals evaluates that, and sets the rest for the
// program, the record and the code that makes the call.
type Answer struct {
	Allowed bool
	// Err says why a channel has no answer about one of several calls. Then nothing else counts.
	Err error

	// What the person said.
	By       string          // the answering person, if the channel knows: a principal such as "local:anna"
	Reason   string          // their words
	Args     json.RawMessage // the arguments that they allow instead of the question's; nil: the question's
	Scope    Scope           // how long a yes lasts; "" is Once
	Length   time.Duration   // of the grant, within the profile's offer; 0 is as offered
	Uses     int             // likewise
	Selected []int           // the options chosen in a program's question, by their indexes from 0
	Text     string          // the words that answer a program's question

	// How the channel knows.

	// Typed says that the channel saw the person type the answer after it showed the question, or that the same form
	// says yes to another call. Such a refusal counts no matter how fast it is, unless the profile sets minHuman.
	Typed bool
	// Proof says how the person has proven for this answer, beyond their login, that they gave it: ProofSignIn, or "".
	Proof string
	// Checked says that the queue checked the answer before it confirmed the answer to the person.
	Checked bool

	// What package approvals sets. It overwrites whatever a channel says here.
	How     string        // the decider: ByPerson, ByGrant, ByFallback or ByNobody
	Channel string        // the channel that a person answered over
	Code    string        // why it is a no: CodeDeclined and the like
	Detail  string        // one sentence about a no, for the program and the record
	Took    time.Duration // from the question to its answer
	Grant   string        // the ID of the answering grant, or, with a Scope, of the one that the answer gives
}

// ProofSignIn is the [Answer.Proof] of a person who signed in anew for this question.
const ProofSignIn = "sign-in"

// What decided, in [Answer.How].
const (
	ByPerson   = "person"
	ByGrant    = "grant"    // a person's earlier permission
	ByFallback = "fallback" // the profile allows it when nobody is present
	ByNobody   = "none"
)

// The reasons for a no: the values of [Answer.Code].
const (
	CodeDeclined    = "elicitation_declined"    // a person said no
	CodeUnsupported = "elicitation_unsupported" // no channel can reach a person
	CodeNoApprover  = "no_approver"             // no channel brought a person's clear answer
	CodeTimeout     = "timeout"                 // nobody answered in time
	CodeCanceled    = "canceled"                // the question closed without an answer, or the run ended
	CodeTooMany     = "too_many_asks"           // the channels carry no more questions of this run
	CodeInvalid     = "invalid_decision"        // an approver returned neither a refusal nor an approval
)

// A Scope says how long a yes lasts.
type Scope = string

const (
	Once       Scope = "once"    // not at all
	ForRun     Scope = "run"     // until the run ends
	ForCount   Scope = "count"   // for the next calls of the run
	ForTime    Scope = "time"    // until a time
	ForSession Scope = "session" // like ForTime, and not longer than the session if there is one
	ForPlan    Scope = "plan"    // for this call and those of the plan shown with it
)
