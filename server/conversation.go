package server

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
)

// A conversation is one call of a tool as what serves it sees it: a client whose person can be asked, and that can be told how things
// go. Up to MCP 2025-11-25 it is one request; after that, as many as it takes, see [exchange].
type conversation struct {
	request *mcp.CallToolRequest // the first one
	line    line
	waiting atomic.Pointer[string] // what is being asked about, for progress
	news    chan string            // what upstreams report, the latest of it; capacity 1
	turn    turn                   // to put a question to the person
	session any                    // tells conversations of one client apart from those of others
	mu      sync.Mutex
	asking  []*string // what people are asked, in words for progress; under mu
	profile *string   // what the call runs under; nil if it runs nothing. Set before anything is asked

	// evaluate runs the program: from its beginning, or from where another process has left it.
	evaluate func(ctx context.Context, r codemode.Request) (*codemode.Response, error)
}

// A line is the way to the person at the client.
type line interface {
	canAsk() bool
	// put shows a form until ctx ends and returns what came back, as it came. It calls shown when it does.
	put(ctx context.Context, f *form) (*mcp.ElicitResult, error)
}

// A form is a question to the person at the client.
type form struct {
	params    *mcp.ElicitParams
	key       string                  // its name in inputRequests; "" is the usual one
	about     string                  // in a few words
	run       string                  // that asks; "" if no run does
	questions []string                // ids of what is decided by it
	late      func(*mcp.ElicitResult) // takes an answer that came when it was decided otherwise; may be nil
	showing   *approvals.Showing      // what the desk put; nil for what an upstream asks
	shown     func()                  // is told when it is shown; set by conversation.ask
	within    time.Duration           // how long it may be open at most, as far as is known
}

func (s *Server) newConversation(req *mcp.CallToolRequest, l line) *conversation {
	return &conversation{request: req, line: l, news: make(chan string, 1), turn: make(turn, 1), session: req.Session, evaluate: s.evaluator.Eval}
}

// ask puts a form to the person, one at a time.
func (c *conversation) ask(ctx context.Context, f *form) (*mcp.ElicitResult, error) {
	if !c.line.canAsk() {
		return nil, approvals.ErrCannotAsk
	}
	f.shown = f.showing.Waiting()
	done, err := c.turn.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	c.waiting.Store(&f.about)
	defer c.waiting.Store(nil)
	return c.line.put(ctx, f)
}

// A turn is taken by whoever asks a person, so that one dialog is open at a
// time for a call. It has capacity 1.
type turn chan struct{}

// take waits for the turn until ctx ends.
func (t turn) take(ctx context.Context) (done func(), err error) {
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// interactive makes a handler of a function that may ask the person at the client. Its context ends when nobody waits for the result
// any more.
func (s *Server) interactive(do handler) mcp.ToolHandler {
	do = s.surviving(do)
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		v := visitorOf(req)
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		modern := req.ProtocolVersion() >= stateless
		asking, goesOn := ctx, !modern && keyed(req)
		if v != nil { // the SDK tells only when the client says so itself
			end := cancel
			if goesOn { // the client comes back for it
				asking, end = context.WithCancelCause(ctx)
				defer end(nil)
			}
			defer context.AfterFunc(v.gone, func() { end(errClientGone) })()
		}
		if !modern || req.Params.RequestState == "" {
			if err := s.mayBegin(req); err != nil { // the configuration may have changed since notice looked
				return nil, err
			}
		}
		if modern {
			return s.exchanges.serve(ctx, req, do)
		}
		defer s.calls.begin(&call{session: req.Session, visitor: v, cancel: cancel})()
		if v != nil {
			v.stream.warm()
		}
		if v != nil {
			s.work.begin()
			defer s.work.end()
		}
		c := s.newConversation(req, &direct{call: asking, request: req, goesOn: goesOn})
		defer c.report(ctx, req)()
		return do(ctx, c), nil
	}
}

// surviving is do, of which a crash ends one call and not the process.
func (s *Server) surviving(do handler) handler {
	return func(ctx context.Context, c *conversation) (result *mcp.CallToolResult) {
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("serving a call crashed", "tool", c.request.Params.Name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				result = failed(errors.New("serving this call crashed, which is a mistake in codemode; the log of the server says where"))
			}
		}()
		return do(ctx, c)
	}
}

// errClientGone ends the calls of a client that is gone.
var errClientGone = errors.New("the client is gone")

// A call is one that is under way.
type call struct {
	session *mcp.ServerSession // nil if the call is not bound to one
	visitor *visitor           // nil over stdio
	cancel  context.CancelCauseFunc
}

// calls are those that are under way. Their lock may be taken under any other.
type calls struct {
	mu  sync.Mutex
	all map[*call]struct{}
}

// begin makes it possible to end a call from outside, until done is called.
func (cs *calls) begin(c *call) (done func()) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.all == nil {
		cs.all = map[*call]struct{}{}
	}
	cs.all[c] = struct{}{}
	return func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		delete(cs.all, c)
	}
}

// end ends those for which which says so.
func (cs *calls) end(because error, which func(*call) bool) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := range cs.all {
		if which(c) {
			c.cancel(because)
		}
	}
}

// direct asks over the session that made the call, while it lasts: MCP up to 2025-11-25.
type direct struct {
	call    context.Context // the client's answer travels in its stream
	request *mcp.CallToolRequest
	goesOn  bool // without the client, who comes back for it
}

func (d *direct) canAsk() bool { return canAsk(d.request) }

func (d *direct) put(ctx context.Context, f *form) (*mcp.ElicitResult, error) {
	asking, cancel := context.WithCancelCause(d.call)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	f.shown()
	var got answer
	_, err := d.request.Session.Elicit(context.WithValue(asking, answerKey{}, &got), f.params)
	if d.goesOn && d.call.Err() != nil {
		<-ctx.Done() // the question stays open for when the client comes back
	}
	switch {
	case asking.Err() != nil:
		return nil, context.Cause(asking)
	case got.result != nil:
		return got.result, nil
	case err == nil:
		return nil, prompt.ErrUnclear
	}
	return nil, err
}
