package prompt

import "errors"

var (
	// ErrDismissed says that the question was closed without an answer.
	ErrDismissed = errors.New("the question was closed without an answer")
	// ErrUnclear says that the reply is neither a yes nor a no.
	ErrUnclear = errors.New("the answer is not a clear yes or no")
)
