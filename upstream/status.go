package upstream

import (
	"context"
	"time"
)

// CallOptions are about one call.
type CallOptions struct {
	// Progress is told what the server reports while it works, on whatever
	// goroutine reads it: it must not block. Nil tells nobody.
	Progress func(progress, total float64, message string)

	// Session tells those apart for whom calls are made; calls of one of them
	// have equal values. Nil is like nobody else.
	Session any

	// Ask puts a question of the server to the person for whom the call is made.
	// It returns when ctx ends. Nil reaches nobody: the server is told that its question was dismissed.
	Ask func(ctx context.Context, q *Question) (*Answer, error)

	// Meta goes along with the request, such as the traceparent of the caller.
	Meta map[string]any
}

// A State is where a server stands.
type State string

// The states of a server.
const (
	Starting State = "starting" // or about to be started again: calls wait for it
	Ready    State = "ready"
	Failed   State = "failed"  // it is tried again by itself, unless [Server.Problem] says why not
	Stopped  State = "stopped" // not started yet, or the manager is closed
	Disabled State = "disabled"
)

// A Status describes a server for people. What comes from the server is as it
// came: escape it before showing it.
type Status struct {
	Name           string
	Transport      Transport
	State          State
	Since          time.Time // of State
	Tools          int       // how many are known, also while the server is down
	Stale          bool      // the tools are those of an earlier reading
	Notes          []string  // what of its tool list was left out
	Error          string    // why it is down
	ListError      string    // why its tools could not be read again, if Stale
	CallError      string    // how the last call ended that got no answer, "" if none did since
	Stderr         string    // the end of what it wrote there
	StderrBytes    int64     // of all that it wrote there since it was started
	Dropped        int       // lines on its standard output that were no messages
	Unexpected     int       // answers that nobody waited for, or no longer; over stdio
	Changes        int       // how often it announced another tool list
	Refused        int       // how often it asked for what it does not get, such as sampling
	LastRefused    string    // the method of the last such request
	Restarts       int
	Instructions   string
	Protocol       string // version of the protocol
	Implementation string // what the server calls itself, name and version
}
