package hostfns

import (
	"encoding/json"
	"time"

	"github.com/codemode-project/codemode/call"
)

// The kinds of entry. A call has one refused entry, or a running entry and then an outcome entry. A running entry alone
// means that the process ended first and the outcome is unknown.
const (
	KindRefused = "refused" // decided, and nothing was sent
	KindRunning = "running" // decided, and about to be sent
	KindOutcome = "outcome" // how it ended
)

// The kinds of entry about events between the decision and its consequence.
const (
	KindAsked  = "asked"  // a person is asked
	KindAnswer = "answer" // the result of asking
)

// KindLate is a person's answer to a question that was already decided. It changes nothing.
const KindLate = "late_answer"

// KindLoaded says that the run read a result that an earlier run had kept. It is recorded before the program gets it.
const KindLoaded = "loaded"

// An Entry is one line of the record. Its JSON has arguments only as a digest.
type Entry struct {
	Time time.Time `json:"time"`
	Kind string    `json:"kind"`

	Run       string `json:"run"`
	Call      int    `json:"call"`
	Principal string `json:"principal,omitempty"`
	Client    string `json:"client,omitempty"`
	Session   string `json:"session,omitempty"`
	Role      string `json:"role,omitempty"` // as the caller claims; it decides nothing
	Script    string `json:"script,omitempty"`

	Profile        string `json:"profile"`
	ProfileDigest  string `json:"profileDigest,omitempty"`
	Server         string `json:"server,omitempty"`
	Tool           string `json:"tool"`
	ToolDefinition string `json:"toolDefinition,omitempty"`
	Args           string `json:"args,omitempty"` // sha256 of the bytes that were decided

	Verdict   string `json:"verdict"`
	Risk      string `json:"risk,omitempty"`
	Rule      string `json:"rule,omitempty"`
	At        string `json:"at,omitempty"`
	Layer     string `json:"layer,omitempty"` // what narrows the profile and decided: floor, "overlay NAME"
	DecidedBy string `json:"decidedBy"`       // rule, default, person, grant, fallback, limit, error
	Channel   string `json:"channel,omitempty"`
	By        string `json:"by,omitempty"`    // who answered, if that is known
	Proof     string `json:"proof,omitempty"` // see [call.Answer.Proof]
	// The grant that answers now or, with a scope, allows from now on.
	Grant  string        `json:"grant,omitempty"`
	Scope  string        `json:"scope,omitempty"`
	Waited time.Duration `json:"waited,omitempty"` // for a person

	Reason  string        `json:"reason,omitempty"`  // of a refusal
	Outcome string        `json:"outcome,omitempty"` // ok, error, unknown or not_sent
	Took    time.Duration `json:"took,omitempty"`
	Detail  string        `json:"detail,omitempty"` // a sentence, of a refusal or failure
	Words   string        `json:"words,omitempty"`  // of the person who refused

	Owner   string `json:"-"` // see [RunInfo.Owner]
	Unasked bool   `json:"-"` // of a refusal: no other entry is about the call

	// Values for code that stores them: it must remove secrets first.
	Proposed   call.Arguments  `json:"-"` // the arguments as the program gave them
	Shown      call.Arguments  `json:"-"` // as a person saw them; none if nobody did
	Authorised call.Arguments  `json:"-"` // as a person or the policy allowed them
	Executed   call.Arguments  `json:"-"` // as they are sent
	Result     json.RawMessage `json:"-"` // what came back
}
