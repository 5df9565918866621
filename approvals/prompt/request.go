package prompt

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/call"
)

// A Request is one question to a person: a call that needs a yes or, with an Inquiry, a question of the program itself.
// Rendering trusts none of it: it escapes every field.
//
// The fields with a JSON name are what the approval store keeps of a question, see package approvals. Changing these
// names changes the version of the stored form.
type Request struct {
	Server string `json:"server,omitempty"` // as the configuration names it
	Tool   string `json:"tool,omitempty"`   // as the upstream names it
	Name   string `json:"name,omitempty"`   // canonical, server__tool; the heading is made from it

	Profile string    `json:"profile,omitempty"`
	Risk    call.Risk `json:"risk,omitempty"`
	Rule    string    `json:"rule,omitempty"`    // id of the rule that asked, or its place in the file
	Reasons []string  `json:"reasons,omitempty"` // what the profile says about it
	// Firm says that a person must answer: a grant or a fallback is not enough.
	Firm  bool  `json:"firm,omitempty"`
	Terms Terms `json:"terms,omitzero"` // what a person may give beyond a yes to this call

	// Inquiry makes r a question of the program itself, in the program's words. Then r has no call, and a yes is an
	// answer. An Inquiry is always asked alone.
	Inquiry *Inquiry `json:"inquiry,omitempty"`

	Args    json.RawMessage `json:"args,omitempty"`    // the bytes that will be sent
	Sources []Source        `json:"sources,omitempty"` // where they come from, as far as known

	// Edit says that a person may answer with other arguments, over a channel that supports it. It returns an error for
	// arguments that are invalid. Nil means that a person may not change them. An error with a method Pointer() string
	// gives the place, as a JSON Pointer. Edit is called from many goroutines.
	Edit func(args json.RawMessage) error `json:"-"`
	// Input is the tool's JSON Schema of its arguments, from which a form to change them is made; nil for none.
	Input json.RawMessage `json:"input,omitempty"`

	Title       string `json:"title,omitempty"`       // the upstream's words about the tool; shown last and marked as such
	Description string `json:"description,omitempty"` // the upstream's words about the tool; shown last and marked as such

	Preview Preview `json:"preview,omitzero"`
	// Plan holds grants for the calls to come that the program's text shows, see [PlanGrants]: a person may give them
	// with a yes to this call. They are shown whole.
	Plan []*Grant `json:"plan,omitempty"`
	// Ahead says that r is not a call: a person may allow Plan before the program runs, for one run of it. Name is
	// planTool, Args are the contents of the plan, for the Binding and the record, and Definition is the digest of the
	// program.
	Ahead bool   `json:"ahead,omitempty"`
	Code  string `json:"code,omitempty"` // short random code that ties the question to its answer, see NewCode

	// What an answer is also bound to; not shown.
	ProfileDigest string `json:"profileDigest,omitempty"` // of the current profile; for the record, where there is a Basis
	Basis         string `json:"basis,omitempty"`         // of the question, see [call.Decision.Basis]
	Asker         string `json:"asker,omitempty"`         // of grants for such calls, see [call.Decision.Asker]
	ServerID      string `json:"serverID,omitempty"`      // digest of how the server is reached
	Definition    string `json:"definition,omitempty"`    // digest of the tool's definition
	Principal     string `json:"principal,omitempty"`     // for whom the call is made
	Session       string `json:"session,omitempty"`       // in which session, if there is one

	ID string `json:"id,omitempty"` // of the question, 128 random bits, set by the Desk
	// Digest of what an answer is bound to; set by the Desk. A person who answers remotely has to repeat it.
	Digest string `json:"digest,omitempty"`
	// Expires is when the question expires. With ID and Digest it says that an earlier process asked this question and
	// is gone: the Desk asks it again unchanged, if it is still the same.
	Expires time.Time `json:"expires,omitzero"`
	// Until is the deadline of the answer when the question was asked; set by the Desk, see Deadline.
	Until time.Time `json:"until,omitzero"`
	// Ends is the current deadline; it holds nil while the question waits for its turn. Ends itself is nil in other
	// processes.
	Ends *atomic.Pointer[time.Time] `json:"-"`
	// OtherOnly says that the person who started the run may not answer; set by the Desk.
	OtherOnly bool      `json:"otherOnly,omitempty"`
	Run       string    `json:"run,omitempty"`  // the run that makes the call
	Call      int       `json:"call,omitempty"` // its number within the run
	Time      time.Time `json:"time,omitzero"`  // when the question arose; not shown

	Display Display `json:"display,omitzero"`

	// Elsewhere says in a sentence, without a full stop, who can answer beside forms; from the Desk.
	Elsewhere string `json:"-"`

	MinHuman time.Duration `json:"-"` // how long a person needs at least; from the Desk
}

// Kind is what r asks about: a call, the plan of a program before its run, a question of the program, or an account to
// connect.
func (r *Request) Kind() string {
	switch {
	case r.Inquiry != nil && r.Inquiry.Connect != "":
		return "account"
	case r.Inquiry != nil:
		return "question"
	case r.Ahead:
		return "plan"
	}
	return "call"
}

// Deadline is when the time to answer ends. It is zero while the question waits for its turn in a channel that shows
// one question at a time: its clock stands still then.
func (r *Request) Deadline() time.Time {
	if r.Ends == nil {
		return r.Until
	}
	if t := r.Ends.Load(); t != nil {
		return *t
	}
	return time.Time{}
}

// Own reports whether somebody may be the one who asked, and so may not answer r. Nobody is another one than a caller
// without a name.
func (r *Request) Own(by string) bool {
	return r.OtherOnly && (by == "" || r.Principal == "" || by == r.Principal)
}

// Display narrows what is shown of the arguments. The zero value cuts at the defaults and masks values that look like
// secrets. Where a high risk requires everything to be shown, its numbers do not apply.
type Display struct {
	// Patterns of keys with values to mask, in addition to the built-in ones; * is any characters.
	Keys []string `json:"keys,omitempty"`
	// JSON Pointers of values to mask; a segment * is any key or index.
	Pointers []string `json:"pointers,omitempty"`
	// Show values that look like tokens or private keys, unless their key says secret.
	NoDetect bool `json:"noDetect,omitempty"`

	String int `json:"string,omitempty"` // longest text shown whole, in characters on the screen; 0 is 800
	Items  int `json:"items,omitempty"`  // most entries of an object or array shown; 0 is 24
	Depth  int `json:"depth,omitempty"`  // deepest level shown; 0 is 6
}

// A Source says where one argument comes from, as far as known.
type Source struct {
	Pointer string `json:"pointer,omitempty"` // JSON Pointer of a text or number in the arguments
	// Canonical name of the tool that answered with the value; "" says that the program's text contains it.
	Tool string `json:"tool,omitempty"`
	Call int    `json:"call,omitempty"` // the number of that call in the run
}

// A Preview lists the calls that the program's text shows. It decides nothing.
type Preview struct {
	Calls   []PreviewCall `json:"calls,omitempty"`
	Dynamic bool          `json:"dynamic,omitempty"` // some calls have a name that only the running program knows
}

// A PreviewCall is one call that the text shows, by its canonical name.
type PreviewCall struct {
	Name   string `json:"name,omitempty"`
	Line   int    `json:"line,omitempty"`   // 1-based
	Column int    `json:"column,omitempty"` // 1-based
}

// NewCode returns four random hexadecimal digits. People compare them; they are not a credential.
func NewCode() string {
	var b [2]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
