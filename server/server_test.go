package server_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/sandbox"
	"github.com/codemode-project/codemode/server"
)

func TestMain(m *testing.M) {
	testwait.Parallel(16) // a person takes their time
	os.Exit(m.Run())
}

var sharedEngine = sync.OnceValues(func() (*sandbox.Engine, error) {
	return sandbox.New(context.Background(), sandbox.Options{CacheDir: cachetest.Dir()})
})

// house is a server over a configuration file that a test may change.
type house struct {
	t         *testing.T
	server    *server.Server
	evaluator *codemode.Evaluator
	config    string // path
	root      string
	log       *testwait.Buffer

	variables map[string]string // of the environment
}

func (h *house) env(name string) (string, bool) {
	value, ok := h.variables[name]
	return value, ok
}

// open starts a server. Its file system holds a.md and b.md.
func open(t *testing.T, config string, o server.Options, change ...func(*codemode.Options)) *house {
	t.Helper()
	engine, err := sharedEngine()
	checktest.OK(t, err)
	h := &house{t: t, config: filepath.Join(t.TempDir(), "codemode.json"), root: t.TempDir(), log: &testwait.Buffer{}}
	h.write(config)
	for name, text := range map[string]string{"a.md": "alpha", "b.md": "beta"} {
		checktest.Write(t, filepath.Join(h.root, name), text)
	}
	log := slog.New(slog.NewTextHandler(h.log, nil))
	given := codemode.Options{Engine: engine, ConfigPath: h.config, Root: h.root, Log: log}
	for _, f := range change {
		f(&given)
	}
	e, err := codemode.New(t.Context(), given)
	checktest.OK(t, err)
	o.Log = log
	h.evaluator, h.server = e, server.New(e, o)
	t.Cleanup(func() {
		h.server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return h
}

func (h *house) write(config string) {
	h.t.Helper()
	checktest.Write(h.t, h.config, config)
}

func (h *house) holds(name string) bool {
	_, err := os.Stat(filepath.Join(h.root, name))
	return err == nil
}

// client is somebody who is connected.
type client struct {
	t *testing.T
	*mcp.ClientSession
	changed chan struct{} // the list of tools changed

	mu    sync.Mutex
	asked []string // the questions, as they were shown
}

// person answers a form. Nil is a client that cannot ask.
type person func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error)

func says(action string, content map[string]any) person {
	return func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		time.Sleep(350 * time.Millisecond) // a faster no would count as nobody's
		return &mcp.ElicitResult{Action: action, Content: content}, nil
	}
}

func newClient(t *testing.T, p person, change func(*mcp.ClientOptions)) (*client, *mcp.Client) {
	c := &client{t: t, changed: make(chan struct{}, 100)}
	o := &mcp.ClientOptions{
		Capabilities:           &mcp.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { c.changed <- struct{}{} },
	}
	if p != nil {
		o.ElicitationHandler = func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			c.mu.Lock()
			c.asked = append(c.asked, req.Params.Message)
			c.mu.Unlock()
			return p(ctx, req.Params)
		}
	}
	if change != nil {
		change(o)
	}
	return c, mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, o)
}

// connect connects a client in memory.
func (h *house) connect(p person, version string) *client { return h.connectWith(p, version, nil) }

func (h *house) connectWith(p person, version string, change func(*mcp.ClientOptions)) *client {
	h.t.Helper()
	here, there := mcp.NewInMemoryTransports()
	c, sdk := newClient(h.t, p, change)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.server.Serve(ctx, there) }()
	session, err := sdk.Connect(ctx, here, &mcp.ClientSessionOptions{ProtocolVersion: version})
	checktest.OK(h.t, err)
	c.ClientSession = session
	h.t.Cleanup(func() {
		session.Close()
		cancel()
		<-done
	})
	return c
}

// connectHTTP connects a client over streamable HTTP.
func (h *house) connectHTTP(url string, p person) *client { return h.connectHTTPOn(url, p, "") }

// connectHTTPOn does so on a version of the protocol.
func (h *house) connectHTTPOn(url string, p person, version string) *client {
	h.t.Helper()
	c, sdk := newClient(h.t, p, nil)
	session, err := sdk.Connect(h.t.Context(), &mcp.StreamableClientTransport{Endpoint: url},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	checktest.OK(h.t, err)
	c.ClientSession = session
	h.t.Cleanup(func() { session.Close() })
	return c
}

func (h *house) listen() string {
	h.t.Helper()
	handler, err := h.server.HTTP(server.HTTPOptions{Env: h.env})
	checktest.OK(h.t, err)
	web := httptest.NewServer(handler)
	h.t.Cleanup(func() {
		handler.Close()
		web.Close()
	})
	return web.URL + server.Path
}

// call calls a tool and returns its text and whether it is an error.
func (c *client) call(tool string, args map[string]any) (string, bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 30*time.Second)
	defer cancel()
	res, err := c.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		c.t.Fatalf("calling %s: %v", tool, err)
	}
	if len(res.Content) == 0 {
		c.t.Fatalf("%s answered nothing", tool)
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		c.t.Fatalf("%s answered with %T first", tool, res.Content[0])
	}
	return text.Text, res.IsError
}

func (c *client) eval(tool, code string) (string, bool) {
	c.t.Helper()
	return c.call(tool, map[string]any{"code": code})
}

// want runs a program whose answer has to hold all the parts.
func (c *client) want(tool, code string, parts ...string) {
	c.t.Helper()
	text, _ := c.eval(tool, code)
	for _, part := range parts {
		if !strings.Contains(text, part) {
			c.t.Errorf("%q is missing from the answer to\n%s\n\n%s", part, code, text)
		}
	}
}

func (c *client) tools() []string {
	c.t.Helper()
	var names []string
	for tool, err := range c.Tools(c.t.Context(), nil) {
		checktest.OK(c.t, err)
		names = append(names, tool.Name)
	}
	return names
}

func (c *client) questions() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.asked...)
}

var eventually = testwait.Until
