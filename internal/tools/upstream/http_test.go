package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sdkServer is a server made with the SDK, to be served over HTTP. What hangs in it does so until over is closed.
func sdkServer(over <-chan struct{}) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
	})
	object := json.RawMessage(`{"type":"object"}`)
	s.AddTool(&mcp.Tool{Name: "big", InputSchema: object}, func(context.Context,
		*mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"z":9007199254740993,"a":1.10}`)}, nil
	})
	s.AddTool(&mcp.Tool{Name: "slow", InputSchema: object}, func(ctx context.Context,
		r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if token := r.Params.GetProgressToken(); token != nil {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1,
				Message: "half"})
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
	})
	s.AddTool(&mcp.Tool{Name: "hangs", InputSchema: object}, func(ctx context.Context,
		_ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-over: // the SDK's server without sessions does not end a call whose client has gone
		case <-ctx.Done():
		}
		return &mcp.CallToolResult{}, nil
	})
	s.AddTool(&mcp.Tool{Name: "wrong", InputSchema: object}, func(context.Context,
		*mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("a protocol error")
	})
	return s
}

func TestEveryWayOverHTTP(t *testing.T) {
	t.Parallel()
	type get = func(*http.Request) *mcp.Server
	streamable := func(o *mcp.StreamableHTTPOptions) func(get) http.Handler {
		return func(server get) http.Handler { return mcp.NewStreamableHTTPHandler(server, o) }
	}
	sse := func(server get) http.Handler { return mcp.NewSSEHandler(server, nil) }
	for _, row := range []struct {
		name    string
		handler func(get) http.Handler
		path    string
		kind    servers.Transport
		version string
	}{
		{"the newest protocol, without sessions", streamable(&mcp.StreamableHTTPOptions{Stateless: true}), "/mcp",
			upstream.HTTP, "2026-07-28"},
		{"with sessions", streamable(nil), "/mcp", upstream.HTTP, "2025-11-25"},
		{"with sessions, answers in plain JSON", streamable(&mcp.StreamableHTTPOptions{JSONResponse: true}), "/mcp",
			upstream.HTTP, "2025-11-25"},
		{"only SSE, found out", sse, "/mcp", upstream.HTTP, "2025-11-25"},
		{"only SSE, as the path says", sse, "/sse", upstream.HTTP, "2025-11-25"},
		{"only SSE, as configured", sse, "/mcp", upstream.SSE, "2025-11-25"},
		{"streamable at a path that says SSE", streamable(nil), "/sse", upstream.HTTP, "2025-11-25"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var wrong atomic.Int32
			over := make(chan struct{})
			handler := row.handler(func(*http.Request) *mcp.Server { return sdkServer(over) })
			ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer secret" || r.Header.Get("Cookie") != "" {
					wrong.Add(1)
				}
				http.SetCookie(w, &http.Cookie{Name: "track", Value: "1"})
				handler.ServeHTTP(w, r)
			}))
			defer ts.Close()
			defer close(over)
			s, warnings, err := servers.Parse("s", []byte(fmt.Sprintf(
				`{"type":%q,"url":%q,"headers":{"Authorization":"Bearer ${TOKEN}"}}`, row.kind, ts.URL+row.path)),
				func(string) (string, bool) { return "secret", true })
			if err != nil || len(warnings) > 0 {
				t.Fatal(err, warnings)
			}
			m := manage(t, upstream.Options{}, upstream.Server{Server: s})
			if st := status(t, m, "s"); st.State != upstream.Ready || st.Protocol != row.version || st.Tools != 4 {
				t.Fatalf("%s: %s, protocol %s, %d tools", st.State, st.Error, st.Protocol, st.Tools)
			}
			r, err := call(t, m, "s", "big", `{}`)
			checktest.OK(t, err)
			if got, want := string(r.Value), `{"z":9007199254740993,"a":1.10}`; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			progress := make(chan string, 10)
			r, err = m.Call(t.Context(), "s", "slow", nil, upstream.CallOptions{Progress: func(_, _ float64,
				s string) {
				progress <- s
			}})
			if err != nil || string(r.Value) != `"done"` {
				t.Errorf("slow: got %v, %v", r, err)
			}
			if !strings.Contains(row.name, "plain JSON") { // there it may come after the answer
				select {
				case got := <-progress:
					if got != "half" {
						t.Errorf("progress %q", got)
					}
				case <-time.After(patience):
					t.Error("no progress")
				}
			}
			var toolErr *upstream.ToolError
			if _, err := call(t, m, "s", "wrong", `{}`); !errors.As(err, &toolErr) || toolErr.Message != "a protocol error" {
				t.Errorf("a protocol error: got %v", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second) // enough to send it
			defer cancel()
			var e *upstream.Error
			if _, err := m.Call(ctx, "s", "hangs", nil, upstream.CallOptions{}); !errors.As(err, &e) || !e.Unknown ||
				!errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("out of time: got %v", err)
			}
			if _, err := call(t, m, "s", "big", `{}`); err != nil {
				t.Errorf("after that: %v", err)
			}
			if n := wrong.Load(); n > 0 {
				t.Errorf("%d requests came without the header, or with a cookie", n)
			}
			ctx, cancel = context.WithTimeout(context.Background(), patience)
			defer cancel()
			if err := m.Close(ctx); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
}

// handwritten serves one JSON-RPC method with what answer returns: a result, or
// false when it has written the answer itself.
func handwritten(answer func(w http.ResponseWriter, method string, call int) (string, bool)) http.Handler {
	var calls atomic.Int32
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		body, _ := io.ReadAll(r.Body)
		if json.Unmarshal(body, &m) != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		n := 0
		if m.Method == "tools/call" {
			n = int(calls.Add(1))
		}
		result, ok := answer(w, m.Method, n)
		if !ok {
			return
		}
		switch {
		case result != "":
		case m.Method == "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"hand","version":"1"}}`
		case m.Method == "tools/list":
			result = `{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}`
		case m.Method == "tools/call":
			result = `{"content":[{"type":"text","text":"ok"}]}`
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	})
}

func httpServer(name, url string) upstream.Server {
	return upstream.Server{Server: servers.Server{Name: name, Transport: upstream.HTTP, URL: url}}
}

func TestFaultsOverHTTP(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		fault   func(w http.ResponseWriter, n int) bool // answers a call itself?
		want    string
		unknown bool
	}{
		{"429 is no silent retry", func(w http.ResponseWriter, _ int) bool { w.WriteHeader(429); return true },
			"Too Many Requests", false},
		{"503 did nothing", func(w http.ResponseWriter, _ int) bool { w.WriteHeader(503); return true },
			"Service Unavailable", false},
		{"500 may have done something", func(w http.ResponseWriter, _ int) bool { w.WriteHeader(500); return true },
			"Internal Server Error", true},
		{"504 may have done something", func(w http.ResponseWriter, _ int) bool { w.WriteHeader(504); return true },
			"Gateway Timeout", true},
		{"401 explains itself", func(w http.ResponseWriter, _ int) bool { w.WriteHeader(401); return true }, "HTTP 401",
			false},
		{"a reset may have done something", func(http.ResponseWriter, int) bool { panic(http.ErrAbortHandler) }, "", true},
		{"half an answer too", func(w http.ResponseWriter, _ int) bool {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":`)
			return true
		}, "", true},
		{"half an event stream too", func(w http.ResponseWriter, _ int) bool {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"jsonrpc\":\n")
			return true
		}, "", true},
		{"an answer without end is cut off", func(w http.ResponseWriter, _ int) bool {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, `data: {"jsonrpc":"2.0","id":1,"result":{"x":"`)
			for {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return true
				}
			}
		}, "", true},
		{"HTML is no answer", func(w http.ResponseWriter, _ int) bool {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>")
			return true
		}, "content type", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int32
			ts := httptest.NewServer(handwritten(func(w http.ResponseWriter, method string, call int) (string, bool) {
				if method == "tools/call" {
					n.Add(1)
					if call == 1 {
						return "", !row.fault(w, call)
					}
				}
				return "", true
			}))
			defer ts.Close()
			m := manage(t, upstream.Options{}, httpServer("s", ts.URL))
			_, err := call(t, m, "s", "x", `{}`)
			var e *upstream.Error
			if !errors.As(err, &e) || e.Unknown != row.unknown || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q, outcome unknown: %v", err, row.want, row.unknown)
			}
			if got := n.Load(); got != 1 {
				t.Errorf("the call was sent %d times", got)
			}
			eventually(t, "it works again", func() bool { _, err := call(t, m, "s", "x", `{}`); return err == nil })
		})
	}
}

func TestOddAnswersOverHTTP(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, body, want string }{
		{"events that are no messages are left out",
			": hello\n\nevent: ping\ndata: now\n\ndata: not json\n\ndata: {\"level\":30}\n\ndata: RESULT\n\n", `"ok"`},
		{"a message on several lines",
			"data: {\"jsonrpc\":\"2.0\",\"id\":ID,\ndata: \"result\":{\"content\":[],\ndata: \"structuredContent\":{\"n\":9007199254740993}}}\n\n", `{"n":9007199254740993}`},
		{"CRLF", "event: message\r\ndata: RESULT\r\n\r\n", `"ok"`},
		{"invalid UTF-8 is replaced",
			"data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\xffb\"}]}}\n\n",
			"\"a\uFFFDb\""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			inner := handwritten(func(http.ResponseWriter, string, int) (string, bool) { return "", true })
			ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if !strings.Contains(string(body), `"tools/call"`) {
					r.Body = io.NopCloser(strings.NewReader(string(body)))
					inner.ServeHTTP(w, r)
					return
				}
				var m struct{ ID json.RawMessage }
				_ = json.Unmarshal(body, &m)
				w.Header().Set("Content-Type", "text/event-stream")
				text := strings.ReplaceAll(row.body, "RESULT",
					`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"ok"}]}}`)
				fmt.Fprint(w, strings.ReplaceAll(text, "ID", string(m.ID)))
			}))
			defer ts.Close()
			m := manage(t, upstream.Options{}, httpServer("s", ts.URL))
			r, err := call(t, m, "s", "x", `{}`)
			checktest.OK(t, err)
			if got := string(r.Value); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}

func TestHeadersGoToNoOtherOrigin(t *testing.T) {
	t.Parallel()
	var leaked atomic.Int32
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { leaked.Add(1) }))
	defer thief.Close()
	for _, row := range []struct {
		name    string
		handler http.HandlerFunc
		want    string
	}{
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
		}, "another origin"},
		{"redirect to metadata", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusPermanentRedirect)
		}, "another origin"},
		{"sse endpoint", func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: endpoint\ndata: %s/steal\n\n", thief.URL)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "another origin"},
		{"needs a login", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
			"HTTP 401"},
	} {
		t.Run(row.name, func(t *testing.T) {
			ts := httptest.NewServer(row.handler)
			defer ts.Close()
			s := httpServer("s", ts.URL)
			s.StartTimeout = patience
			if row.name == "sse endpoint" {
				s.Transport = upstream.SSE
			}
			s.Headers = http.Header{"Authorization": {"Bearer secret"}}
			m := manage(t, upstream.Options{}, s)
			if st := status(t, m, "s"); st.State == upstream.Ready || !strings.Contains(st.Error, row.want) {
				t.Errorf("%s, %q: want %q", st.State, st.Error, row.want)
			}
			_ = m.Close(t.Context()) // before the server, which waits for its connections
		})
	}
	if n := leaked.Load(); n > 0 {
		t.Errorf("%d requests reached the other origin", n)
	}
}

// A restartable server keeps its address over restarts.
type restartable struct {
	t    *testing.T
	addr string
	srv  *http.Server
}

func (r *restartable) start() {
	addr := r.addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	var l net.Listener
	var err error
	// what was there is about to be gone
	if !testwait.Holds(func() bool { l, err = net.Listen("tcp", addr); return err == nil }) {
		r.t.Fatal(err)
	}
	r.addr = l.Addr().String()
	one := sdkServer(nil)
	r.srv = &http.Server{Handler: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return one }, nil)}
	go func(s *http.Server) { _ = s.Serve(l) }(r.srv) // ends with stop
}

func (r *restartable) stop() { _ = r.srv.Close() }

func TestARestartedHTTPServerIsFoundAgain(t *testing.T) {
	t.Parallel()
	r := &restartable{t: t}
	r.start()
	m := manage(t, upstream.Options{}, httpServer("s", "http://"+r.addr))
	if _, err := call(t, m, "s", "big", `{}`); err != nil {
		t.Fatal(err)
	}
	r.stop()
	r.start()
	defer r.stop()
	// The session is gone: the server says so without doing anything, so the
	// call may be sent once more, over a new session.
	// Each connection whose end was not noticed yet leaves one outcome unknown.
	var e *upstream.Error
	eventually(t, "it works after the restart", func() bool {
		_, err := call(t, m, "s", "big", `{}`)
		if err != nil && !errors.As(err, &e) {
			t.Errorf("after the restart: %v", err)
		}
		return err == nil
	})
	r.stop()
	_, err := call(t, m, "s", "big", `{}`)
	if !errors.As(err, &e) {
		t.Errorf("a server that is not there: got %v, want an error of the connection", err)
	}
	r.start()
	eventually(t, "it is back", func() bool { _, err := call(t, m, "s", "big", `{}`); return err == nil })
}
