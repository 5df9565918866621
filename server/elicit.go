package server

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/approvals"
)

// elicitation asks the person at the client that made one call. It lives as
// long as that call.
type elicitation struct {
	call    context.Context // of the call: the client's answer travels in its stream
	request *mcp.CallToolRequest
	waiting *atomic.Pointer[string] // what is being asked about, for progress
}

func (e *elicitation) Name() string { return "elicitation" }

// Ask puts one form to the client. It gives up with ctx, and with the call.
func (e *elicitation) Ask(ctx context.Context, r *approvals.Request) (approvals.Reply, error) {
	caps := e.request.ClientCapabilities()
	if caps == nil || caps.Elicitation == nil || caps.Elicitation.Form == nil && caps.Elicitation.URL != nil {
		return approvals.Reply{}, approvals.ErrCannotAsk
	}
	name := r.Name
	e.waiting.Store(&name)
	defer e.waiting.Store(nil)

	asking, cancel := context.WithCancelCause(e.call)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	var got answer
	message, schema := approvals.Form(r, approvals.StyleFor(e.request.ProtocolVersion()))
	_, err := e.request.Session.Elicit(context.WithValue(asking, answerKey{}, &got), &mcp.ElicitParams{
		Message: message, RequestedSchema: schema,
	})
	if asking.Err() != nil {
		return approvals.Reply{}, context.Cause(asking)
	}
	if got.result == nil {
		if err == nil {
			return approvals.Reply{}, approvals.ErrUnclear
		}
		return approvals.Reply{}, fmt.Errorf("asking the client: %w", err)
	}
	return approvals.ReadForm(r, got.result.Action, got.result.Content)
}
