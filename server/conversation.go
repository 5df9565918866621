package server

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/internal/tools/registry"
)

// A conversation is one tool call together with its client. It can ask the person at the client, and it reports
// progress. Up to MCP 2025-11-25 it is one request; later versions use as many requests as needed, see [exchange].
type conversation struct {
	server   *Server
	request  *mcp.CallToolRequest // the first one
	from     sender
	elicitor elicitor               // nil if the call asks nothing
	dialog   chan struct{}          // full while a form is open, so that a call opens one form at a time; capacity 1
	waiting  atomic.Pointer[string] // what the open form is about, for progress
	news     chan string            // the latest report of an upstream; capacity 1
	live     live                   // what the run did since the last report
	happened chan struct{}          // there is something in live; capacity 1
	session  any                    // distinguishes conversations of different clients
	mu       sync.Mutex
	asking   []*string // the open questions, in words for progress reports; guarded by mu
	profile  *string   // the profile of the call; nil if it runs nothing. Set before the first question

	// evaluate runs the program from its beginning, or resumes it where another process left it.
	evaluate func(ctx context.Context, r codemode.Request) (*codemode.Response, error)
}

func (s *Server) newConversation(req *mcp.CallToolRequest, from sender, e elicitor) *conversation {
	return &conversation{
		server: s, request: req, from: from, elicitor: e, session: sessionOf(req), evaluate: s.evaluator.Eval,
		news: make(chan string, 1), happened: make(chan struct{}, 1), dialog: make(chan struct{}, 1),
	}
}

// asksFor lets a request ask the person at the client, and sends the client progress reports.
func (c *conversation) asksFor(r *codemode.Request) {
	r.Channels, c.profile = []approvals.Channel{&elicitation{c}}, &r.Profile
	r.Caller = &registry.Caller{
		Session: c.session, Ask: c.relay, Progress: c.progress, Asked: c.asked, Meta: traceOf(c.request),
	}
	if c.request.Params.GetProgressToken() != nil {
		r.Observe = c.observe
	}
	if h := httpRequestOf(c.request); h != nil {
		r.Caller.Waits, r.Caller.Token = h.endTurn, h.token
	}
}

// An elicitor shows forms to the person at the client.
type elicitor interface {
	canAsk(f *form) bool
	// elicit shows a form until ctx ends and returns the reply as the client sent it. It calls f.shown when it shows
	// the form.
	elicit(ctx context.Context, f *form) (*mcp.ElicitResult, error)
}

// A form is a question to the person at the client. It is about calls, or comes from a program or an upstream.
type form struct {
	params    *mcp.ElicitParams
	key       string                  // its name in inputRequests; "" is the usual one
	about     string                  // in a few words
	run       string                  // the run that asks; "" for none
	questions []string                // ids of the questions that the reply decides
	late      func(*mcp.ElicitResult) // receives a reply that came after the decision; may be nil
	showing   *approvals.Showing      // the desk's question; nil for an upstream's
	shown     func()                  // set by conversation.ask
	within    time.Duration           // how long the form may stay open at most, if known
}

// ask shows a form to the person, one at a time.
func (c *conversation) ask(ctx context.Context, f *form) (*mcp.ElicitResult, error) {
	if !c.elicitor.canAsk(f) {
		return nil, approvals.ErrCannotAsk
	}
	f.shown = f.showing.Waiting()
	select {
	case c.dialog <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-c.dialog }()
	c.waiting.Store(&f.about)
	defer c.waiting.Store(nil)
	return c.elicitor.elicit(ctx, f)
}

// interact serves a call that may ask the person at the client. Its context ends when nobody waits for the result any
// longer.
func (s *Server) interact(ctx context.Context, req *mcp.CallToolRequest, do handler) (*mcp.CallToolResult, error) {
	h := httpRequestOf(req)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	modern := req.ProtocolVersion() >= stateless
	asking, survives := ctx, !modern && hasIdempotencyKey(req)
	if h != nil { // the SDK ends ctx only when the client sends a cancellation
		end := cancel
		if survives { // the client comes back for the result
			asking, end = context.WithCancelCause(ctx)
			defer end(nil)
		}
		defer context.AfterFunc(h.gone, func() { end(errClientGone) })()
	}
	if !modern || req.Params.RequestState == "" {
		if err := s.mayBegin(req); err != nil { // the configuration may have changed since the middleware checked it
			return nil, err
		}
	}
	if modern {
		return s.exchanges.serve(ctx, req, do)
	}
	defer s.calls.begin(&activeCall{session: sessionOf(req), http: h, cancel: cancel})()
	if h != nil && h.session != nil && h.session.ending.Load() { // since before the call was one in progress
		return nil, errClientGone
	}
	if h != nil {
		h.stream.keepAlive()
		s.work.begin()
		defer s.work.end()
	}
	c := s.newConversation(req, s.senderOf(req), &sessionElicitor{server: s, call: asking, request: req,
		survives: survives})
	defer c.report(ctx, req)()
	return do(ctx, c), nil
}
