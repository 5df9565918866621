package call

import (
	"encoding/json"
	"time"
)

// The kinds of entry that the Gate writes. The record has other kinds too.
const (
	KindCall     = "call"     // a call of a program
	KindApproval = "approval" // an answer of a person, or that it came too late
	KindResult   = "result"   // a result was kept for later programs, or read
)

// The states of what the Gate writes. The state of an approval is allowed, late_answer, or why it is a no. A call has
// one refused entry, or a running entry and then one about its outcome. A running entry alone means that the process
// ended first.
const (
	Pending = "pending" // a person is asked
	Refused = "refused" // decided, and nothing was sent
	Running = "running" // decided, and about to be sent
	OK      = "ok"
	Failed  = "error"
	Unknown = "unknown"     // sent, and the outcome is unknown
	NotSent = "not_sent"    // recorded as running, and then not sent after all
	Allowed = "allowed"     // by a person
	Late    = "late_answer" // a person's answer to a question that was already decided; it changes nothing
	Loaded  = "loaded"      // a program or its client is about to read a kept result
)

// An Entry is what one line of the record says. Only the fields that apply are set.
type Entry struct {
	Time           time.Time     `json:"time"`                     // when it was written
	Kind           string        `json:"kind"`                     // what it is about
	State          string        `json:"state"`                    // what became of that
	Run            string        `json:"run,omitempty"`            // id of the run
	Call           int           `json:"call,omitempty"`           // number of the call in its run, from 1
	Principal      string        `json:"principal,omitempty"`      // for whom the program runs
	Client         string        `json:"client,omitempty"`         // the MCP client, as it says; console for the page
	Session        string        `json:"session,omitempty"`        // of the client, or the one that was made for a role
	Role           string        `json:"role,omitempty"`           // of a session, or as the caller claims
	Script         string        `json:"script,omitempty"`         // name of a saved program
	Profile        string        `json:"profile,omitempty"`        // the rules that decided
	ProfileDigest  string        `json:"profileDigest,omitempty"`  // of these rules as they were
	Server         string        `json:"server,omitempty"`         // name of the server in the configuration
	Tool           string        `json:"tool,omitempty"`           // full name, server__tool
	ToolDefinition string        `json:"toolDefinition,omitempty"` // digest of the tool's definition as it was
	Verdict        string        `json:"verdict,omitempty"`        // deny, ask or allow; connect: an account was asked for
	Risk           string        `json:"risk,omitempty"`           // low, medium, high or critical
	Rules          []EntryRule   `json:"rules,omitempty"`          // that took part in the decision
	DecidedBy      *DecidedBy    `json:"decidedBy,omitempty"`      // who or what had the last word
	Args           *EntryArgs    `json:"args,omitempty"`           // of a call
	Result         *EntryResult  `json:"result,omitempty"`         // of a call or a run
	Program        *EntryProgram `json:"program,omitempty"`        // of a run

	Reason string  `json:"reason,omitempty"` // why it was refused or failed, as programs see it
	Detail string  `json:"detail,omitempty"` // a sentence; of an approval, the person's words
	MS     float64 `json:"ms,omitempty"`     // from the moment it was sent, or the run began

	Count int            `json:"count,omitempty"` // how many similar events this entry stands for; 0 means one
	Tools map[string]int `json:"tools,omitempty"` // and how many of each tool

	Data json.RawMessage `json:"data,omitempty"` // more, by kind; JSON

	// Owner is whose share of the record the entry uses: a principal that somebody verified. "" is all others together.
	Owner string `json:"-"`
	// Unbegun says that the entry refuses something that no other entry mentions. It may be counted instead.
	Unbegun bool `json:"-"`
}

// An EntryRule took part in a decision.
type EntryRule struct {
	ID     string `json:"id"`
	At     string `json:"at,omitempty"`     // file:line
	Layer  string `json:"layer,omitempty"`  // what narrows the profile: floor, "overlay NAME"
	Result string `json:"result,omitempty"` // true or unknown
}

// DecidedBy says who or what decided.
type DecidedBy struct {
	// rule, default, floor, person, grant, fallback, limit, definition_changed, bypass, error
	How       string `json:"how"`
	Channel   string `json:"channel,omitempty"`
	Principal string `json:"principal,omitempty"` // who answered, if that is known
	Proof     string `json:"proof,omitempty"`     // sign-in: the person signed in anew for this question
	LatencyMS int64  `json:"latencyMs,omitempty"` // of a person
	Scope     string `json:"scope,omitempty"`
	Grant     string `json:"grant,omitempty"` // that answers now or, with a scope, allows from now on
}

// DecidedBy says for the record who or what gave the answer.
func (a *Answer) DecidedBy() *DecidedBy {
	return &DecidedBy{How: a.How, Channel: a.Channel, Principal: a.By, Proof: a.Proof, LatencyMS: a.Took.Milliseconds(),
		Scope: a.Scope, Grant: a.Grant}
}

// An EntryResult is the result of a call or a run.
type EntryResult struct {
	Digest   string          `json:"digest,omitempty"`
	Bytes    int             `json:"bytes"`
	Redacted json.RawMessage `json:"redacted,omitempty"`

	Raw json.RawMessage `json:"-"` // the input of the digest; never stored
}

// An EntryProgram is the source of a run.
type EntryProgram struct {
	Name   string `json:"name,omitempty"`
	Digest string `json:"digest"` // sha256 of the whole source
	Bytes  int    `json:"bytes"`
	Text   string `json:"text,omitempty"` // secrets masked, cut at the end

	DigestOnly bool `json:"-"` // leave the text out
}

// EntryArgs are the arguments of a call in the four forms that can differ, as keyed digests of their bytes. Redacted is
// the form stored in the entry, with secrets masked.
type EntryArgs struct {
	Proposed   string          `json:"proposed,omitempty"`   // by the program
	Shown      string          `json:"shown,omitempty"`      // to a person
	Authorised string          `json:"authorised,omitempty"` // by a person or the policy
	Executed   string          `json:"executed,omitempty"`   // sent
	Redacted   json.RawMessage `json:"redacted,omitempty"`
	Bytes      int             `json:"bytes,omitempty"` // of the whole, where Redacted is masked or cut

	// The input of the digests. It is never stored: it may have secrets.
	RawProposed, RawShown, RawAuthorised, RawExecuted Arguments `json:"-"`
}
