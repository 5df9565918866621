package registry

import (
	"context"
	"errors"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

// Gate returns the Gate for the runs of a caller; nil is nobody. principal is whose logins at upstreams the runs use,
// verified; "" is nobody's.
func (g *Registry) Gate(caller *Caller, principal string, r hostfns.Recorder) *hostfns.Gate {
	s := sender{g, caller, principal}
	return hostfns.NewGate(hostfns.Deps{
		Tools: s, Library: g, ResourceTool: ResourceTool, Recorder: r, Sender: s, Log: g.log,
	})
}

// A sender finds tools for, and sends the calls of, runs of one caller.
type sender struct {
	*Registry
	caller    *Caller // nil is nobody
	principal string  // "" is nobody
}

// Find is [Registry.Find] for a caller: the tool is ready if the caller has the login that its server needs.
func (s sender) Find(ctx context.Context, name string) (*call.Tool, error) {
	t, err := s.Registry.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	t.Ready = func(ctx context.Context) error {
		if err := s.Manager.LoggedIn(ctx, t.Server, s.principal, s.token()); err != nil {
			return sendError(&upstream.Error{Server: t.Server, Tool: t.Raw, Err: err})
		}
		return nil
	}
	if t.Resource && t.Raw == inforce.GetPrompt {
		t.Validate = func(ctx context.Context, args call.Arguments) error {
			name, _, err := promptIn(args)
			if err != nil {
				return err
			}
			return s.accepted(ctx, t.Server, name, upstream.CallOptions{Principal: s.principal, Token: s.token()})
		}
	}
	return t, nil
}

// token is the caller's own; none after another process resumed the run.
func (s sender) token() login.Bearer {
	if s.caller == nil {
		return login.Bearer{}
	}
	return s.caller.Token
}

// sendError converts an error of an upstream for the Gate.
func sendError(err *upstream.Error) error {
	e := &hostfns.SendError{Message: err.Error(), Unknown: err.Unknown, Err: err}
	e.Said, e.RetryAfter = err.Said, err.RetryAfter
	switch err.Waits {
	case upstream.Starting:
		e.Reason = hostfns.ReasonStarting
	case upstream.Failed:
		e.Reason = hostfns.ReasonFailed
	case upstream.Disabled:
		e.Reason = hostfns.ReasonDisabled
	}
	if needed, ok := errors.AsType[*login.Error](err); ok && !err.Unknown {
		e.Login, e.Page = true, needed.Page
	}
	return e
}

func (s sender) Send(ctx context.Context, c *call.Call, pause func() (resume func())) (*hostfns.Reply, error) {
	r, err := s.perform(ctx, c, pause)
	s.caller.answered(r, err)
	if err == nil {
		s.Catalog.Learn(c.Tool.Name, c.Tool.Digest, r.Value)
		return &hostfns.Reply{Value: r.Value, Structured: r.Structured, Blocks: r.Blocks}, nil
	}
	if failed, ok := errors.AsType[*upstream.ToolError](err); ok {
		f := &hostfns.ToolFailure{Message: failed.Message}
		if failed.Result != nil {
			f.Content, f.Status = failed.Result.Value, failed.Result.Status
		}
		return nil, f
	}
	if lost, ok := errors.AsType[*upstream.Error](err); ok {
		return nil, sendError(lost)
	}
	return nil, err
}

// perform sends an admitted call, or reads an admitted resource.
func (s sender) perform(ctx context.Context, c *call.Call, pause func() (resume func())) (*upstream.Result, error) {
	sent := func() { hostfns.Next(ctx) }
	other := upstream.CallOptions{Principal: s.principal, Token: s.token(), Sent: sent}
	switch {
	case c.Tool.Resource && c.Tool.Raw == inforce.GetPrompt:
		name, given, err := promptIn(c.Args)
		if err == nil {
			err = s.accepted(ctx, c.Tool.Server, name, other) // it may have changed while a person thought
		}
		if err != nil {
			return nil, err
		}
		return s.Manager.GetPrompt(ctx, c.Tool.Server, name, given, other)
	case c.Tool.Resource:
		tree, _ := c.Args.Tree() // frozen arguments have one
		uri, _ := tree.Member("uri")
		return s.Manager.ReadResource(ctx, c.Tool.Server, uri.Text(), other)
	}
	o := s.caller.options(c.Tool.Name, pause)
	o.Sent = sent
	o.Principal, o.Token = s.principal, s.token()
	if s.Trace != nil {
		if trace := s.Trace(c); trace != nil {
			o.Meta = trace
		}
	}
	return s.Manager.Call(ctx, c.Tool.Server, c.Tool.Raw, c.Args.JSON(), o)
}

// A Caller is the client of a run, as upstreams see it. None of its answers allows a call.
type Caller struct {
	// Session identifies the session; callers of one session have equal values. Nil equals no other. An upstream up to
	// protocol 2025-11-25 does not say which call its question belongs to. So its question goes only to a session that
	// is the only one with calls in flight there.
	Session any

	// Ask asks the client's person a question of an upstream, and returns when ctx ends. Nil reaches nobody: the
	// upstream learns that its question was dismissed.
	Ask func(ctx context.Context, q *upstream.Question) (*upstream.Answer, error)

	// Progress receives an upstream's progress report about a call of the run, in the upstream's words. It must not
	// block. Nil ignores reports.
	Progress func(tool string, progress, total float64, message string)

	// Asked is called when people are asked about calls of the run. It receives the subject in a few words, the places
	// where they can answer besides the client itself, and the deadline. over is called when the question is decided.
	// Nil is ignored.
	Asked func(about string, where []string, until time.Time) (over func())

	// Patience is how long a question waits for a person, also where nobody is expected; zero is what the profile says.
	// A profile that refuses calls in people's absence still does.
	Patience time.Duration

	// Began is called with the name of the run when its program starts. Nil is ignored.
	Began func(run string)

	// Answered is called with each answer of a tool, and whether it says that the call failed. Nil is ignored.
	Answered func(r *upstream.Result, failed bool)

	// Waits is called when the run waits for others, such as a tool, the database or a processor, and when its program
	// has computed for a while. It may be called often and must not block. Nil is ignored.
	Waits func()

	// Token is the access token with which the caller came in, verified by its issuer. It is in no stored run.
	Token login.Bearer

	// Meta is sent with the run's calls in _meta, such as traceparent.
	Meta map[string]any
}

// answered passes on the answer of a tool, if there is one.
func (c *Caller) answered(r *upstream.Result, err error) {
	if c == nil || c.Answered == nil {
		return
	}
	if failed, ok := errors.AsType[*upstream.ToolError](err); ok {
		r = failed.Result
	}
	if r != nil {
		c.Answered(r, err != nil)
	}
}

// options returns the options of one call of a run, by the name of its tool.
func (c *Caller) options(tool string, pause func() (resume func())) upstream.CallOptions {
	if c == nil {
		return upstream.CallOptions{}
	}
	o := upstream.CallOptions{Session: c.Session, Meta: c.Meta}
	if c.Progress != nil {
		o.Progress = func(progress, total float64, message string) { c.Progress(tool, progress, total, message) }
	}
	if c.Ask != nil {
		o.Ask = func(asking context.Context, q *upstream.Question) (*upstream.Answer, error) {
			defer pause()() // stop all timeouts while a person is asked
			return c.Ask(asking, q)
		}
	}
	return o
}
