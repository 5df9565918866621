package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/tools/upstream/builtin"
)

// BuiltIn returns the entry of a server in this process for [Manager.Set]. Its annotations are trusted.
func BuiltIn(b builtin.Server) Server {
	return Server{Server: servers.Server{Name: b.Name, Transport: InProcess, TrustAnnotations: true}, BuiltIn: &b}
}

// An inProcessLink is the link to a server in this process. It never ends.
type inProcessLink struct {
	server *Server
	log    *slog.Logger
	never  chan struct{}

	mu     sync.Mutex
	open   int // calls
	closed bool
	idle   chan struct{} // closed when the link is closed and no call is open
}

func newInProcessLink(s *Server, log *slog.Logger) *inProcessLink {
	return &inProcessLink{server: s, log: log, never: make(chan struct{}), idle: make(chan struct{})}
}

func (l *inProcessLink) list(context.Context) (*toolList, error) {
	page, all := new(toolList), new(toolList)
	for _, t := range l.server.BuiltIn.Tools {
		page.tools = append(page.tools, Tool{
			Name: t.Name, Title: t.Title, Description: t.Description, Input: t.Input, Output: t.Output,
			Annotations: t.Annotations,
		})
	}
	all.add(page, l.server)
	all.finish(l.server)
	return all, nil
}

// errPanicked is all that a program learns of a panic. The log has the rest.
var errPanicked = errors.New("an internal error ended the call")

// errStopped refuses a call after the end of the server.
var errStopped = errors.New("it is stopped")

// call runs the function of a tool. It returns when ctx ends, also if the function of a loose server does not.
func (l *inProcessLink) call(ctx context.Context, tool string, args json.RawMessage, o CallOptions) (*Result, error) {
	o.sent()
	for i := range l.server.BuiltIn.Tools {
		t := &l.server.BuiltIn.Tools[i]
		if t.Name != tool {
			continue
		}
		if !l.enter() {
			return nil, &Error{Server: l.server.Name, Tool: tool, Err: errStopped, again: true}
		}
		r, err := l.start(ctx, t, args)
		return r, l.failure(ctx, tool, err)
	}
	return nil, &ToolError{Server: l.server.Name, Tool: tool, Message: fmt.Sprintf("unknown tool %q", tool)}
}

// start runs a function here, or on a goroutine of its own that the call can leave.
func (l *inProcessLink) start(ctx context.Context, t *builtin.Tool, args json.RawMessage) (*Result, error) {
	if !l.server.BuiltIn.Loose {
		defer l.leave()
		return l.run(ctx, t, args)
	}
	type outcome struct {
		result *Result
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		defer l.leave()
		ended := outcome{err: errPanicked} // if the function calls runtime.Goexit
		defer func() { done <- ended }()
		r, err := l.run(ctx, t, args)
		ended = outcome{r, err}
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
	}
	select { // an outcome that is there counts
	case o := <-done:
		return o.result, o.err
	default:
		return nil, context.Cause(ctx)
	}
}

// run runs a function. A panic of it is an error.
func (l *inProcessLink) run(ctx context.Context, t *builtin.Tool, args json.RawMessage) (r *Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			l.log.Error("a function of a server panicked", "server", l.server.Name, "tool", t.Name, "panic", p,
				"stack", string(debug.Stack()))
			r, err = nil, errPanicked
		}
	}()
	v, err := t.Call(ctx, args)
	if err != nil {
		return nil, err
	}
	return valueOf(ctx, v)
}

// failure says of a function's error what it means for its caller.
func (l *inProcessLink) failure(ctx context.Context, tool string, err error) error {
	lost, isLost := errors.AsType[*Error](err)
	refused, isRefused := errors.AsType[*ToolError](err)
	switch {
	case err == nil:
		return nil
	case isLost:
		return lost
	case isRefused:
		return refused
	case errors.Is(err, errPanicked):
		return &Error{Server: l.server.Name, Tool: tool, Unknown: true, Err: errPanicked}
	case ctx.Err() != nil:
		return &Error{Server: l.server.Name, Tool: tool, Unknown: true, Err: context.Cause(ctx)}
	}
	message := strings.ToValidUTF8(err.Error(), "\uFFFD")
	return &ToolError{Server: l.server.Name, Tool: tool, Message: short(message)}
}

// valueOf is the result that a function's value is.
func valueOf(ctx context.Context, v any) (*Result, error) {
	if block, ok := v.(builtin.Block); ok {
		return readContent(ctx, marshal(block))
	}
	value, ok := v.(json.RawMessage)
	if !ok {
		value = marshal(v)
	}
	r := &Result{Structured: value}
	var err error
	r.Value, err = r.withoutBlocks(ctx, value, 0)
	return r, err
}

// enter counts a call. It reports false when the link is closed.
func (l *inProcessLink) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.open++
	}
	return !l.closed
}

func (l *inProcessLink) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open--; l.closed && l.open == 0 {
		close(l.idle)
	}
}

// close waits for functions that run, until grace ends.
func (l *inProcessLink) close(grace context.Context) {
	l.mu.Lock()
	l.closed = true
	if l.open == 0 {
		close(l.idle)
	}
	l.mu.Unlock()
	select {
	case <-l.idle:
	case <-grace.Done():
		l.log.Warn("a function of a server runs on after the end of its call", "server", l.server.Name)
	}
}

func (l *inProcessLink) fetch(_ context.Context, f *fetching) (*Result, error) {
	return nil, &ToolError{Server: l.server.Name, Message: fmt.Sprintf("it has only tools, and not %s", f.args),
		Code: jsonrpc.CodeMethodNotFound}
}

func (l *inProcessLink) info() Status             { return Status{Instructions: l.server.BuiltIn.Instructions} }
func (l *inProcessLink) forgotten() bool          { return false }
func (l *inProcessLink) drain(context.Context)    {}
func (l *inProcessLink) changed() <-chan struct{} { return l.never }
func (l *inProcessLink) news() <-chan struct{}    { return l.never }
func (l *inProcessLink) ended() <-chan struct{}   { return l.never }

func (l *inProcessLink) why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errStopped
	}
	return nil
}
