package hostfns

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// The kinds of entry. A call has one refused entry, or a running entry that is
// followed by an outcome entry; a running entry alone means that the process
// ended first and nobody knows what happened.
const (
	KindRefused = "refused" // decided, and nothing was sent
	KindRunning = "running" // decided, and about to be sent
	KindOutcome = "outcome" // how it ended
)

// An Entry is one line of the record. Arguments appear only as a digest.
type Entry struct {
	Time time.Time `json:"time"`
	Kind string    `json:"kind"`

	Run       string `json:"run"`
	Call      int    `json:"call"`
	Principal string `json:"principal,omitempty"`
	Client    string `json:"client,omitempty"`

	Profile        string `json:"profile"`
	ProfileDigest  string `json:"profileDigest,omitempty"`
	Server         string `json:"server,omitempty"`
	Tool           string `json:"tool"`
	ToolDefinition string `json:"toolDefinition,omitempty"`
	Args           string `json:"args,omitempty"` // sha256 of the bytes that were decided on

	Verdict   string        `json:"verdict"`
	Risk      string        `json:"risk,omitempty"`
	Rule      string        `json:"rule,omitempty"`
	At        string        `json:"at,omitempty"`
	DecidedBy string        `json:"decidedBy"` // rule, default, person, fallback, limit, error
	Channel   string        `json:"channel,omitempty"`
	Waited    time.Duration `json:"waited,omitempty"` // for a person

	Reason  string        `json:"reason,omitempty"`  // of a refusal
	Outcome string        `json:"outcome,omitempty"` // ok, error, unknown or not_sent
	Took    time.Duration `json:"took,omitempty"`
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
