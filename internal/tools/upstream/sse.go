package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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
