package approvals

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// The JSON that a Store keeps of a question and of its answer.

// storedVersion changes whenever the meaning of either changes.
const storedVersion = 2

// A storedQuestion is a question in the form of the store.
type storedQuestion struct {
	V        int             `json:"v"`
	Request  *prompt.Request `json:"request"`
	Channels []string        `json:"channels"`          // the channels that may answer it
	Notices  []string        `json:"notices,omitempty"` // those that only show it
	MinHuman time.Duration   `json:"minHuman,omitempty"`
	Edits    bool            `json:"edits,omitempty"` // people may change the arguments
}

// A storedAnswer is an answer in the form of the store.
type storedAnswer struct {
	V       int           `json:"v"`
	Yes     bool          `json:"yes"` // as in the store's own field, but sealed where the store seals
	Channel string        `json:"channel"`
	By      string        `json:"by,omitempty"`
	Proof   string        `json:"proof,omitempty"`
	Given   time.Time     `json:"given,omitzero"`
	Reason  string        `json:"reason,omitempty"`
	Scope   call.Scope    `json:"scope,omitempty"`
	Length  time.Duration `json:"length,omitempty"` // of a grant
	Uses    int           `json:"uses,omitempty"`   // of a grant
	Edited  string        `json:"edited,omitempty"` // the question for the arguments that were allowed instead

	Selected []int  `json:"selected,omitempty"` // the answer to an Inquiry
	Text     string `json:"text,omitempty"`
}

// ReadPending returns a stored question as it was asked. Pass only bytes from this user's own store: ReadPending trusts
// them.
func ReadPending(p *Pending) (*prompt.Request, error) {
	w, err := readStored(p)
	if err != nil {
		return nil, err
	}
	return w.Request, nil
}

func readStored(p *Pending) (*storedQuestion, error) {
	w := &storedQuestion{}
	if err := json.Unmarshal(p.Question, w); err != nil {
		return nil, fmt.Errorf("question %s cannot be read: %w", p.ID, err)
	}
	switch r := w.Request; {
	case w.V != storedVersion || r == nil:
		return nil, fmt.Errorf("question %s was written by another version", p.ID)
	case r.ID != p.ID || r.Run != p.Run || r.Call != p.Call || r.Principal != p.Principal || r.Digest != p.Digest:
		return nil, fmt.Errorf("question %s does not match its row in the store", p.ID)
	case !r.Expires.Equal(p.Expires):
		return nil, fmt.Errorf("question %s does not expire when its row in the store says", p.ID)
	}
	return w, nil
}

// InsteadOf returns the ID of the question for the changed arguments, if a stored answer allowed other arguments than
// those of its question; else "".
func InsteadOf(answer json.RawMessage) string { return readAnswer(answer).Edited }

// readAnswer reads a stored answer. An unreadable one is a no.
func readAnswer(answer json.RawMessage) (s storedAnswer) {
	if err := json.Unmarshal(answer, &s); err != nil || s.V != storedVersion {
		return storedAnswer{Channel: "unknown"}
	}
	return s
}
