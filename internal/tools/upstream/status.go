package upstream

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/config/servers"
)

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

// Health says in sentences what a person should know about the server beside
// its state, and what to do about it. An empty list means that all is well.
func (s Status) Health() []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if s.State == Starting && s.Tools == 0 && s.Restarts == 0 {
		say("it has not listed its tools yet")
	}
	if s.Stale && s.State == Ready {
		say("it no longer lists its tools (%s); the tools shown are those of its last good list", s.ListError)
	} else if s.Stale {
		say("the tools shown are those of its last good list")
	}
	if s.Restarts > 0 {
		what := "started"
		if s.Protocol == "" {
			what = "tried"
		}
		say("it was %s again %s", what, times(s.Restarts))
	}
	if s.State != Ready && strings.HasPrefix(s.Error, errStart.Error()) {
		say(`start its command by hand to see what it waits for, or give it more time: "timeout": {"startup": milliseconds}`)
	}
	if s.CallError != "" {
		say("its last call got no answer: %s", s.CallError)
	}
	if s.Dropped > 0 {
		say("dropped lines on its standard output that are no messages: %d; logs belong on standard error", s.Dropped)
	}
	if s.Unexpected > 0 {
		say("dropped answers to no request, or to one that had timed out: %d", s.Unexpected)
	}
	if s.StderrBytes > muchStderr {
		say("it wrote %d MiB to its standard error; only the end is kept", s.StderrBytes>>20)
	}
	if s.Changes > manyChanges {
		say("it announced a change of its tools %s; the list is read again at most twice a second", times(s.Changes))
	}
	if s.Refused > 0 {
		say("it sent requests that failed %s (last: %s)", times(s.Refused), s.LastRefused)
	}
	return append(out, s.Notes...)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// An Error says that a call did not get an answer from the server.
type Error struct {
	Server string
	Tool   string // raw name, "" if no tool was called

	// Unknown is true if we sent the request and got no answer: its effect may or may not have happened. When it is
	// false nothing happened, and a repetition is safe.
	Unknown bool

	// Waits is why the server could not take the call: Starting, Failed or Disabled. "" is another reason.
	Waits State
	// RetryAfter is when the server says to try again, counted from now; 0 if it does not say so.
	RetryAfter time.Duration
	Said       string // the server's words in an HTTP error, without its secrets; "" for none

	Err error // why; errors.Is finds context.DeadlineExceeded and context.Canceled in it

	// again is set if the server cannot have acted on the request: we did not send it, or it was for a session that the
	// server no longer knows.
	again bool
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "upstream %q", e.Server)
	if e.Tool != "" {
		fmt.Fprintf(&b, ", tool %q", e.Tool)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Unknown {
		b.WriteString(" (the request was sent: its outcome is unknown)")
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// A ToolError is the server's own report that a call failed.
type ToolError struct {
	Server, Tool string
	Message      string  // the server's message, as text
	Code         int64   // of a JSON-RPC error; 0 when the tool reported the failure in its result
	Result       *Result // the whole result; nil for a JSON-RPC error
}

func (e *ToolError) Error() string { return e.Message }

var (
	errClosed = errors.New("codemode closed the connection")
	errProbe  = errors.New("it does not answer the opening of the newest protocol")
	errStart  = errors.New("it did not get ready in time")
	errSilent = errors.New("it no longer answers")
)

// The limits above which Health mentions something.
const (
	manyChanges = 50
	muchStderr  = 10 << 20
)
