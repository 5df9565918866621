package registry

import (
	"context"
	"errors"

	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/upstream"

	"github.com/codemode-project/codemode/call"
)

// Gate returns the Gate for the runs of a caller; nil is nobody.
func (g *Registry) Gate(caller *Caller, r hostfns.Recorder) *hostfns.Gate {
	return hostfns.NewGate(hostfns.Deps{
		Tools: g, Library: g, ResourceTool: ResourceTool, Recorder: r, Sender: sender{g, caller}, Log: g.log,
	})
}

// A sender sends the calls of runs of one caller.
type sender struct {
	*Registry
	caller *Caller // nil is nobody
}

func (s sender) Send(ctx context.Context, c *call.Call, pause func() (resume func())) (*hostfns.Reply, error) {
	r, err := s.perform(ctx, c, pause)
	if err == nil {
		s.Catalog.Learn(c.Tool.Name, c.Tool.Digest, r.Value)
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

// perform sends an admitted call, or reads an admitted resource.
func (s sender) perform(ctx context.Context, c *call.Call, pause func() (resume func())) (*upstream.Result, error) {
	if c.Tool.Resource {
		tree, _ := c.Args.Tree() // frozen arguments have one
		uri, _ := tree.Member("uri")
		return s.Manager.ReadResource(ctx, c.Tool.Server, uri.Text())
	}
	o := s.caller.options(c.Tool.Name, pause)
	if s.Trace != nil {
		if trace := s.Trace(c); trace != nil {
			o.Meta = trace
		}
	}
	return s.Manager.Call(ctx, c.Tool.Server, c.Tool.Raw, c.Args.JSON(), o)
}
