package audit

import (
	"encoding/json"
	"time"

	"github.com/codemode-project/codemode/call"
)

// The kinds of entry.
const (
	Run      = "run"      // a program: it began, was parked, ended
	Call     = "call"     // one call of a program
	Approval = "approval" // an answer of a person, or that it came too late
	Grant    = "grant"    // a grant was given, used, revoked
	Policy   = "policy"   // the configuration changed
	Access   = "access"   // somebody was admitted or refused
	Notice   = "notice"   // about the record itself
	Keeping  = "result"   // a result was kept for later programs, or read
	Session  = "session"  // a session was forked, rolled back or deleted
)

// The states of runs and calls. Other kinds have states of their own.
const (
	Pending = "pending" // a person is asked
	Refused = "refused" // decided, and nothing was sent
	Running = "running" // about to be sent; for a run: begun
	Parked  = "parked"  // the run waits for a person, and holds no thread
	Resumed = "resumed" // another process goes on with the run

	OK      = "ok"
	Failed  = "error"
	Unknown = "unknown"  // sent, and the outcome is unknown
	NotSent = "not_sent" // recorded as running, and then not sent after all

	Allowed = "allowed" // of an approval: yes; any other state says why not
)

// An Entry is one line of the record. Only the fields that apply are set.
type Entry struct {
	V     int       `json:"v"`
	Chain int64     `json:"chain"`
	Seq   int64     `json:"seq"` // in its chain, without gaps, from 1
	Time  time.Time `json:"time"`
	Prev  string    `json:"prev"`           // hash of the entry before
	Hash  string    `json:"hash,omitempty"` // SHA-256 of the entry without this field, as canonical JSON

	Kind  string `json:"kind"`
	State string `json:"state"`

	Run       string `json:"run,omitempty"`
	Call      int    `json:"call,omitempty"`
	Principal string `json:"principal,omitempty"`
	Client    string `json:"client,omitempty"`
	Session   string `json:"session,omitempty"`
	Role      string `json:"role,omitempty"`
	Script    string `json:"script,omitempty"`

	Profile        string `json:"profile,omitempty"`
	ProfileDigest  string `json:"profileDigest,omitempty"`
	Server         string `json:"server,omitempty"`
	Tool           string `json:"tool,omitempty"`
	ToolDefinition string `json:"toolDefinition,omitempty"`

	Verdict   string     `json:"verdict,omitempty"` // deny, ask or allow; connect: an account was asked for
	Risk      string     `json:"risk,omitempty"`
	Rules     []Rule     `json:"rules,omitempty"`
	DecidedBy *DecidedBy `json:"decidedBy,omitempty"`

	Args    *Args    `json:"args,omitempty"`
	Result  *Result  `json:"result,omitempty"`
	Program *Program `json:"program,omitempty"`

	Reason string  `json:"reason,omitempty"` // why it was refused or failed, as programs see it
	Detail string  `json:"detail,omitempty"` // a sentence
	MS     float64 `json:"ms,omitempty"`     // from the moment it was sent, or the run began

	// Count is how many similar events this entry stands for; 0 means one. Tools names their tools.
	Count int            `json:"count,omitempty"`
	Tools map[string]int `json:"tools,omitempty"`

	Data json.RawMessage `json:"data,omitempty"` // more, by kind; JSON
}

// A Rule took part in a decision.
type Rule struct {
	ID     string `json:"id"`
	At     string `json:"at,omitempty"` // file:line
	Layer  string `json:"layer,omitempty"`
	Result string `json:"result,omitempty"` // true or unknown
}

// DecidedBy says who or what decided.
type DecidedBy struct {
	// rule, default, floor, person, grant, fallback, limit, definition_changed, bypass, error
	How       string `json:"how"`
	Channel   string `json:"channel,omitempty"`
	Principal string `json:"principal,omitempty"`
	Proof     string `json:"proof,omitempty"`     // passkey: the person confirmed this answer with one
	LatencyMS int64  `json:"latencyMs,omitempty"` // of a person
	Scope     string `json:"scope,omitempty"`
	Grant     string `json:"grant,omitempty"`
}

// Args are the arguments of a call in the four forms that can differ, as keyed digests of their bytes. Redacted is the
// form stored in the entry, with secrets masked.
type Args struct {
	Proposed   string          `json:"proposed,omitempty"`   // by the program
	Shown      string          `json:"shown,omitempty"`      // to a person
	Authorised string          `json:"authorised,omitempty"` // by a person or the policy
	Executed   string          `json:"executed,omitempty"`   // sent
	Redacted   json.RawMessage `json:"redacted,omitempty"`
	Bytes      int             `json:"bytes,omitempty"` // of the whole, where Redacted is shorter

	// The input of the digests. It is never stored.
	RawProposed, RawShown, RawAuthorised, RawExecuted call.Arguments `json:"-"`
}

// A Result is the result of a call or a run.
type Result struct {
	Digest   string          `json:"digest,omitempty"`
	Bytes    int             `json:"bytes"`
	Redacted json.RawMessage `json:"redacted,omitempty"`

	Raw json.RawMessage `json:"-"` // the input of the digest; never stored
}

// A Program is the source of a run.
type Program struct {
	Name   string `json:"name,omitempty"`
	Digest string `json:"digest"` // sha256 of the whole source
	Bytes  int    `json:"bytes"`
	Text   string `json:"text,omitempty"` // secrets masked, cut at the end

	DigestOnly bool `json:"-"` // leave the text out
}
