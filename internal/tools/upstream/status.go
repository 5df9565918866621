package upstream

import (
	"context"
	"time"

	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

// CallOptions are the options of one call.
type CallOptions struct {
	// Progress receives what the server reports while it works, on the goroutine
	// that reads from the server: it must not block. May be nil.
	Progress func(progress, total float64, message string)

	// Session identifies the caller: calls of one caller have equal values. Nil
	// is a caller of its own.
	Session any

	// Principal is who calls, if somebody has verified that. Servers that each principal reaches with a login of its own
	// need it.
	Principal string
	// Token is the access token with which the caller came in, for servers that are reached with one in exchange for it.
	Token login.Bearer

	// Ask puts a question of the server to the person behind the call. It returns when ctx ends. With nil the server
	// gets the answer that its question was dismissed.
	Ask func(ctx context.Context, q *Question) (*Answer, error)

	// Sent is called when the request is on its way, or waits for the server to start; perhaps several times. May be nil.
	Sent func()

	// Meta is sent with the request, such as the traceparent of the caller.
	Meta map[string]any
}

func (o *CallOptions) sent() {
	if o.Sent != nil {
		o.Sent()
	}
}

// A State is the state of a server.
type State string

// The states of a server.
const (
	Starting State = "starting" // or about to start again: calls wait for it
	Ready    State = "ready"
	Failed   State = "failed"  // the manager tries it again, unless [Server.Problem] says why not
	Stopped  State = "stopped" // not started yet, or the manager is closed
	Disabled State = "disabled"
)

// Verb is the state as the predicate of a sentence: "is starting", "has failed".
func (s State) Verb() string {
	if s == Failed {
		return "has failed"
	}
	return "is " + string(s)
}

// A Login is our login at a server, without its tokens.
type Login struct {
	Possible bool // it is a server that people log in at, and codemode stores logins
	Done     bool // somebody has logged in
	Needed   bool // the server wants a login, or a new one
	// Expires is when the access token does; zero is unknown. With Renews the login goes on after that.
	Expires time.Time
	Renews  bool
}

// A Status describes a server for people. Texts of the server are not escaped.
type Status struct {
	Name           string
	Transport      servers.Transport
	State          State
	Since          time.Time // of State
	Tools          int       // number of known tools, also while the server is down
	Stale          bool      // the tools are those of an earlier list
	Notes          []string  // omissions from its tool list
	Error          string    // why it is down
	ListError      string    // why its tools could not be listed again, if Stale
	CallError      string    // of the last call, if it got no answer
	Stderr         string    // the end of its standard error
	StderrBytes    int64     // of all of it since the last start
	Dropped        int       // lines on its standard output that were no messages
	Unexpected     int       // answers that nobody waited for, or no longer; over stdio
	Changes        int       // notices of another tool list
	Refused        int       // requests of the server that failed, such as sampling
	LastRefused    string    // the method of the last such request
	Restarts       int
	Latency        time.Duration // of the last call that the server answered; 0 is unknown
	Login          Login
	Principals     int // that are connected, each with its own login
	Instructions   string
	Protocol       string // version of the protocol
	Implementation string // what the server calls itself, name and version
}
