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

	Loaded = "loaded" // of a kept result: a program or its client is about to read it

	Allowed = "allowed" // of an approval: yes; any other state says why not
)

// An Entry is one line of the record. Only the fields that apply are set.
type Entry struct {
	V     int       `json:"v"`              // version of the format
	Chain int64     `json:"chain"`          // each process that writes has one of its own
	Seq   int64     `json:"seq"`            // in its chain, without gaps, from 1
	Time  time.Time `json:"time"`           // when it was written
	Prev  string    `json:"prev"`           // hash of the entry before
	Hash  string    `json:"hash,omitempty"` // SHA-256 of the entry without this field, as canonical JSON

	Kind  string `json:"kind"`  // what it is about
	State string `json:"state"` // what became of that

	Run       string `json:"run,omitempty"`       // id of the run
	Call      int    `json:"call,omitempty"`      // number of the call in its run, from 1
	Principal string `json:"principal,omitempty"` // for whom the program runs
	Client    string `json:"client,omitempty"`    // name of the MCP client, as it says; console for the page
	Session   string `json:"session,omitempty"`   // of the client, or the one that was made for a role
	Role      string `json:"role,omitempty"`      // of a session that was made for one
	Script    string `json:"script,omitempty"`    // name of a saved program

	Profile        string `json:"profile,omitempty"`        // the rules that decided
	ProfileDigest  string `json:"profileDigest,omitempty"`  // of these rules as they were
	Server         string `json:"server,omitempty"`         // name of the server in the configuration
	Tool           string `json:"tool,omitempty"`           // full name, server__tool
	ToolDefinition string `json:"toolDefinition,omitempty"` // digest of the tool's definition as it was

	Verdict   string     `json:"verdict,omitempty"`   // deny, ask or allow; connect: an account was asked for
	Risk      string     `json:"risk,omitempty"`      // low, medium, high or critical
	Rules     []Rule     `json:"rules,omitempty"`     // that took part in the decision
	DecidedBy *DecidedBy `json:"decidedBy,omitempty"` // who or what had the last word

	Args    *Args    `json:"args,omitempty"`    // of a call
	Result  *Result  `json:"result,omitempty"`  // of a call or a run
	Program *Program `json:"program,omitempty"` // of a run

	Reason string  `json:"reason,omitempty"` // why it was refused or failed, as programs see it
	Detail string  `json:"detail,omitempty"` // a sentence
	MS     float64 `json:"ms,omitempty"`     // from the moment it was sent, or the run began

	Count int            `json:"count,omitempty"` // how many similar events this entry stands for; 0 means one
	Tools map[string]int `json:"tools,omitempty"` // and how many of each tool

	Data json.RawMessage `json:"data,omitempty"` // more, by kind; JSON

	Sealed string `json:"sealed,omitempty"` // digest of the values, encrypted, that the entry shows masked or cut
	sealed string // the encrypted values; [Entry.Reveal] reads them

	Lean bool `json:"lean,omitempty"` // only digests are kept of values: half of the share of the record was used up

	// Owner is whose share of the record the entry uses, see [Options.Share]: a principal that somebody verified. "" is
	// all others together.
	Owner string `json:"-"`
	// Unbegun says that the entry refuses something that no other entry mentions. It may be counted instead.
	Unbegun bool `json:"-"`
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
	Proof     string `json:"proof,omitempty"`     // sign-in: the person signed in anew for this question
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
	Bytes      int             `json:"bytes,omitempty"` // of the whole, where Redacted is masked or cut

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
