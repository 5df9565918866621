package prompt

import (
	"errors"
	"fmt"

	"github.com/codemode-project/codemode/call"
)

var (
	// ErrDismissed says that the question was closed without an answer.
	ErrDismissed = errors.New("the question was closed without an answer")
	// ErrUnclear says that the reply is neither a yes nor a no.
	ErrUnclear = errors.New("the answer is not a clear yes or no")
)

// ErrPartial says that a form cannot allow the call: it does not show the call whole, or does not prove who answers. It
// is no answer, and another form about the call would not help: people answer in other places.
var ErrPartial = fmt.Errorf("%w: the form cannot allow the call", ErrUnclear)

func unclear(format string, args ...any) call.Answer {
	return call.Answer{Err: fmt.Errorf("%w: "+format, append([]any{ErrUnclear}, args...)...)}
}
