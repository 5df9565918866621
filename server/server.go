// Package server offers an Evaluator to MCP clients.
//
// Each profile is a tool of its own, codemode_eval_<profile>, so that a model
// cannot choose a looser one than the person exposed. The tools follow the
// configuration while sessions are live:
//
//	s := server.New(evaluator, server.Options{})
//	defer s.Close()
//	err := s.ServeStdio(ctx, os.Stdin, os.Stdout) // returns when the client is gone
//
// A question about a call goes only to the client that made the call: over its session, or since MCP 2026-07-28 as the
// end of its request, which the client repeats with the answer. When a client cannot reach a person, the profile says
// what that means. No tool here approves anything.
//
// [Server.HTTP] serves any number of clients over HTTP, those on either
// generation of the protocol at the same address.
package server

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/server/limits"
	"github.com/codemode-project/codemode/internal/server/resources"
)

// A Server is an MCP server around an Evaluator. It serves any number of sessions at once.
type Server struct {
	*shared
	tools     *toolset
	exchanges *exchanges
	cancel    func() // of the subscription to the evaluator
}

// New offers e to clients. It panics without an Evaluator.
func New(e *codemode.Evaluator, o Options) *Server {
	if e == nil {
		panic("server: an Evaluator is needed")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Version = cmp.Or(o.Version, "dev")
	s := &Server{shared: &shared{
		evaluator: e, options: o, log: o.Log, access: limits.NewAccessLog(e.Record().Access),
		list: toolList{retired: map[string]bool{}}, exposed: &exposure{e, o.Profile, o.Surface},
	}}
	s.exchanges = newExchanges(s.shared, o.StateKey, o.Reattach)
	s.tools = &toolset{shared: s.shared, exchanges: s.exchanges}
	s.tools.calling = &using{&calling{toolset: s.tools, threads: threads{all: map[threadKey]*thread{}}}}
	s.exchanges.unused = s.tools.offer
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "codemode", Title: "codemode", Version: o.Version}, &mcp.ServerOptions{
		Logger:                    quiet(o.Log),
		SupportedProtocolVersions: versions,
		CompletionHandler: func(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return s.complete(ctx, req)
		},
		// Declare all of them also while there are none: clients read capabilities once, when they connect.
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true},
			Resources: &mcp.ResourceCapabilities{ListChanged: true},
			Prompts:   &mcp.PromptCapabilities{ListChanged: true}, Completions: &mcp.CompletionCapabilities{},
			Extensions: map[string]any{tasksExtension: map[string]any{}}},
	})
	s.tools.offerTasks()
	s.mcp.AddReceivingMiddleware(s.receive)
	s.mcp.AddSendingMiddleware(s.ignoreUndelivered, s.keepReplies)
	if !e.Config().KeptResults().Off {
		s.mcp.AddResourceTemplate(resources.Results(), s.readResult)
	}
	s.tools.offer()
	s.cancel = e.Subscribe(s.tools.offer)
	return s
}

// Serve serves one client until it disconnects or ctx ends; its calls end then.
func (s *Server) Serve(ctx context.Context, t mcp.Transport) error {
	session, err := s.mcp.Connect(ctx, t, nil)
	if err != nil {
		return err
	}
	s.local.Store(session, true)
	defer s.local.Delete(session)
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	end := func(because error) {
		s.calls.end(because, of(session))
	}
	select {
	case err = <-ended:
		end(errClientGone)
	case <-ctx.Done():
		end(context.Cause(ctx)) // the session waits for them
		session.Close()
		<-ended
		err = ctx.Err()
	}
	return err
}

// ServeStdio serves one client that writes to in and reads from out, until in or ctx ends. It closes neither.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	err := s.Serve(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: keepOpen{out}, MaxLineLength: maxBody})
	if errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed) {
		return nil // the usual end: the client has disconnected
	}
	return err
}

// keepOpen is a stream of the process that no session may close.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// Close ends the calls in progress and stops following the configuration. Sessions end with their transports.
func (s *Server) Close() {
	s.cancel()
	s.list.mu.Lock()
	s.list.closed = true
	s.list.mu.Unlock()
	s.tools.detached.close()
	s.exchanges.close(closeWait)
	s.access.Flush()
}

// quiet keeps the SDK's messages about each session out of an operator's log.
func quiet(log *slog.Logger) *slog.Logger { return slog.New(atLeast{log.Handler()}) }

type atLeast struct{ slog.Handler }

func (h atLeast) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}
func (h atLeast) WithAttrs(a []slog.Attr) slog.Handler { return atLeast{h.Handler.WithAttrs(a)} }
func (h atLeast) WithGroup(g string) slog.Handler      { return atLeast{h.Handler.WithGroup(g)} }
