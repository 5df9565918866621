package upstream

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/codemode-project/codemode/config/servers"
	"github.com/codemode-project/codemode/upstream/builtin"
)

// BuiltIn returns the entry of a built-in server for [Manager.Set].
func BuiltIn(b builtin.Server) Server {
	return Server{Server: servers.Server{Name: b.Name, Transport: InProcess, TrustAnnotations: true}, BuiltIn: &b}
}

// An inProcessLink is the link to a built-in server. It never ends.
type inProcessLink struct {
	server *Server
	never  chan struct{}
}

func newInProcessLink(s *Server) *inProcessLink {
	return &inProcessLink{server: s, never: make(chan struct{})}
}

func (l *inProcessLink) list(context.Context) (*toolList, error) {
	page, all := new(toolList), new(toolList)
	for _, t := range l.server.BuiltIn.Tools {
		page.tools = append(page.tools, Tool{
			Name: t.Name, Description: t.Description, Input: t.Input, Output: t.Output, Annotations: t.Annotations,
		})
	}
	all.add(page, l.server)
	all.finish(l.server)
	return all, nil
}

func (l *inProcessLink) call(
	ctx context.Context, tool string, args json.RawMessage, _ CallOptions,
) (_ *Result, err error) {
	for _, t := range l.server.BuiltIn.Tools {
		if t.Name != tool || !l.server.Takes(tool) {
			continue
		}
		defer func() {
			if r := recover(); r != nil {
				err = &Error{Server: l.server.Name, Tool: tool, Unknown: true, Err: fmt.Errorf("it panicked: %v", r)}
			}
		}()
		v, err := t.Call(ctx, args)
		if err != nil {
			if ctx.Err() != nil {
				return nil, &Error{Server: l.server.Name, Tool: tool, Unknown: true, Err: context.Cause(ctx)}
			}
			return nil, &ToolError{Server: l.server.Name, Tool: tool, Message: err.Error()}
		}
		if block, ok := v.(builtin.Block); ok {
			return readContent(ctx, marshal(block))
		}
		value := marshal(v)
		return &Result{
			Structured: value,
			Content:    marshal([]map[string]string{{"type": "text", "text": string(value)}}),
			Value:      value,
		}, nil
	}
	return nil, &ToolError{Server: l.server.Name, Tool: tool, Message: fmt.Sprintf("unknown tool %q", tool)}
}

func (l *inProcessLink) read(_ context.Context, uri string) (*Result, error) {
	return nil, &ToolError{Server: l.server.Name, Message: fmt.Sprintf("unknown resource %q", uri)}
}

func (l *inProcessLink) info() Status             { return Status{Instructions: l.server.BuiltIn.Instructions} }
func (l *inProcessLink) changed() <-chan struct{} { return l.never }
func (l *inProcessLink) ended() <-chan struct{}   { return l.never }
func (l *inProcessLink) why() error               { return nil }
func (l *inProcessLink) close(context.Context)    {}
