package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/server"
)

// lateServer serves a few tools over HTTP, after a delay.
func lateServer(t *testing.T, name string, delay time.Duration) (url string, s *mcp.Server) {
	s = mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil)
	for i := range 4 {
		addTool(s, fmt.Sprintf("%c_tool", 'd'-i), "Does "+name+" things with files.")
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(delay) // a server that answers slowly
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL, s
}

func addTool(s *mcp.Server, name, description string) {
	s.AddTool(&mcp.Tool{Name: name, Description: description,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"a":{"$ref":"#/$defs/n"}},
			"$defs":{"n":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}}}}}`),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"y":{"type":"string"},"b":{"type":"number"}}}`),
	}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: map[string]any{"b": 1}}, nil
	})
}

// rawly connects without an SDK, which would decode and encode what the server sends.
func (h *house) rawly() *rawClient {
	h.t.Helper()
	here, there := mcp.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.server.Serve(ctx, there) }()
	h.t.Cleanup(func() {
		cancel()
		<-done
	})
	conn, err := here.Connect(ctx)
	if err != nil {
		h.t.Fatal(err)
	}
	return &rawClient{t: h.t, conn: conn}
}

// shown is all that a client gets before it does anything, byte by byte.
func (c *rawClient) shown() string {
	init := c.request(1, "initialize", `{"protocolVersion": "2025-11-25", "capabilities": {},
		"clientInfo": {"name": "raw", "version": "1"}}`)
	c.notify("notifications/initialized")
	return init + "\n" + c.lists()
}

// lists is what stays in the prompt of a model.
func (c *rawClient) lists() string {
	return c.request(2, "tools/list", `{}`) + "\n" + c.request(3, "resources/list", `{}`)
}

// found is what a model finds, byte by byte.
func (c *rawClient) found() string {
	var all strings.Builder
	for i, params := range []string{`{"name": "search_tools", "arguments": {}}`,
		`{"name": "search_tools", "arguments": {"query": "things with files"}}`,
		`{"name": "get_tools", "arguments": {}}`, `{"name": "get_tools", "arguments": {"names": ["c", "a"]}}`} {
		all.WriteString(c.request(int64(10+i), "tools/call", params) + "\n")
	}
	for i, file := range []string{"index", "a", "b", "c", "d", "e"} {
		all.WriteString(c.request(int64(20+i), "resources/read", `{"uri": "codemode://types/`+file+`.d.ts"}`) + "\n")
	}
	return all.String()
}

// What a model is shown is the same bytes in every session and after every restart, whatever order the servers connect
// in, so that caches of prompts hold.
func TestWhatAModelSeesIsTheSameInEverySession(t *testing.T) {
	var first, found string
	for round := range 8 {
		var servers []string
		for _, i := range rand.Perm(5) {
			name := string(rune('a' + i))
			url, _ := lateServer(t, name, time.Duration(rand.IntN(15))*time.Millisecond)
			servers = append(servers, fmt.Sprintf("%q: {\"url\": %q}", name, url))
		}
		h := open(t, `{"mcpServers": {`+strings.Join(servers, ", ")+`}, "evaluation": {"profiles": {
			"z": {"denylist": ["b__a_*"]}, "y": {"asklist": ["a__*"]}, "x": {"allowlist": ["c__*", "d__*"]}}}}`,
			server.Options{})
		for range 2 {
			c := h.rawly()
			if got := c.shown(); first == "" {
				first = got
			} else if got != first {
				t.Fatalf("round %d: a session is shown\n%s\nand another one\n%s", round, got, first)
			}
			if got := c.found(); found == "" {
				found = got
			} else if got != found {
				t.Fatalf("round %d: a session finds\n%s\nand another one\n%s", round, got, found)
			}
			c.request(30, "tools/call", `{"name": "codemode_eval",
				"arguments": {"code": "return await codemode.a__a_tool({})"}}`)
			if got := c.found() + c.lists(); got != found+first[strings.Index(first, "\n")+1:] {
				t.Fatalf("round %d: after a call a session finds\n%s", round, got)
			}
		}
	}
	for _, want := range []string{"a__a_tool", "Servers: a, b, c, d, e, filesystem, time."} {
		if !strings.Contains(first+found, want) {
			t.Errorf("%q is nowhere in\n%s\n%s", want, first, found)
		}
	}
}

// When tools change within a session, the lists stay as they are; what is found is the new text.
func TestAChangeOfToolsLeavesTheListsAsTheyAre(t *testing.T) {
	url, upstream := lateServer(t, "a", 0)
	h := open(t, fmt.Sprintf(`{"mcpServers": {"a": {"url": %q}}}`, url), server.Options{})
	c := h.rawly()
	first := c.shown()
	if text := c.request(9, "resources/read", `{"uri": "codemode://types/a.d.ts"}`); strings.Contains(text, "a__new") {
		t.Fatal(text)
	}
	addTool(upstream, "new", "Is new.")
	upstream.RemoveTools("a_tool")
	eventually(t, "the new tool", func() bool {
		text := c.request(9, "resources/read", `{"uri": "codemode://types/a.d.ts"}`)
		return strings.Contains(text, "a__new") && !strings.Contains(text, "a__a_tool")
	})
	if now := c.lists(); !strings.HasSuffix(first, now) {
		t.Errorf("the lists were\n%s\nand are\n%s", first, now)
	}
}
