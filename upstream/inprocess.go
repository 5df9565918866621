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

	"github.com/codemode-project/codemode/config/servers"
	"github.com/codemode-project/codemode/upstream/builtin"
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

// call runs the function of a tool. It returns when ctx ends, also if the function does not.
func (l *inProcessLink) call(ctx context.Context, tool string, args json.RawMessage, _ CallOptions) (*Result, error) {
	for i := range l.server.BuiltIn.Tools {
		if t := &l.server.BuiltIn.Tools[i]; t.Name == tool && l.server.Takes(tool) {
			return l.run(ctx, t, args)
		}
	}
	return nil, &ToolError{Server: l.server.Name, Tool: tool, Message: fmt.Sprintf("unknown tool %q", tool)}
}

func (l *inProcessLink) run(ctx context.Context, t *builtin.Tool, args json.RawMessage) (*Result, error) {
	if !l.enter() {
		return nil, &Error{Server: l.server.Name, Tool: t.Name, Err: errStopped, again: true}
	}
	type outcome struct {
		result *Result
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		defer l.leave()
		ended := outcome{err: errPanicked} // also if the function calls runtime.Goexit
		defer func() {
			if p := recover(); p != nil {
				l.log.Error("a function of a server panicked", "server", l.server.Name, "tool", t.Name, "panic", p,
					"stack", string(debug.Stack()))
			}
			done <- ended
		}()
		v, err := t.Call(ctx, args)
		if err != nil {
			ended = outcome{err: err}
			return
		}
		r, err := valueOf(ctx, v)
		ended = outcome{r, err}
	}()
	unknown := func(err error) error {
		return &Error{Server: l.server.Name, Tool: t.Name, Unknown: true, Err: err}
	}
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		return nil, unknown(context.Cause(ctx))
	}
	switch {
	case o.err == nil:
		return o.result, nil
	case errors.Is(o.err, errPanicked):
		return nil, unknown(errPanicked)
	case ctx.Err() != nil:
		return nil, unknown(context.Cause(ctx))
	}
	message := strings.ToValidUTF8(o.err.Error(), "\uFFFD")
	return nil, &ToolError{Server: l.server.Name, Tool: t.Name, Message: short(message)}
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

func (l *inProcessLink) read(_ context.Context, uri string) (*Result, error) {
	return nil, &ToolError{Server: l.server.Name, Message: fmt.Sprintf("unknown resource %q", uri)}
}

func (l *inProcessLink) info() Status             { return Status{Instructions: l.server.BuiltIn.Instructions} }
func (l *inProcessLink) changed() <-chan struct{} { return l.never }
func (l *inProcessLink) ended() <-chan struct{}   { return l.never }

func (l *inProcessLink) why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errStopped
	}
	return nil
}
