package audit

import "github.com/codemode-project/codemode/call"

// The kinds of entry.
const (
	Run      = "run" // a program: it began, was parked, ended
	Call     = call.KindCall
	Approval = call.KindApproval
	Grant    = "grant"  // a grant was given, used, revoked
	Policy   = "policy" // the configuration changed
	Access   = "access" // somebody was admitted or refused
	Notice   = "notice" // about the record itself
	Keeping  = call.KindResult
	Session  = "session" // a session was forked, rolled back or deleted
)

// The states of runs and calls. Other kinds have states of their own.
const (
	Pending = call.Pending
	Refused = call.Refused
	Running = call.Running // for a run: begun
	Parked  = "parked"     // the run waits for a person, and holds no thread
	Resumed = "resumed"    // another process goes on with the run

	OK      = call.OK
	Failed  = call.Failed
	Unknown = call.Unknown
	NotSent = call.NotSent
)

// An Entry is one line of the record: what it says, and its place in a chain.
type Entry struct {
	V     int    `json:"v"`              // version of the format
	Chain int64  `json:"chain"`          // each process that writes has one of its own
	Seq   int64  `json:"seq"`            // in its chain, without gaps, from 1
	Prev  string `json:"prev"`           // hash of the entry before
	Hash  string `json:"hash,omitempty"` // SHA-256 of the entry without this field, as canonical JSON

	call.Entry

	Sealed string `json:"sealed,omitempty"` // digest of the values, encrypted, that the entry shows masked or cut
	sealed string // the encrypted values; [Entry.Reveal] reads them

	Lean bool `json:"lean,omitempty"` // only digests are kept of values: half of the share of the record was used up
}
