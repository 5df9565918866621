// Package mcptest has the other ends of codemode's connections for tests: clients of MCP, servers of MCP, and addresses
// for them. What it starts ends with the test.
package mcptest

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/hostedtest"
)

// Connect connects a client that can do nothing special.
func Connect(t testing.TB, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	checktest.OK(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// BelowSummary is an answer of codemode without its first line, if that counts the calls that did not succeed.
func BelowSummary(text string) string {
	if first, rest, ok := strings.Cut(text, "\n"); ok && strings.Contains(first, "did not succeed: ") {
		return rest
	}
	return text
}

// Bearer sends a token with each request; none if it is "".
func Bearer(token string) *http.Client {
	if token == "" {
		return &http.Client{}
	}
	return Sends("Authorization", "Bearer "+token)
}

// Sends sends a header with each request.
func Sends(name, value string) *http.Client { return &http.Client{Transport: sends{name, value}} }

type sends struct{ name, value string }

func (s sends) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(s.name, s.value)
	return http.DefaultTransport.RoundTrip(r)
}

// FreeAddress is one at which nobody listens. Hardly anybody else takes it at once.
func FreeAddress(t testing.TB) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	checktest.OK(t, err)
	defer free.Close()
	return free.Addr().String()
}

// Serve serves over streamable HTTP, with sessions.
func Serve(t testing.TB, s *mcp.Server) (url string) {
	t.Helper()
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(func() {
		for session := range s.Sessions() {
			session.Close()
		}
		web.Close()
	})
	return web.URL
}

// Host starts a server with a login. The mistakes that it records are failures.
func Host(t testing.TB, o hostedtest.Options) *hostedtest.Server {
	t.Helper()
	h := hostedtest.New(o)
	t.Cleanup(func() {
		h.Close()
		if m := h.Mistakes(); len(m) > 0 {
			t.Errorf("the server found: %q", m)
		}
	})
	return h
}
