// Package isolation has the messages of the isolation protocol (docs/isolation-protocol.md), which an engine and the
// harness exchange as JSON objects, one a line.
package isolation

import "encoding/json"

// Version is the version of the protocol.
const Version = 1

// Claims are what an engine can promise.
var Claims = []string{
	"time", "memory", "calls", "parallel", "policy", "arguments", "results", "timers", "console", "clock", "usage",
	"codemode",
}

// Hello is the first message of an engine.
type Hello struct {
	Protocol int      `json:"protocol"`
	Name     string   `json:"name"`
	Version  string   `json:"version"`
	Language string   `json:"language"` // javascript or python
	Claims   []string `json:"claims"`
	Note     string   `json:"note,omitempty"` // the page whose advice for untrusted code the driver follows
}

// Limits are those of a run. An engine with one limit of time uses WallMS.
type Limits struct {
	WallMS        int64 `json:"wall_ms"`
	CPUMS         int64 `json:"cpu_ms"`
	MemoryBytes   int64 `json:"memory_bytes"`
	Calls         int   `json:"calls"`
	InFlight      int   `json:"in_flight"`
	ArgumentBytes int64 `json:"argument_bytes"`
	ResultBytes   int64 `json:"result_bytes"`
}

// Run asks an engine for a program.
type Run struct {
	Run     int      `json:"run"`
	Name    string   `json:"name"`
	Program string   `json:"program"` // the body of an async function
	Allow   []string `json:"allow"`   // the tools that it may call
	Limits  Limits   `json:"limits"`

	// What only this build does, for a harness that knows that: the program comes second in a session that holds a
	// secret; the outcome says what the process holds.
	Session bool `json:"session,omitempty"`
	Holds   bool `json:"holds,omitempty"`
}

// Call asks the harness for a tool.
type Call struct {
	Run  int             `json:"run"`
	Call int             `json:"call"` // from 1 in each run
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// Answer answers a [Call], with a value or an error.
type Answer struct {
	Run   int             `json:"run"`
	Call  int             `json:"call"`
	Value json.RawMessage `json:"value,omitempty"`
	Error *Refused        `json:"error,omitempty"`
}

// Refused is the error of a call.
type Refused struct {
	Code    string `json:"code"` // denied, failed or unknown
	Message string `json:"message"`
}

func (r *Refused) Error() string { return r.Message }

// The outcomes of a run, as docs/isolation-protocol.md defines them.
const (
	Value   = "value"
	Error   = "error"
	Timeout = "timeout"
	Memory  = "memory"
	Denied  = "denied"
)

// Outcome ends a run.
type Outcome struct {
	Run     int             `json:"run"`
	Outcome string          `json:"outcome"` // one of the above
	Value   json.RawMessage `json:"value,omitempty"`
	Message string          `json:"message,omitempty"`
	Usage   *Usage          `json:"usage,omitempty"`

	Problem string         `json:"problem,omitempty"` // what was wrong with sessions after the program
	Holds   map[string]int `json:"holds,omitempty"`   // how much of each the process holds
}

// Usage is what an engine measured of a run.
type Usage struct {
	WallMS      float64 `json:"wall_ms"`
	CPUMS       float64 `json:"cpu_ms"`
	MemoryBytes int64   `json:"memory_bytes"` // the most that the program held
}
