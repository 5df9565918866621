package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/console/records"
	"github.com/codemode-project/codemode/internal/record/audit"
)

// A Result is the response to POST /api/answer.
type Result struct {
	ID    string `json:"id"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
	Note  string `json:"note,omitempty"` // what else happened
	// SignIn is the path to open in a browser, if a yes needs a new sign-in of the person. The page takes the answer then.
	SignIn string `json:"signIn,omitempty"`
	// Pointer is the place in other arguments that Error is about, as a JSON Pointer; absent is all of them.
	Pointer string `json:"pointer,omitempty"`

	// Outcome is how the call ended by the record, if the answer waited for it: ok, error, refused, unknown.
	Outcome string          `json:"outcome,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"` // the result of the call, with secrets masked
	Why     string          `json:"why,omitempty"`   // without a value: a sentence, made visible

	status int
	about  *prompt.Request // the answered request; nil if the answer did not count
	edited bool            // the person changed the program's arguments
	other  bool            // the question was closed without an answer of this session
	asked  *prompt.Request // the same, for an allowed call with its end in the record
}

// became says in a few words how an allowed call ended; "" if it is not known yet.
func (r *Result) became() string {
	if r.asked == nil {
		return ""
	}
	switch name := prompt.Heading(r.asked); r.Outcome {
	case "":
		return "under way: " + name
	case audit.OK:
		return "done: " + name
	default:
		return fmt.Sprintf("not done (%s): %s: %s", r.Outcome, name, cmp.Or(r.Why, "the record says no more"))
	}
}

// tell copies the end of a call from an entry.
func (x *Result) tell(e *audit.Entry) {
	x.Outcome, x.Why = e.State, word(e.Detail)
	if e.Result != nil {
		x.Value = e.Result.Redacted
	}
}

// An answered is one answer on the pages of a session, to one question or to several of one run.
type answered struct {
	ids       []string
	time      time.Time
	principal string // on whose behalf the program calls
	tool      string // or "one program", if they are calls of several
	run       string // "" if the record has no outcome of them
	allowed   bool
	inquiry   bool
	edited    bool // a person changed the arguments
	other     bool // the question was closed without an answer of this session
	calls     []answeredCall
	said      map[int]string  // by number of the call: who answered what, if other and known. The session's mutex guards it
	results   map[int]*Result // by number of the call: how it ended, if known. The session's mutex guards it
}

// An answeredCall is one call of an answer.
type answeredCall struct {
	number  int
	summary string
}

// state says in a few words how a call ended, with the class of the element.
func (a *answered) state(call int) (state, class string) {
	got := a.results[call]
	switch {
	case a.other && a.run == "":
		return "answered elsewhere, or its time is over", "plainly"
	case a.other && a.said[call] == "":
		return "closed", "open"
	case a.other:
		return a.said[call], "plainly"
	case a.inquiry && a.allowed:
		return "answered", "good"
	case a.inquiry:
		return "not answered", "plainly"
	case !a.allowed:
		return "denied", "plainly"
	case a.run == "":
		return "allowed", "good"
	case got == nil:
		return "under way", "open"
	case got.Outcome == audit.OK:
		return records.StateWord(audit.OK), "good"
	case got.Outcome == audit.Refused:
		return "refused after all", "bad"
	}
	return records.StateWord(got.Outcome), "bad"
}
