package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/visible"
)

// An ArgumentError says which argument cannot be sent. Nothing was sent.
type ArgumentError struct {
	Path    string // a JSON Pointer into the arguments
	Message string
}

func (e *ArgumentError) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return fmt.Sprintf("argument %s: %s", e.Path, e.Message)
}

func pointer(name string) string { return strictjson.AppendToken("", name) }

// A StatusError is an answer of the API that is no success: a status from 400, or a redirect that was not followed.
type StatusError struct {
	Status     int
	Body       json.RawMessage // the JSON of the answer, or its text as a JSON string, of at most 64 KiB; nil if empty
	Message    string          // one sentence
	RetryAfter time.Duration   // when the API says to try again; 0 if it does not say
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("HTTP %d: %s", e.Status, e.Message)
	if e.RetryAfter > 0 {
		text += fmt.Sprintf(" (try again in %s)", visible.Duration(e.RetryAfter.Round(time.Second)))
	}
	return text
}

// An UnknownError says that a request that may have acted got no complete answer. Nobody knows whether it acted, and
// it was not repeated.
type UnknownError struct {
	Method string
	Err    error
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("the outcome is unknown: the %s was sent, and its answer did not arrive: %v", e.Method, e.Err)
}

// Unwrap returns the reason, such as the end of a deadline.
func (e *UnknownError) Unwrap() error { return e.Err }

// An AnswerError says that the API reported success with an answer that cannot be used. A write has been done.
type AnswerError struct {
	Status  int
	Message string
}

func (e *AnswerError) Error() string { return fmt.Sprintf("HTTP %d: %s", e.Status, e.Message) }

// A cleanError shows another text than its error, which holds a credential or an address. There is no Unwrap, so that
// nobody shows the error by chance; whoever asks for its type, such as that of an error of [Options.Send], gets it.
type cleanError struct {
	text string
	err  error
}

func (e *cleanError) Error() string { return e.text }

// Is implements the interface of [errors.Is].
func (e *cleanError) Is(target error) bool { return errors.Is(e.err, target) }

// As implements the interface of [errors.As].
func (e *cleanError) As(target any) bool { return errors.As(e.err, target) }

// A lostError says that a connection failed after a request was sent over it.
type lostError struct{ err error }

func (e *lostError) Error() string { return "the connection was lost: " + e.err.Error() }

func (e *lostError) Unwrap() error { return e.err }
