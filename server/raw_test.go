package server_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/checktest"
)

// rawClient speaks the protocol message by message.
type rawClient struct {
	t    *testing.T
	conn mcp.Connection
}

func (c *rawClient) send(id int64, method, params string) {
	c.t.Helper()
	rid, err := jsonrpc.MakeID(float64(id))
	checktest.OK(c.t, err)
	checktest.OK(c.t, c.conn.Write(c.t.Context(), &jsonrpc.Request{ID: rid, Method: method,
		Params: json.RawMessage(params)}))
}

func (c *rawClient) notify(method string) {
	c.t.Helper()
	checktest.OK(c.t, c.conn.Write(c.t.Context(), &jsonrpc.Request{Method: method, Params: json.RawMessage(`{}`)}))
}

// request sends a request and returns the result of the next answer.
func (c *rawClient) request(id int64, method, params string) string {
	c.t.Helper()
	c.send(id, method, params)
	for {
		m, err := c.conn.Read(c.t.Context())
		checktest.OK(c.t, err)
		if r, ok := m.(*jsonrpc.Response); ok {
			if r.Error != nil {
				c.t.Fatal(r.Error)
			}
			return string(r.Result)
		}
	}
}

// answerQuestions allows everything it is asked until the connection ends.
func (c *rawClient) answerQuestions() {
	for {
		m, err := c.conn.Read(context.Background())
		if err != nil {
			return
		}
		if r, ok := m.(*jsonrpc.Request); ok && r.Method == "elicitation/create" {
			_ = c.conn.Write(context.Background(), &jsonrpc.Response{ID: r.ID,
				Result: json.RawMessage(`{"action": "accept", "content": {"decision": "allow_once"}}`)})
		}
	}
}

func writeFile(h *house, name string, content []byte) error {
	return os.WriteFile(filepath.Join(h.root, name), content, 0o600)
}
