package upstream

import (
	"context"
	"encoding/json"

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

// A Question is a server's question (elicitation/create) to the person behind a call. All of it is the server's words.
type Question struct {
	Server  string
	Message string
	Schema  json.RawMessage // of the form to fill in; nil asks for a yes only
}

// An Answer is the answer to a [Question].
type Answer struct {
	Action  string // Accepted, Declined or Dismissed
	Content map[string]any
}
