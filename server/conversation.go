package server

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// A conversation is one tool call together with its client. It can ask the person at the client, and it reports
// progress. Up to MCP 2025-11-25 it is one request; later versions use as many requests as needed, see [exchange].
type conversation struct {
	server   *shared
	request  *mcp.CallToolRequest // the first one
	from     sender
	elicitor elicitor               // nil if the call asks nothing
	dialog   chan struct{}          // full while a form is open, so that a call opens one form at a time; capacity 1
	answered atomic.Bool            // its client has an answer already: a form would reach nobody
	waiting  atomic.Pointer[string] // what the open form is about, for progress
	news     chan string            // the latest report of an upstream; capacity 1
	live     live                   // what the run did since the last report
	happened chan struct{}          // there is something in live; capacity 1
	session  any                    // distinguishes conversations of different clients
	single   single                 // makes the result of a call without a program; nil for programs
	mu       sync.Mutex
	asking   []*string // the open questions, in words for progress reports; guarded by mu
	profile  *string   // the profile of the call; nil if it runs nothing. Set before the first question

	// evaluate runs the program from its beginning, or resumes it where another process left it.
	evaluate func(ctx context.Context, r codemode.Request) (*codemode.Response, error)
}

// A single makes the result of a call without a program, of what it hears from the server and of the run.
type single interface {
	hear(r *upstream.Result, failed bool)
	result(r *codemode.Response, err error) *mcp.CallToolResult
}

// A handler serves one call with its parsed arguments.
type handler func(context.Context, *conversation) *mcp.CallToolResult

func (s *shared) newConversation(req *mcp.CallToolRequest, from sender, e elicitor) *conversation {
	return &conversation{
		server: s, request: req, from: from, elicitor: e, session: sessionOf(req), evaluate: s.evaluator.Eval,
		news: make(chan string, 1), happened: make(chan struct{}, 1), dialog: make(chan struct{}, 1),
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
	if c.answered.Load() || !c.elicitor.canAsk(f) {
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

// A client that asks for progress sees the console and the calls of a run while it runs. The result has all of it, so
// the reports need not: a run that is short has none, and what does not fit into a report is counted.
const (
	firstLive = 200 * time.Millisecond // the first one; a shorter run has only its result
	liveEvery = 250 * time.Millisecond // the shortest interval
	liveBytes = 2 << 10                // of one report: the latest lines
	liveLine  = 512                    // bytes of one line
)

// live is what happened in a run since the last report. Its zero value is empty.
type live struct {
	mu    sync.Mutex
	lines []string
	bytes int
	left  int // lines that had no room
}

func (l *live) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines, l.bytes = append(l.lines, line), l.bytes+len(line)+1
	for l.bytes > liveBytes {
		l.bytes -= len(l.lines[0]) + 1
		l.lines = l.lines[1:]
		l.left++
	}
}

// take empties it.
func (l *live) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.Join(l.lines, "\n")
	if l.left > 0 {
		text = fmt.Sprintf("(%d earlier lines are not shown)\n%s", l.left, text)
	}
	l.lines, l.bytes, l.left = nil, 0, 0
	return text
}
