package upstream

import (
	"fmt"
	"strings"
	"time"
)

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
