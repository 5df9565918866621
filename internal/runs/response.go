package runs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/results"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/sandbox"
)

// A Response is the result of a run, however it ended.
type Response struct {
	Run            string          // its name in the record; "" if no run began
	Value          json.RawMessage // nil is undefined
	Console        []sandbox.Line
	ConsoleDropped int // bytes
	ConsoleSeen    int // lines that the reader of Text and Notes has seen already; they leave these out
	Calls          []hostfns.Report
	Queued         int             // calls that had not reached the Gate when the run ended
	Blocks         []hostfns.Block // content on the host with handles in Value
	BlocksLeft     int             // how many of them did not fit
	Missing        []string        // servers that were starting when the program looked for tools
	Usage          sandbox.Usage
	Kept           []*Kept     // what Text does not show in full, kept for later programs
	Session        *SessionEnd // nil without Request.Session
	Absent         []string    // parts that the program reads of results and that none of them had, in sentences

	mistaken []analysis.Unawaited // where the program takes a promise for its value
	timers   int                  // that repeat, and that were left when it had ended

	key    string // its client reattaches with it
	kept   *Ended // how the run ended in another process
	source string // the program's text, for excerpts
	name   string
	limit  int // bytes of Text

	everyCall bool

	keptValue, keptConsole *Kept // those of Kept; nil if nothing of it was cut
}

// An Ended is the stored result of a run that had been parked or has an idempotency key: the response to its client.
type Ended struct {
	Run    string            `json:"run"`
	Failed bool              `json:"failed"`
	Text   string            `json:"text"`
	Blocks []json.RawMessage `json:"blocks,omitempty"` // MCP content, for after the text

	// Value is what the program returned, if Whole says that Text shows all of it and that it has no Blocks. Nil is
	// undefined.
	Value json.RawMessage `json:"value,omitempty"`
	Whole bool            `json:"whole,omitempty"`
	// Kind and Why say how a failed run ended.
	Kind sandbox.Kind `json:"kind,omitempty"`
	Why  string       `json:"why,omitempty"`
}

// response rebuilds the response for the client of the run.
func (k *Ended) response() (*Response, error) {
	r := &Response{Run: k.Run, Value: k.Value, kept: k}
	for i, b := range k.Blocks {
		r.Blocks = append(r.Blocks, hostfns.Block{Handle: fmt.Sprint(i), JSON: b})
	}
	if k.Failed {
		return r, &sandbox.Error{Kind: k.Kind, Message: k.Why}
	}
	return r, nil
}

// A SessionEnd is what became of the session of a run.
type SessionEnd struct {
	Name    string `json:"name"`
	Version int64  `json:"version,omitempty"` // that the program left; 0 if it left none
	Problem string `json:"problem,omitempty"` // why it left none, though it returned or threw
	// Pending at the end of the program, and dropped: timers that repeat, and promises that something waited for.
	Timers   int `json:"timers,omitempty"`
	Promises int `json:"promises,omitempty"`
	// Constants are names that the program declared as constants and that were variables before: functions of earlier
	// programs can still change them.
	Constants []string `json:"constants,omitempty"`
}

// A Kept is a value or the output of a console that [Response.Text] does not show in full.
type Kept struct {
	What    string    `json:"what"`              // value or console
	Handle  string    `json:"handle,omitempty"`  // for codemode.load and [results.URI]; "" if it was not kept
	Shape   string    `json:"shape,omitempty"`   // in words
	Bytes   int       `json:"bytes"`             // of its JSON
	Part    string    `json:"part,omitempty"`    // an example of a part of it, as codemode.load takes it
	Expires time.Time `json:"expires,omitzero"`  // when it is gone
	Problem string    `json:"problem,omitempty"` // why it was not kept
}

// note says where the whole is. example selects a part of it; "" is that of its largest array.
func (k *Kept) note(example string) string {
	if k.Handle == "" {
		return "It is not kept: " + k.Problem + "; return only the part that is needed"
	}
	example = cmp.Or(example, k.Part)
	return fmt.Sprintf("It is %s, kept until %s: await codemode.load(%q, %s) reads a part in a later program, and a "+
		"client reads the resource %s%s", k.Shape, until(k.Expires), k.Handle, example, results.URI, k.Handle)
}

func until(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

// consolePart is the example of a part of a console: its lines are the elements of an array.
const consolePart = `{from: 0, count: 100}`

// A ValueError says that a program returned something else than the Go type takes.
type ValueError struct {
	Pointer string // JSON Pointer to the place in the value; "" is the whole
	Want    string // what the Go type takes, in words
	Got     string // what the program returned there: its JSON, if that is short
	Why     string // what the reader or a method of the Go type says; "" for nothing
}

func (e *ValueError) Error() string {
	at := ""
	if e.Pointer != "" {
		at = " at " + e.Pointer
	}
	text := fmt.Sprintf("the program returned %s%s, want %s", e.Got, at, e.Want)
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// Decode stores the value that the program returned in v, a pointer, as encoding/json does. The error is [*ValueError]
// if the value does not fit. It says where.
//
// An integer is never rounded: Decode refuses one that a float64 does not hold, also in an interface, and stores it in
// int64, [json.Number] or [*big.Int]. undefined and null are nil in a pointer, slice, map or interface; other types
// refuse them.
func (r *Response) Decode(v any) error {
	to := reflect.ValueOf(v)
	switch {
	case to.Kind() != reflect.Pointer || to.IsNil():
		return fmt.Errorf("Decode needs a pointer to store the value in, this is %T", v)
	case r.kept != nil && !r.kept.Whole && !r.kept.Failed:
		return errors.New("of this run, which an earlier request began, only the text is stored, because the value did not " +
			"fit into it: use Text, or return less")
	}
	value := r.Value
	if value == nil {
		value = json.RawMessage("null")
	}
	err := strictjson.Unmarshal(value, v)
	wrong, ok := errors.AsType[*strictjson.Mismatch](err)
	if !ok {
		return err
	}
	e := ValueError(*wrong)
	if r.Value == nil {
		e.Got = "nothing (its value is what it passes to return)"
	}
	return &e
}
