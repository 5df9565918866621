package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
)

// The tasks extension of MCP (SEP-2663, io.modelcontextprotocol/tasks). A client that has it gets, in place of the
// result of a call that takes longer, a task: the run, by its name. tasks/get shows the forms of the run, tasks/update
// answers them, and another process takes a task over as it takes over the run.

// offerTasks makes the SDK's server know the methods. [toolset.receiveTasks] serves them.
func (s *toolset) offerTasks() {
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		err := mcp.AddReceivingCustomMethod(s.mcp, method,
			func(context.Context, *mcp.ServerSession, *taskParams) (*taskResult, error) {
				return nil, errors.New("it is served before")
			})
		if err != nil {
			panic("server: " + err.Error())
		}
	}
	s.mcp.AddReceivingMiddleware(s.receiveTasks)
}

// receiveTasks serves the methods of the extension, and gives the task of a call in place of its result.
func (s *toolset) receiveTasks(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch r := req.(type) {
		case *mcp.ServerRequest[*taskParams]:
			return s.serveTask(ctx, method, r)
		case *mcp.CallToolRequest:
			if !takesTasks(r) {
				break
			}
			slot := &taskSlot{}
			res, err := next(context.WithValue(ctx, taskSlotKey{}, slot), method, req)
			if err == nil && slot.created != nil {
				return slot.created, nil
			}
			return res, err
		}
		return next(ctx, method, req)
	}
}

func (s *toolset) serveTask(ctx context.Context, method string, req *mcp.ServerRequest[*taskParams]) (mcp.Result,
	error) {
	one, err := s.taskOf(ctx, req)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	switch method {
	case "tasks/update":
		if forms, ok := one.talk.elicitor.(*taskForms); ok {
			forms.answer(req.Params.InputResponses)
		}
	case "tasks/cancel":
		one.cancelled.Store(true)
		one.end(errors.New("the client canceled its task"))
	default:
		shown := one.task(req.Params.TaskID)
		shown.ResultType = "complete"
		return shown, nil
	}
	return &taskResult{ResultType: "complete"}, nil
}

// taskOf is the task of a request. If another process began its run, it goes on here.
func (s *toolset) taskOf(ctx context.Context, req *mcp.ServerRequest[*taskParams]) (*detached, error) {
	id, from := req.Params.TaskID, s.senderOf(req)
	if one := s.detached.of(id, from.principal); one != nil {
		return one, nil
	}
	unknown := fmt.Errorf("there is no task %.80q: it has expired, or is somebody else's", id)
	if s.options.Reattach == nil || id == "" {
		return nil, unknown
	}
	call := &mcp.CallToolRequest{Session: req.Session, Extra: req.Extra,
		Params: &mcp.CallToolParamsRaw{Meta: req.Params.Meta}}
	forms := newTaskForms(ableOf(call))
	c := s.newConversation(call, from, forms)
	c.session = forms
	running, end := context.WithCancelCause(context.WithoutCancel(ctx))
	one := newDetached(from.principal, c, end)
	one, mine := s.detached.join(id, one)
	if !mine {
		end(nil)
		return one, nil
	}
	lost := make(chan struct{})
	go func() {
		r := codemode.Request{Principal: from.principal}
		c.asksFor(&r)
		response, err := s.options.Reattach(running, id, nil, r)
		if errors.Is(err, ErrNotHere) {
			s.detached.drop(id)
			end(nil)
			close(lost)
			return
		}
		one.finish(s.answer(c, response, err))
		s.detached.dropLater(id, one)
	}()
	select {
	case <-lost:
		return nil, unknown
	case <-one.done:
	case <-forms.opened:
	case <-time.After(leastWait): // to look it up, and what it asks
	case <-ctx.Done():
	}
	return one, nil
}
