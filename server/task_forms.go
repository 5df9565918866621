package server

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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
	caps := capabilities(req)
	if caps == nil {
		return false
	}
	_, ok := caps.Extensions[tasksExtension]
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
