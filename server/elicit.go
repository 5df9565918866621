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
	turn    turn
}

func (e *elicitation) Name() string { return "elicitation" }

// Ask puts one form to the client. It gives up with ctx, and with the call.
func (e *elicitation) Ask(ctx context.Context, r *approvals.Request) (approvals.Reply, error) {
	results, err := e.AskAll(ctx, []*approvals.Request{r})
	if err != nil {
		return approvals.Reply{}, err
	}
	return results[0].Reply, results[0].Err
}

// AskAll puts one form about several calls.
func (e *elicitation) AskAll(ctx context.Context, calls []*approvals.Request) ([]approvals.Result, error) {
	if !canAsk(e.request) {
		return nil, approvals.ErrCannotAsk
	}
	shown := approvals.Waiting(ctx) // a question of an upstream may be open
	done, err := e.turn.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	shown()
	name := calls[0].Name
	if len(calls) > 1 {
		name = fmt.Sprintf("%s and %d more", name, len(calls)-1)
	}
	e.waiting.Store(&name)
	defer e.waiting.Store(nil)

	asking, cancel := context.WithCancelCause(e.call)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	var got answer
	message, schema := approvals.FormAll(calls, approvals.StyleFor(e.request.ProtocolVersion()))
	_, err = e.request.Session.Elicit(context.WithValue(asking, answerKey{}, &got), &mcp.ElicitParams{
		Message: message, RequestedSchema: schema,
	})
	if asking.Err() != nil {
		return nil, context.Cause(asking)
	}
	if got.result == nil {
		if err == nil {
			return nil, approvals.ErrUnclear
		}
		return nil, fmt.Errorf("asking the client: %w", err)
	}
	return approvals.ReadFormAll(calls, got.result.Action, got.result.Content), nil
}
