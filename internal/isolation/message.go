// Package isolation has the messages of the isolation protocol, version 1, and the side of an engine in it.
//
// docs/isolation-protocol.md describes the protocol. [Write] and [Read] are for both sides. [Serve] is a whole engine
// but for the running of programs:
//
//	err := isolation.Serve(os.Stdin, os.Stdout, isolation.Hello{Name: "mine", Version: "1", Language: "javascript"},
//		func(ctx context.Context, run isolation.Run, call isolation.CallFunc) isolation.Outcome {
//			value, err := evaluate(ctx, run.Program, call)
//			if err != nil {
//				return isolation.Outcome{Outcome: isolation.Error, Message: err.Error()}
//			}
//			return isolation.Outcome{Outcome: isolation.Value, Value: value}
//		})
package isolation

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Protocol is the version of the protocol.
const Protocol = 1

// A Message is a [Hello], [Run], [Call], [Answer] or [Outcome].
type Message interface{ kind() string }

// Hello is the first message of an engine.
type Hello struct {
	Protocol int      `json:"protocol"`
	Name     string   `json:"name"`
	Version  string   `json:"version"`
	Language string   `json:"language"` // javascript or python
	Claims   []string `json:"claims"`
	Note     string   `json:"note,omitempty"` // address of the page whose advice the driver follows
}

// Run asks an engine for one program.
type Run struct {
	Run     int      `json:"run"`
	Name    string   `json:"name"`
	Program string   `json:"program"` // the body of an async function
	Allow   []string `json:"allow"`
	Limits  Limits   `json:"limits"`
}

// Limits are those of one run.
type Limits struct {
	WallMS        int64 `json:"wall_ms"`
	CPUMS         int64 `json:"cpu_ms"`
	MemoryBytes   int64 `json:"memory_bytes"`
	Calls         int   `json:"calls"`
	InFlight      int   `json:"in_flight"`
	ArgumentBytes int64 `json:"argument_bytes"`
	ResultBytes   int64 `json:"result_bytes"`
}

// Wall is the time from the run to its outcome, waiting included.
func (l Limits) Wall() time.Duration { return time.Duration(l.WallMS) * time.Millisecond }

// CPU is the time that a program may compute.
func (l Limits) CPU() time.Duration { return time.Duration(l.CPUMS) * time.Millisecond }

// Call asks the harness for a tool.
type Call struct {
	Run  int             `json:"run"`
	Call int             `json:"call"` // from 1, in each run
	Name string          `json:"name"` // any text
	Args json.RawMessage `json:"args"`
}

// Answer is what became of a call: a value or an error.
type Answer struct {
	Run   int             `json:"run"`
	Call  int             `json:"call"`
	Value json.RawMessage `json:"value,omitempty"`
	Error *Refused        `json:"error,omitempty"`
}

// Refused is the error of a call that the harness refused.
type Refused struct {
	Code    string `json:"code"` // one of the codes below
	Message string `json:"message"`
}

func (r *Refused) Error() string { return r.Message }

// The codes of [Refused].
const (
	CodeDenied  = "denied"  // by policy
	CodeFailed  = "failed"  // by the tool
	CodeUnknown = "unknown" // there is no such tool
)

// Outcome ends a run.
type Outcome struct {
	Run     int             `json:"run"`
	Outcome Ending          `json:"outcome"`
	Value   json.RawMessage `json:"value,omitempty"` // for Value only
	Message string          `json:"message,omitempty"`
	Usage   *Usage          `json:"usage,omitempty"`
}

// An Ending is how a program ended.
type Ending string

const (
	Value   Ending = "value"   // it returned
	Error   Ending = "error"   // it threw, was refused, or was ended for a reason that is none of the others
	Timeout Ending = "timeout" // at its limit of time
	Memory  Ending = "memory"  // at its limit of memory
	Denied  Ending = "denied"  // by the error of a call that was refused by policy, and that it did not catch
)

// Usage is what an engine measured of a run.
type Usage struct {
	WallMS      float64 `json:"wall_ms"`
	CPUMS       float64 `json:"cpu_ms"`
	MemoryBytes int64   `json:"memory_bytes"` // the most that the program held
}

func (Hello) kind() string   { return "hello" }
func (Run) kind() string     { return "run" }
func (Call) kind() string    { return "call" }
func (Answer) kind() string  { return "answer" }
func (Outcome) kind() string { return "outcome" }

// Write writes a message as one line, in one call of w.Write. It fails before it writes anything if the message has a
// value that is no JSON, or one that nests deeper than encoding/json reads.
func Write(w io.Writer, m Message) error {
	fields, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("writing the message %s: %w", m.kind(), err)
	}
	line := append([]byte(`{"type":"`+m.kind()+`",`), fields[1:]...) // no message is empty
	_, err = w.Write(append(line, '\n'))
	return err
}

// Read reads the message of one line. It ignores fields that it does not know.
func Read(line []byte) (Message, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, fmt.Errorf("reading a message: %w", err)
	}
	switch head.Type {
	case "hello":
		return read[Hello](line)
	case "run":
		return read[Run](line)
	case "call":
		return read[Call](line)
	case "answer":
		return read[Answer](line)
	case "outcome":
		return read[Outcome](line)
	}
	return nil, fmt.Errorf("reading a message: %q is no type of one", head.Type)
}

func read[M Message](line []byte) (Message, error) {
	var m M
	if err := json.Unmarshal(line, &m); err != nil {
		return nil, fmt.Errorf("reading the message %s: %w", m.kind(), err)
	}
	return m, nil
}
