package server_test

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/server"
)

// stdio connects a client over two pipes, as a process would be.
func (h *house) stdio(sdk *mcp.Client, version string) *mcp.ClientSession {
	h.t.Helper()
	toServer, in := io.Pipe()
	out, toClient := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- h.server.ServeStdio(context.Background(), toServer, toClient) }()
	session, err := sdk.Connect(h.t.Context(), &mcp.IOTransport{Reader: out, Writer: in},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	checktest.OK(h.t, err)
	h.t.Cleanup(func() {
		session.Close()
		in.Close()
		if err := <-done; err != nil {
			h.t.Errorf("serving ended with %v", err)
		}
	})
	return session
}

// A client that asks for progress sees lines and calls while the program runs: the program goes on only after the
// client has seen its line.
func TestClientsSeeARunWhileItRuns(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for _, transport := range []string{"stdio", "http"} {
			t.Run(version+" over "+transport, func(t *testing.T) {
				h := open(t, original, server.Options{})
				var mu sync.Mutex
				var seen strings.Builder
				sdk := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, &mcp.ClientOptions{
					ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
						mu.Lock()
						defer mu.Unlock()
						seen.WriteString(r.Params.Message + "\n")
						if strings.Contains(seen.String(), "call 1: filesystem__read_text_file failed") {
							if err := writeFile(h, "go.txt", nil); err != nil {
								t.Error(err)
							}
						}
					},
				})
				session := h.connectVia(sdk, transport, version)
				p := &mcp.CallToolParams{Name: "codemode_eval", Arguments: map[string]any{"code": `
					console.log("the program waits");
					for (let i = 0; i < 200; i++) {
						try { await codemode.filesystem__read_text_file({path: "go.txt"}); return "seen" }
						catch { await new Promise(r => setTimeout(r, 100)) }
					}`}}
				p.SetProgressToken("token")
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				result, err := session.CallTool(ctx, p)
				checktest.OK(t, err)
				if text := result.Content[0].(*mcp.TextContent).Text; !strings.HasPrefix(below(text), `"seen"`) {
					t.Errorf("the program ended with %s", text)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, want := range []string{"log: the program waits\ncall 1: filesystem__read_text_file\n",
					"call 1: filesystem__read_text_file failed (ToolError)"} {
					if !strings.Contains(seen.String(), want) {
						t.Errorf("%q is missing from\n%s", want, seen.String())
					}
				}
			})
		}
	}
}

func (h *house) connectVia(sdk *mcp.Client, transport, version string) *mcp.ClientSession {
	h.t.Helper()
	if transport == "stdio" {
		return h.stdio(sdk, version)
	}
	session, err := sdk.Connect(h.t.Context(), &mcp.StreamableClientTransport{Endpoint: h.listen()},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	checktest.OK(h.t, err)
	h.t.Cleanup(func() { session.Close() })
	return session
}
