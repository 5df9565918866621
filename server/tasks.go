package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
)

// The tasks extension of MCP (SEP-2663, io.modelcontextprotocol/tasks). A client that has it gets, in place of the
// result of a call that takes longer, a task: the run, by its name. tasks/get shows the forms of the run, tasks/update
// answers them, and another process takes a task over as it takes over the run.

const tasksExtension = "io.modelcontextprotocol/tasks"

const (
	// taskAfter is how long a call may take before it is a task.
	taskAfter = 2 * time.Second
	// taskPoll is how often a client should ask for a task, and taskKept how long it can, at least.
	taskPoll = 2 * time.Second
	taskKept = 24 * time.Hour
)

// The states of a task.
const (
	taskWorking   = "working"
	taskAsks      = "input_required"
	taskCompleted = "completed"
	taskCancelled = "cancelled"
)

// taskParams are those of tasks/get, tasks/update and tasks/cancel.
type taskParams struct {
	mcp.ParamsBase
	TaskID         string               `json:"taskId"`
	InputResponses mcp.InputResponseMap `json:"inputResponses,omitempty"`
}

// A taskResult is the task of a call, or what became of it; without TaskID it only acknowledges.
type taskResult struct {
	mcp.ResultBase
	ResultType     string              `json:"resultType"` // task in place of the result of a call, else complete
	TaskID         string              `json:"taskId,omitempty"`
	Status         string              `json:"status,omitempty"`
	StatusMessage  string              `json:"statusMessage,omitempty"`
	CreatedAt      string              `json:"createdAt,omitempty"`
	LastUpdatedAt  string              `json:"lastUpdatedAt,omitempty"`
	TTLMs          int64               `json:"ttlMs,omitempty"` // from its creation
	PollIntervalMs int64               `json:"pollIntervalMs,omitempty"`
	InputRequests  mcp.InputRequestMap `json:"inputRequests,omitempty"`
	Result         *mcp.CallToolResult `json:"result,omitempty"`
}

// A taskSlot takes the task that a call has become.
type taskSlot struct{ created *taskResult }

type taskSlotKey struct{}

// takesTasks reports whether the client that makes a call takes a task for its result. It says so with each request.
func takesTasks(req *mcp.CallToolRequest) bool {
	_, runs := evalProfile(req.Params.Name)
	runs = runs || slices.Contains([]string{scriptToolName, callToolName, singleTool}, req.Params.Name)
	if !runs || req.ProtocolVersion() < stateless || req.Params.RequestState != "" {
		return false
	}
	var extensions map[string]any
	if raw, ok := req.Params.Meta[mcp.MetaKeyClientCapabilities].(map[string]any); ok {
		extensions, _ = raw["extensions"].(map[string]any)
	} else if caps := req.ClientCapabilities(); caps != nil {
		extensions = caps.Extensions
	}
	_, ok := extensions[tasksExtension]
	return ok
}

// taskForms are the forms of a task that wait for tasks/update.
type taskForms struct {
	opened chan struct{} // a form has opened; capacity 1

	mu      sync.Mutex
	able    able
	last    int
	open    map[string]*question // by the name of the form, which none of the task has again
	changed time.Time
}

func newTaskForms(able able) *taskForms {
	return &taskForms{opened: make(chan struct{}, 1), able: able, open: map[string]*question{}, changed: time.Now()}
}

func (f *taskForms) canAsk(form *form) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.able.shows(form)
}

func (f *taskForms) elicit(ctx context.Context, form *form) (*mcp.ElicitResult, error) {
	q := &question{form: form, reply: make(chan reply, 1)}
	f.mu.Lock()
	f.last++
	key := fmt.Sprintf("%s%d", inputKey, f.last)
	f.open[key], f.changed = q, time.Now()
	f.mu.Unlock()
	select {
	case f.opened <- struct{}{}:
	default:
	}
	form.shown()
	select {
	case got := <-q.reply:
		return got.result, got.err
	case <-ctx.Done():
		f.take(key)
		return nil, context.Cause(ctx)
	}
}

// take closes a form; nil if it is not open.
func (f *taskForms) take(key string) *question {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.open[key]
	delete(f.open, key)
	f.changed = time.Now()
	return q
}

// requests are the open forms, and when that last changed.
func (f *taskForms) requests() (open mcp.InputRequestMap, changed time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, q := range f.open {
		if open == nil {
			open = mcp.InputRequestMap{}
		}
		open[key] = q.params
	}
	return open, f.changed
}

// answer gives forms the replies to them. Others are ignored, as the extension wants it.
func (f *taskForms) answer(responses mcp.InputResponseMap) {
	for key, response := range responses {
		if r, ok := response.(*mcp.ElicitResult); ok {
			if q := f.take(key); q != nil {
				q.reply <- reply{result: r}
			}
		}
	}
}

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

// task shows a run as a task.
func (d *detached) task(id string) *taskResult {
	t := &taskResult{ResultType: "task", TaskID: id, Status: taskWorking, StatusMessage: d.state(),
		CreatedAt: d.began.UTC().Format(time.RFC3339Nano), PollIntervalMs: taskPoll.Milliseconds()}
	t.TTLMs = (time.Since(d.began).Truncate(time.Minute) + taskKept).Milliseconds()
	changed := d.began
	select {
	case <-d.done:
		t.StatusMessage, changed = "", d.ended
		switch {
		case d.cancelled.Load():
			t.Status = taskCancelled
		case d.result != nil: // else another process goes on with it
			t.Status, t.Result = taskCompleted, d.result
		}
	default:
		if forms, ok := d.talk.elicitor.(*taskForms); ok {
			if t.InputRequests, changed = forms.requests(); t.InputRequests != nil {
				t.Status = taskAsks
			}
		}
	}
	t.LastUpdatedAt = changed.UTC().Format(time.RFC3339Nano)
	return t
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
	meta, err := json.Marshal(map[string]any{"_meta": req.Params.Meta})
	if err != nil {
		return nil, unknown
	}
	call := &mcp.CallToolRequest{Session: req.Session, Extra: req.Extra, Params: &mcp.CallToolParamsRaw{}}
	if err := json.Unmarshal(meta, call.Params); err != nil {
		return nil, unknown
	}
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
