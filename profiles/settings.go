package profiles

import (
	"cmp"
	"slices"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Limits bound a run. A zero field means that the file does not set it; the enforcing code then uses its default.
type Limits struct {
	Asks          int `key:"asks"`          // Questions to people in a run.
	AsksPerMinute int `key:"asksPerMinute"` // Questions to people in a minute.
	Pending       int `key:"pending"`       // Open questions at the same time.
	Refusals      int `key:"refusals"`      // Refusals after which a run ends.
	// Calls in a run, those that search for tools included. A further one throws a ToolCallDeniedError with the reason
	// limit, which the program can catch.
	Calls    int `key:"calls"`
	Repeat   int `key:"repeat"`   // Identical calls after which a person is asked.
	InFlight int `key:"inFlight"` // Calls at the same time.
	// Processor time of a run: what its own program uses, not what it waits while others compute. Only Linux tells;
	// elsewhere the time between two turns of a program counts, also while other processes have the processor.
	CPU           time.Duration `key:"cpu"`
	Wall          time.Duration `key:"wall"`                      // Time of a run, without waiting for people.
	Call          time.Duration `key:"call"`                      // Time of one call.
	Memory        int64         `key:"memory" form:"size"`        // Memory of a program.
	ArgumentBytes int           `key:"argumentBytes" form:"size"` // Arguments of one call.
	ResultBytes   int           `key:"resultBytes" form:"size"`   // Result of a run.
	ConsoleBytes  int           `key:"consoleBytes" form:"size"`  // Console output of a run.
	ProgramBytes  int           `key:"programBytes" form:"size"`  // The program itself.
}

// Asking is how to ask people ("ask" in a profile). A zero field means that the file does not set it.
type Asking struct {
	// Where people are asked.
	//
	// Nil is anywhere, empty is nowhere.
	Channels []string      `key:"channels" words:"elicitation web terminal" min:"1" firm:"yes"`
	Timeout  time.Duration `key:"timeout"` // How long one question waits for its answer.
	Budget   time.Duration `key:"budget"`  // How long all questions of a run may wait together.
	// An answer that comes faster is not a person's. The page and the terminals refuse it, and it can be given again.
	MinHuman  time.Duration `key:"minHuman"`
	Batch     *bool         `key:"batch"`                      // Gather the questions of a run in one form.
	Edit      *bool         `key:"edit"`                       // People may change the arguments.
	Approver  string        `key:"approver" words:"any other"` // "other": whoever asked may not answer.
	OtherOnly bool          // that, as profiles have it
	// What a question does while nobody is there who may answer it on the page or in a terminal. "wait": it stays open
	// until its timeout. "refuse": it is refused if nobody is there when it comes. Left out: wait where this process
	// serves the page or the key responder is set, unless elicitationFallback is written; and where somebody is notified
	// of the question and of the page, unless it is "allow"; else refuse.
	Absent string `key:"absent" words:"wait refuse" firm:"yes"`
}

// Check takes from an untrusted file no time that is shorter than the usual one.
func (a *Asking) Check(r *settings.Reader, n strictjson.Value, _ string) {
	a.OtherOnly, a.Approver = a.Approver == "other", ""
	at := settings.Member(n, "minHuman")
	if a.MinHuman < usualMinHuman && at.Kind() != strictjson.Missing && r.Stranger(at) {
		a.MinHuman = 0
	}
}

// absentWait is the value of "absent" that keeps a question open while nobody is present.
const absentWait = "wait"

// Awaits reports whether a question waits for people who are not present yet, on the page or in a terminal. By default
// a profile waits if people are expected, unless it allows the call in their absence (fallback).
func (a Asking) Awaits(expected, fallback bool) bool {
	return a.Absent == absentWait || a.Absent == "" && expected && !fallback
}

// Redact says what not to show or record in clear.
type Redact struct {
	// Patterns over names of members whose values are hidden. The record hides all of them. A question still shows paths,
	// URLs, commands and long texts, which a person has to read.
	Keys []string `key:"keys" each:"a key pattern"`
	// JSON Pointers to what is hidden; * stands for any member or element.
	Pointers []string `key:"pointers" form:"pointer" each:"a JSON Pointer"`
	// What else is hidden of the calls of some tools.
	Tools    []RedactTools `key:"tools" min:"1" each:"an element of 'tools'"`
	Detect   bool          `key:"detect"` // Hide what has the form of a secret, too.
	NoDetect bool          // do not: a file said so, and none said Detect
}

// RedactTools says what else not to show or record of the calls of some tools.
type RedactTools struct {
	// A pattern over the names of tools.
	Tool     string   `json:"tool" key:"tool" form:"pattern" need:"add 'tool': 'server__tool' or a pattern"`
	Keys     []string `json:"keys,omitempty" key:"keys" each:"a key pattern"`
	Pointers []string `json:"pointers,omitempty" key:"pointers" form:"pointer" each:"a JSON Pointer"`
	glob     *match.Pattern
}

// Check reads the patterns and the pointers.
func (x *Redact) Check(r *settings.Reader, n strictjson.Value, _ string) {
	x.NoDetect = settings.Member(n, "detect").Kind() == strictjson.False
	checkHidden(r, n)
}

// Check reads the patterns and the pointers.
func (t *RedactTools) Check(r *settings.Reader, n strictjson.Value, _ string) {
	if t.Tool != "" {
		t.glob = match.ReadPattern(r, settings.Member(n, "tool"), match.ParseName)
	}
	checkHidden(r, n)
}

func checkHidden(r *settings.Reader, n strictjson.Value) {
	for _, child := range settings.Member(n, "keys").Elements() {
		if child.Kind() == strictjson.String && child.Text() != "" {
			match.ReadPattern(r, child, match.ParseText)
		}
	}
	for _, child := range settings.Member(n, "pointers").Elements() {
		if child.Kind() == strictjson.String && child.Text() != "" {
			match.ReadPointer(r, child.Text(), child.Offset(), child.End())
		}
	}
}

// Of says what not to show or record of the calls of a tool.
func (x Redact) Of(tool string) Redact {
	for _, t := range x.Tools {
		if t.glob.Match(tool) {
			x.Keys, x.Pointers = slices.Concat(x.Keys, t.Keys), slices.Concat(x.Pointers, t.Pointers)
		}
	}
	x.Tools = nil
	return x
}

// usualTimeout is how long a question waits by default, see DefaultTimeout in package approvals.
const usualTimeout = 2 * time.Minute

// usualMinHuman is the default minimum time of a person's refusal, see DefaultMinHuman in package approvals.
const usualMinHuman = 300 * time.Millisecond

// How long a grant may last: by default, and at most unless the profile says more.
const (
	defaultRemember    = 5 * time.Minute
	defaultMaxRemember = 8 * time.Hour
)

// remembered is the key "remember"; nil remembers nothing.
type remembered struct{ *call.Remember }

// ReadKey reads the value of the key.
func (m *remembered) ReadKey(r *settings.Reader, n strictjson.Value, what string, _ *settings.Spec) {
	m.Remember = &call.Remember{}
	r.Decode(n, what, m.Remember)
	if most := cmp.Or(m.Max, defaultMaxRemember); m.Default > most {
		r.Wrong(settings.Member(n, "default"), `lower it, or raise "max"`, "the default is longer than the maximum of %s",
			most)
	}
}
