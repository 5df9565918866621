package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

// open connects to the server by the first way that works, over HTTP with a login. ctx limits the opening only.
func (h *host) open(ctx context.Context, s *Server, a *login.Account) (link, error) {
	switch s.Transport {
	case InProcess:
		return newInProcessLink(s, h.log), nil
	case Stdio:
		return h.openStdio(ctx, s)
	case HTTP, SSE:
		return h.openHTTP(ctx, s, a)
	case OpenAPI:
		return h.openAPI(ctx, s, a)
	case CLI:
		return h.openCLI(s)
	}
	return nil, fmt.Errorf("it has no transport: give it a command or a url")
}

// openStdio starts the server for a version of the protocol that all servers
// know. It starts a server that answers with an error again, for the newest version.
func (h *host) openStdio(ctx context.Context, s *Server) (link, error) {
	start := func(sess *session) (mcp.Transport, error) {
		command, err := h.command(s)
		if err != nil {
			return nil, err
		}
		masked, guesses := maskOf(s, nil), newGuesses(s)
		command.Hide = func(text string) string { return masked(text, guesses.right()) }
		c, err := h.starter.Start(command)
		if err != nil {
			return nil, err
		}
		sess.child, sess.stdio = c, newStdioConn(c, sess, masked)
		sess.stdio.sending = guesses.note
		sess.stdio.pending.stuck = func(err error) { sess.end(err) }
		return sess.stdio, nil
	}
	l, err := connect(ctx, &session{server: s, log: h.log}, attempt{version: pinned, open: start}, h.name, h.version)
	if err == nil {
		return l, nil
	}
	var no *jsonrpc.Error
	if !errors.As(err, &no) || ctx.Err() != nil {
		return nil, err
	}
	if l, newErr := connect(ctx, &session{server: s, log: h.log}, attempt{open: start}, h.name, h.version); newErr == nil {
		return l, nil
	}
	return nil, err
}

func (h *host) openHTTP(ctx context.Context, s *Server, login *login.Account) (link, error) {
	var first error
	for _, a := range s.attempts() {
		wire, err := newHTTPWire(s, login) // one for each attempt: it remembers how the server refused
		if err != nil {
			return nil, err
		}
		sess := &session{server: s, log: h.log, http: wire}
		wire.forgotten = sess.forgot
		l, err := connect(ctx, sess, a, h.name, h.version)
		if err == nil {
			return l, nil
		}
		wire.close()
		if first == nil {
			first = err
		}
		if !wire.again(err) || ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

// attempts lists the ways to open a connection, the likeliest first.
func (s *Server) attempts() []attempt {
	streamable := func(sess *session) (mcp.Transport, error) {
		return &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: sess.http.client(), MaxEventSize: -1}, nil
	}
	sse := attempt{version: pinned, open: func(sess *session) (mcp.Transport, error) {
		sess.http.sse = true
		t := mcp.SSEClientTransport{Endpoint: s.URL, HTTPClient: sess.http.client(), MaxEventSize: -1}
		return &sseTransport{t, sess, &sess.http.pending}, nil
	}}
	switch {
	case s.Transport == SSE:
		return []attempt{sse}
	case s.SSEFirst:
		return []attempt{sse, {open: streamable}}
	}
	// The first attempt has a limit: some servers never answer a method that they do not know.
	return []attempt{{open: streamable, limit: probeTime}, {version: pinned, open: streamable}, sse}
}

// An sseTransport is the SDK's transport of protocol 2024-11-05, which records
// exchanges. All answers come on one stream; their ids find the requests.
type sseTransport struct {
	mcp.SSEClientTransport
	on      listener
	pending *pending
}

// Connect implements [mcp.Transport].
func (t *sseTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.SSEClientTransport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &sseConn{Connection: c, on: t.on, pending: t.pending}, nil
}

type sseConn struct {
	mcp.Connection
	on      listener
	pending *pending
}

func (s *sseConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := s.Connection.Read(ctx)
	if err != nil {
		return nil, err
	}
	s.on.received()
	r, ok := m.(*jsonrpc.Response)
	if !ok {
		return m, nil
	}
	if again := s.pending.answer(r); again != nil {
		if err := s.Write(ctx, again); err != nil {
			return nil, err
		}
		return s.Read(ctx)
	}
	return m, nil
}

func (s *sseConn) Write(ctx context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		s.pending.add(ctx, r)
	}
	err := s.Connection.Write(ctx, m)
	if _, ok := errors.AsType[*url.Error](err); ok { // the SDK knows this for streamable HTTP only
		err = fmt.Errorf("%w: %w", errRejected, err)
	}
	return err
}

// The SDK ends a connection that cannot write, unless the error has the code of errRejected: then one request fails.
var errRejected = &jsonrpc.Error{Code: -32005, Message: "not taken"}
