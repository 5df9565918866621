package discovery

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/server"
)

// A bed is a domain's MCP server, and a codemode server in front of it, each with a client.
type bed struct {
	domain   *Domain
	direct   *mcp.ClientSession // of the domain
	codemode *mcp.ClientSession

	closing []func() // the last first
}

// rules allow every tool of the domain.
const rules = `{"mcpServers": {%q: {"url": %q}}, "builtin": false,
	"evaluation": {"defaultProfile": "bench", "profiles": {"bench": {"allowlist": ["%s__*"]}}}}`

// ready bounds how long the codemode server may need to connect to the domain.
const ready = time.Minute

func openBed(ctx context.Context, d *Domain, cacheDir string) (b *bed, err error) {
	b = &bed{domain: d}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	s := d.server()
	if b.direct, err = b.connect(ctx, s.Run); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	web := &http.Server{Handler: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil),
		ReadHeaderTimeout: ready}
	go web.Serve(l) // until web.Close
	b.closing = append(b.closing, func() { web.Close() })
	cfg, err := config.Parse("codemode.json", fmt.Appendf(nil, rules, d.name, "http://"+l.Addr().String()+"/mcp", d.name))
	if err != nil {
		return nil, err
	}
	e, err := codemode.New(ctx, codemode.Options{Config: cfg, CacheDir: cacheDir})
	if err != nil {
		return nil, err
	}
	b.closing = append(b.closing, func() { e.Close(context.WithoutCancel(ctx)) })
	e.Tools().Ready(ctx, ready)
	front := server.New(e, server.Options{})
	b.closing = append(b.closing, front.Close)
	b.codemode, err = b.connect(ctx, front.Serve)
	return b, err
}

// connect starts a server and connects a client to it.
func (b *bed) connect(ctx context.Context, serve func(context.Context, mcp.Transport) error) (*mcp.ClientSession,
	error) {
	near, far := mcp.NewInMemoryTransports()
	serving, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		serve(serving, far) // its error is that of the client
	}()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, near, nil)
	b.closing = append(b.closing, func() {
		if err == nil {
			c.Close()
		}
		cancel()
		<-ended
	})
	return c, err
}

func (b *bed) close() {
	for len(b.closing) > 0 {
		last := len(b.closing) - 1
		b.closing[last]()
		b.closing = b.closing[:last]
	}
}

// ask calls a tool and returns the text of the result.
func ask(ctx context.Context, c *mcp.ClientSession, tool string, args any) (text string, failed bool, err error) {
	r, err := c.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", false, fmt.Errorf("calling %s: %w", tool, err)
	}
	var all []string
	for _, block := range r.Content {
		t, ok := block.(*mcp.TextContent)
		if !ok {
			return "", false, fmt.Errorf("calling %s: the result has more than text", tool)
		}
		all = append(all, t.Text)
	}
	return strings.Join(all, "\n"), r.IsError, nil
}
