package hostfns

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
)

// The classes of exception a program can meet.
const (
	ToolCallDenied   = "ToolCallDeniedError"
	LimitClass       = "LimitError" // a ToolCallDeniedError of a budget beyond one run
	toolNotFound     = "ToolNotFoundError"
	InvalidArguments = "InvalidArgumentsError"
	invalidResult    = "InvalidResultError" // the call was made, and its result does not fit a strict output schema
	ToolErrorClass   = "ToolError"
	upstreamFailure  = "UpstreamError"
)

// Reasons for denying a call, as the property `reason` of ToolCallDeniedError, in addition to the codes of packages
// call and approvals.
const (
	reasonPolicy      = "policy_changed"
	reasonDeclined    = "elicitation_declined"
	reasonUnsupported = "elicitation_unsupported"
	reasonNoApprover  = "no_approver"
	reasonTimeout     = "timeout"
	ReasonCanceled    = "canceled"
)

// Reasons of an UpstreamError, as its property `reason`.
const (
	reasonLogin    = "login_required" // the principal has to log in at the upstream
	ReasonStarting = "starting"       // the upstream is not ready yet
	ReasonFailed   = "failed"         // it could not be started, or ended
	ReasonDisabled = "disabled"       // by the configuration
)

// An Exception is what the program sees: an instance of the error class Class with Props as its properties.
type Exception struct {
	Class   string
	Message string
	Props   map[string]any
}

func (e *Exception) Error() string { return e.Class + ": " + e.Message }

// A NotFoundError says that the catalogue offers no tool of that name.
type NotFoundError struct {
	Name    string
	Nearest []string // names that exist, closest first
	Reason  string   // "withheld" when the tool exists and is not offered, "name_collision" when tools share the name; [ReasonFailed] ...
	Detail  string   // a sentence for the program; "" means the usual one

	Withheld *call.Tool // the one that exists; nil is none. Those from whom the profile hides it must not learn of it.
}

// For returns the error for those from whom a profile hides some tools.
func (e *NotFoundError) For(hidden func(*call.Tool) bool) *NotFoundError {
	if e.Withheld != nil && hidden(e.Withheld) {
		return &NotFoundError{Name: e.Name}
	}
	return e
}

func (e *NotFoundError) Error() string {
	if e.Detail != "" {
		return e.Detail
	}
	if len(e.Nearest) == 0 {
		return fmt.Sprintf("there is no tool %q; Object.keys(codemode) lists those there are", e.Name)
	}
	return fmt.Sprintf("there is no tool %q; did you mean %s?", e.Name, strings.Join(e.Nearest, ", "))
}

// A StartingError says that the tools of the upstream that a name belongs to are not known yet.
type StartingError struct{ Name, Server string }

func (e *StartingError) Error() string {
	return fmt.Sprintf("the server %q is still starting, so its tools are not known yet: make the call again in a moment",
		e.Server)
}

// An ArgumentError is a place where arguments do not match the tool's input schema, or a result its output schema.
type ArgumentError struct {
	Path     string // JSON Pointer; "" is the whole
	Expected string
	Got      string
	Takes    string           // of arguments: the type of all of them, in TypeScript
	More     []*ArgumentError // the other places
}

func (e *ArgumentError) Error() string { return e.says("the argument") }

func (e *ArgumentError) says(whole string) string {
	msg := cmp.Or(e.Path, whole) + ": expected " + e.Expected
	if e.Got != "" {
		msg += ", got " + e.Got
	}
	for _, other := range e.More {
		msg += "; " + other.says(whole)
	}
	if e.Takes != "" && e.Path != "" {
		msg += "; it takes " + e.Takes
	}
	return msg
}

// Pointer returns the place, for code that reports it there.
func (e *ArgumentError) Pointer() string { return e.Path }

// A ToolFailure is an upstream's own statement that its tool failed.
type ToolFailure struct {
	Message string
	Content any // the content list as received, or the body of an API's refusal
	Status  int // the HTTP status of that; 0 otherwise
}

func (e *ToolFailure) Error() string { return e.Message }

// A SendError says that an upstream did not answer a call.
type SendError struct {
	Message string
	Unknown bool   // it may have happened anyway
	Login   bool   // the principal has to log in at the upstream first
	Page    string // where the principal can do that; "" is nowhere
	Reason  string // [ReasonStarting], [ReasonFailed] or [ReasonDisabled], if that is why; else ""
	Said    string // the server's words in an error of its transport; "" for none
	// RetryAfter is when the server says to try again, from now; 0 if it does not say so.
	RetryAfter time.Duration
	Err        error
}

func (e *SendError) Error() string { return e.Message }
func (e *SendError) Unwrap() error { return e.Err }

// denied makes the exception for a call that is not allowed. It omits rule when no rule decided.
func denied(name, reason, detail, rule string) *Exception {
	x := &Exception{
		Class:   ToolCallDenied,
		Message: fmt.Sprintf("the call of %s was refused (%s)", name, reason),
		Props:   map[string]any{"toolName": name, "reason": reason, "detail": detail, "retryable": false},
	}
	if detail != "" {
		x.Message += ": " + detail
	}
	if rule != "" {
		x.Props["rule"] = rule
	}
	return x
}

func notFound(e *NotFoundError) *Exception {
	nearest := e.Nearest
	if nearest == nil {
		nearest = []string{}
	}
	x := &Exception{Class: toolNotFound, Message: e.Error(), Props: map[string]any{"toolName": e.Name,
		"nearest": nearest}}
	if e.Reason != "" {
		x.Props["reason"] = e.Reason
	}
	return x
}

func invalidArguments(name string, e *ArgumentError) *Exception {
	return &Exception{
		Class:   InvalidArguments,
		Message: name + ": " + e.Error(),
		Props:   map[string]any{"toolName": name, "path": e.Path, "expected": e.Expected, "got": e.Got},
	}
}

func toolError(name string, e *ToolFailure) *Exception {
	x := &Exception{Class: ToolErrorClass, Message: name + ": " + e.Message,
		Props: map[string]any{"toolName": name, "content": e.Content}}
	if e.Status > 0 {
		x.Props["status"], x.Props["problem"] = e.Status, e.Content
	}
	return x
}

// upstreamError makes the exception for a call without an answer; why may be nil.
func upstreamError(t *call.Tool, outcome, message string, why *SendError) *Exception {
	x := &Exception{
		Class:   upstreamFailure,
		Message: t.Name + ": " + message,
		Props:   map[string]any{"toolName": t.Name, "server": t.Server, "outcome": outcome},
	}
	if why == nil {
		return x
	}
	reason := why.Reason
	if why.Login {
		reason = reasonLogin
	}
	if reason != "" {
		x.Props["reason"] = reason
	}
	if why.Said != "" {
		x.Props["detail"] = why.Said
	}
	if why.RetryAfter > 0 {
		x.Props["retryAfter"] = int(math.Ceil(why.RetryAfter.Seconds()))
	}
	return x
}

// notReady makes the exception for a call whose principal lacks what the upstream needs.
func notReady(t *call.Tool, err error) *Exception {
	sent, _ := errors.AsType[*SendError](err)
	return upstreamError(t, call.NotSent, err.Error(), sent)
}
