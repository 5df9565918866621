package hostfns

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/codemode-project/codemode/call"
)

// The classes of exception a program can meet.
const (
	ToolCallDenied   = "ToolCallDeniedError"
	LimitClass       = "LimitError" // a ToolCallDeniedError of a budget beyond one run
	toolNotFound     = "ToolNotFoundError"
	InvalidArguments = "InvalidArgumentsError"
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

// The known outcome of a call that an upstream did not answer, as the property `outcome` of UpstreamError.
const (
	OutcomeUnknown = "unknown"  // it may have happened
	outcomeNotSent = "not_sent" // it did not
)

// reasonLogin is the property `reason` of an UpstreamError for a principal that has to log in at the upstream.
const reasonLogin = "login_required"

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
	Reason  string   // "name_collision" when two tools share the name and neither is offered
	Detail  string   // a sentence for the program; "" means the usual one
}

func (e *NotFoundError) Error() string {
	if e.Detail != "" {
		return e.Detail
	}
	msg := fmt.Sprintf("there is no tool %q", e.Name)
	if len(e.Nearest) > 0 {
		msg += "; did you mean " + strings.Join(e.Nearest, ", ") + "?"
	}
	return msg
}

// An ArgumentError is a place where arguments do not match the tool's input schema, or a result its output schema.
type ArgumentError struct {
	Path     string // JSON Pointer; "" is the whole
	Expected string
	Got      string
}

func (e *ArgumentError) Error() string { return e.says("the argument") }

func (e *ArgumentError) says(whole string) string {
	msg := cmp.Or(e.Path, whole) + ": expected " + e.Expected
	if e.Got != "" {
		msg += ", got " + e.Got
	}
	return msg
}

// Pointer returns the place, for code that reports it there.
func (e *ArgumentError) Pointer() string { return e.Path }

// A ToolFailure is an upstream's own statement that its tool failed.
type ToolFailure struct {
	Message string
	Content any // the content list as received
}

func (e *ToolFailure) Error() string { return e.Message }

// A SendError says that an upstream did not answer a call.
type SendError struct {
	Message string
	Unknown bool   // it may have happened anyway
	Login   bool   // the principal has to log in at the upstream first
	Page    string // where the principal can do that; "" is nowhere
	Err     error
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
	return &Exception{Class: ToolErrorClass, Message: name + ": " + e.Message,
		Props: map[string]any{"toolName": name, "content": e.Content}}
}

func upstreamError(t *call.Tool, outcome, message string, login bool) *Exception {
	x := &Exception{
		Class:   upstreamFailure,
		Message: t.Name + ": " + message,
		Props:   map[string]any{"toolName": t.Name, "server": t.Server, "outcome": outcome},
	}
	if login {
		x.Props["reason"] = reasonLogin
	}
	return x
}

// notReady makes the exception for a call whose principal lacks what the upstream needs.
func notReady(t *call.Tool, err error) *Exception {
	sent, ok := errors.AsType[*SendError](err)
	return upstreamError(t, outcomeNotSent, err.Error(), ok && sent.Login)
}
