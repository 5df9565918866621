package upstream

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An sseTransport is the SDK's transport of protocol 2024-11-05, which records
// exchanges. All answers come on one stream; their ids find the requests.
type sseTransport struct {
	mcp.SSEClientTransport
	on listener
}

// Connect implements [mcp.Transport].
func (t *sseTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.SSEClientTransport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &sseConn{Connection: c, on: t.on}, nil
}

type sseConn struct {
	mcp.Connection
	on      listener
	pending pending
}

func (s *sseConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := s.Connection.Read(ctx)
	if err != nil {
		return nil, err
	}
	s.on.received()
	if r, ok := m.(*jsonrpc.Response); ok {
		s.pending.answer(r)
	}
	return m, nil
}

func (s *sseConn) Write(ctx context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		s.pending.add(ctx, r.ID)
	}
	return s.Connection.Write(ctx, m)
}
