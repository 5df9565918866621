package upstream

import (
	"time"
)

// CallOptions are about one call.
type CallOptions struct {
	// Progress is told what the server reports while it works, on whatever
	// goroutine reads it: it must not block. Nil tells nobody.
	Progress func(progress, total float64, message string)
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
	Stderr         string    // the end of what it wrote there
	Dropped        int       // lines on its standard output that were no messages
	Restarts       int
	Instructions   string
	Protocol       string // version of the protocol
	Implementation string // what the server calls itself, name and version
}
