package codemode

import (
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// What a server that offers an Evaluator to clients needs of it, beside running programs.

// DeriveKey makes a key of 32 bytes out of that of the record, for one purpose: processes that share the key of the record share it too.
// An Evaluator that keeps no record has none, and the key is nil.
func (e *Evaluator) DeriveKey(purpose string) []byte {
	if e.record.Key == nil {
		return nil
	}
	return e.record.Key.Derive(purpose)
}

// LateAnswer records that a person answered a question which was decided by then. Such an answer changes nothing.
func (e *Evaluator) LateAnswer(r *prompt.Request, a call.Answer) { e.people.Desk.Late(r, a) }
