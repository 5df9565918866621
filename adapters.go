package codemode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/catalog"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/upstream"
)

// finder lets the Gate look into the catalogue.
type finder struct{ e *Evaluator }

// startWait is how long a call waits for its server's first start, and
// startPoll how often it looks.
const (
	startWait = 20 * time.Second
	startPoll = 20 * time.Millisecond
)

// Find waits while the server that the name points at is starting: programs
// may come before the upstreams are ready.
func (f finder) Find(ctx context.Context, name string) (*hostfns.Tool, error) {
	t, err := f.e.catalog.Find(name)
	for deadline := time.Now().Add(startWait); err != nil; {
		// Asked before the catalogue is: a list that comes in between is then found.
		wait := f.e.starting(name) && ctx.Err() == nil && time.Now().Before(deadline)
		if f.e.catalog.Has(name) || !wait {
			t, err = f.e.catalog.Find(name)
			break
		}
		select {
		case <-time.After(startPoll):
		case <-ctx.Done():
		}
	}
	if err == nil {
		return f.e.tool(t), nil
	}
	if _, ok := errors.AsType[*catalog.NotFoundError](err); ok {
		if t := f.e.resource(name); t != nil {
			return t, nil
		}
	}
	return nil, f.e.missing(name, err)
}

// starting reports whether the server of a canonical name has not said yet what it offers.
func (e *Evaluator) starting(name string) bool {
	s, ok := e.serverOf(name)
	return ok && (s.State == upstream.Starting || s.State == upstream.Stopped || s.State == upstream.Ready)
}

// serverOf finds the server that a canonical name points at, if its tools are not known.
func (e *Evaluator) serverOf(name string) (upstream.Status, bool) {
	for _, s := range e.manager.Status() {
		if strings.HasPrefix(name, call.Name(s.Name, "")) {
			e.mu.Lock()
			_, listed := e.listed[s.Name]
			e.mu.Unlock()
			return s, !listed
		}
	}
	return upstream.Status{}, false
}

// missing says why a name has no tool, as programs are told.
func (e *Evaluator) missing(name string, err error) error {
	if collision, ok := errors.AsType[*catalog.CollisionError](err); ok {
		return &hostfns.NotFoundError{Name: name, Reason: "name_collision", Detail: collision.Error()}
	}
	n := &hostfns.NotFoundError{Name: name}
	if missing, ok := errors.AsType[*catalog.NotFoundError](err); ok {
		n.Nearest = missing.Nearest
	}
	if s, ok := e.serverOf(name); ok {
		n.Detail = fmt.Sprintf("there is no tool %q: the server %q is %s", name, s.Name, s.State)
		if s.Error != "" {
			n.Detail += ": " + s.Error
		}
	}
	return n
}

// tool describes a tool of the catalogue to the Gate.
func (e *Evaluator) tool(t *catalog.Tool) *hostfns.Tool {
	tool := &hostfns.Tool{
		Server: t.Server, Raw: t.Raw, Name: t.Name, Title: t.Title, Description: t.Description,
		Input: t.Input, Annotations: annotations(t), Digest: t.Digest, Trusted: e.rules.server(t.Server).trusted, Timeout: e.rules.server(t.Server).timeout,
		Validate: func(ctx context.Context, args json.RawMessage) error {
			return argumentError(t.Validate(ctx, args))
		},
	}
	e.checkOutput(t, tool)
	return tool
}

func annotations(t *catalog.Tool) map[string]any {
	var hints map[string]any
	if json.Unmarshal(t.Annotations, &hints) != nil {
		return nil // what is no object says nothing
	}
	return hints
}

// Search, Tools and Declarations make the finder the Gate's Library.
func (f finder) Search(ctx context.Context, query string, limit int, visible func(*hostfns.Tool) bool) []*hostfns.Tool {
	f.e.ready(ctx, checkWait)
	var found []*hostfns.Tool
	for _, m := range f.e.catalog.Search(query, limit, func(t *catalog.Tool) bool { return visible(f.e.tool(t)) }) {
		found = append(found, f.e.tool(m.Tool))
	}
	return found
}

func (f finder) Tools(ctx context.Context) []*hostfns.Tool {
	f.e.ready(ctx, checkWait)
	var tools []*hostfns.Tool
	for _, t := range f.e.catalog.Tools() {
		tools = append(tools, f.e.tool(t))
	}
	return tools
}

func (f finder) Declarations(names []string) string {
	var tools []*catalog.Tool
	for _, name := range names {
		if t, err := f.e.catalog.Find(name); err == nil {
			tools = append(tools, t)
		}
	}
	return catalog.Declarations(tools)
}

// sender lets the Gate send.
type sender struct{ e *Evaluator }

func (s sender) Send(ctx context.Context, t *hostfns.Tool, args json.RawMessage) (*hostfns.Reply, error) {
	r, err := s.perform(ctx, t, args)
	if err == nil {
		s.e.catalog.Learn(t.Name, t.Digest, r.Value)
		return &hostfns.Reply{Value: r.Value, Structured: r.Structured, Blocks: r.Blocks}, nil
	}
	if failed, ok := errors.AsType[*upstream.ToolError](err); ok {
		f := &hostfns.ToolFailure{Message: failed.Message}
		if failed.Result != nil {
			f.Content = failed.Result.Value
		}
		return nil, f
	}
	if lost, ok := errors.AsType[*upstream.Error](err); ok {
		return nil, &hostfns.SendError{Message: lost.Error(), Unknown: lost.Unknown, Err: err}
	}
	return nil, err
}
