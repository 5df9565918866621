package direct_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/server/direct"
)

// whole is a response without a stream before it.
type whole struct{ http.ResponseWriter }

func (w whole) FlushError() error { return http.NewResponseController(w.ResponseWriter).Flush() }

func (w whole) WriteLast(status int, kind string, all, event []byte) error {
	if w.Header().Get("X-Began") != "" {
		all = event
	} else {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
	}
	_, err := w.ResponseWriter.Write(all)
	return err
}

func (w whole) Write(p []byte) (int, error) {
	w.Header().Set("X-Began", "yes")
	return w.ResponseWriter.Write(p)
}

// A tester is a server with a few tools. It serves requests directly where it can, or never.
type tester struct {
	server   *mcp.Server
	sdk      http.Handler
	waits    chan struct{} // closed when the tool "wait" waits
	canceled chan error    // gets how a call of the tool "wait" ended
	taken    int           // how many requests were served directly
}

func newTester() *tester {
	t := &tester{waits: make(chan struct{}), canceled: make(chan error, 1)}
	quiet := slog.New(slog.DiscardHandler)
	t.server = mcp.NewServer(&mcp.Implementation{Name: "tester", Version: "1"}, &mcp.ServerOptions{Logger: quiet})
	schema := json.RawMessage(`{"type": "object"}`)
	tool := func(name string, do mcp.ToolHandler) {
		t.server.AddTool(&mcp.Tool{Name: name, InputSchema: schema}, do)
	}
	tool("echo", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		text := fmt.Sprintf("%s of %v for %s", r.Params.Arguments, r.ClientInfo(), r.Extra.Header.Get("X-Caller"))
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	})
	tool("fail", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("it failed <&>")
	})
	tool("refuse", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no", Data: json.RawMessage(`{"a":1}`)}
	})
	tool("progress", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "t", Progress: float64(i)})
			if err != nil {
				return nil, err
			}
		}
		if strings.Contains(string(r.Params.Arguments), "fail") {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "too late for a status"}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	})
	tool("ask", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Mode: "form", Message: "?",
			RequestedSchema: map[string]any{"type": "object"}})
		text := fmt.Sprint("asked: ", err != nil)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	})
	choose := func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		got, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Mode: "form", Message: "?",
			RequestedSchema: map[string]any{"type": "object"}})
		if err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: got.Action}}}, nil
	}
	tool("choose", choose)
	tool("hurry", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		_, err := choose(short, r)
		time.Sleep(100 * time.Millisecond) // the SDK takes the question back in the background
		return nil, err
	})
	tool("large", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", 30<<20)}}}, nil
	})
	tool("wait", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(t.waits)
		<-ctx.Done()
		t.canceled <- ctx.Err()
		return nil, ctx.Err()
	})
	t.sdk = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return t.server },
		&mcp.StreamableHTTPOptions{Logger: quiet, Stateless: true, PropagateRequestCancellation: true})
	return t
}

func (t *tester) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if call := direct.Read(r, body); call != nil && r.URL.Path == "/direct" {
		t.taken++
		direct.Serve(whole{w}, r, call, t.server, &mcp.RequestExtra{Header: r.Header})
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	t.sdk.ServeHTTP(w, r)
}

const meta = `"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
	"io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": {}}`

func call(tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": %q, "arguments": %s, %s}}`,
		tool, arguments, meta)
}

// A request gets the same answer from this package as from the SDK's handler, or this package leaves it to that one.
func TestAsTheSDK(t *testing.T) {
	for _, test := range []struct {
		name    string
		body    string
		headers map[string]string // beside those of a call of echo; "" removes one
		direct  bool
	}{
		{name: "a call", body: call("echo", `{"x": "ä\u2028<>"}`), direct: true},
		{name: "a call whose id is a text",
			body: strings.Replace(call("echo", `{}`), `"id": 7`, `"id": "a\"b"`, 1), direct: true},
		{name: "a negative id", body: strings.Replace(call("echo", `{}`), `"id": 7`, `"id": -3`, 1), direct: true},
		{name: "members in another order",
			body:   `{"params": {` + meta + `, "name": "echo"}, "method": "tools/call", "id": 1, "jsonrpc": "2.0"}`,
			direct: true},
		{name: "an error of the tool",
			body: call("fail", `{}`), headers: map[string]string{"Mcp-Name": "fail"}, direct: true},
		{name: "an error with a status",
			body: call("refuse", `{}`), headers: map[string]string{"Mcp-Name": "refuse"}, direct: true},
		{name: "progress",
			body: call("progress", `{}`), headers: map[string]string{"Mcp-Name": "progress"}, direct: true},
		{name: "a request to the client",
			body: call("ask", `{}`), headers: map[string]string{"Mcp-Name": "ask"}, direct: true},
		{name: "an unknown tool",
			body: call("none", `{}`), headers: map[string]string{"Mcp-Name": "none"}, direct: true},
		{name: "arguments that are no object", body: call("echo", `[1]`), direct: true},
		{name: "without capabilities",
			body:   strings.Replace(call("echo", `{}`), `clientCapabilities": {}`, `clientCapabilities": 1`, 1),
			direct: true},
		{name: "a state",
			body: strings.Replace(call("echo", `{}`), `"name"`, `"requestState": "s", "name"`, 1), direct: true},
		{name: "responses", body: strings.Replace(call("echo", `{}`), `"name"`,
			`"inputResponses": {"a": {"action": "accept"}}, "name"`, 1), direct: true},
		{name: "accepted in another order",
			body:    call("echo", `{}`),
			headers: map[string]string{"Accept": "text/event-stream,application/json"}, direct: true},

		{name: "another name in the header",
			body: call("echo", `{}`), headers: map[string]string{"Mcp-Name": "fail"}},
		{name: "no name in the header", body: call("echo", `{}`), headers: map[string]string{"Mcp-Name": ""}},
		{name: "another method in the header",
			body: call("echo", `{}`), headers: map[string]string{"Mcp-Method": "tools/list"}},
		{name: "another version in the header",
			body: call("echo", `{}`), headers: map[string]string{"Mcp-Protocol-Version": "2026-07-29"}},
		{name: "another version in the body",
			body: strings.Replace(call("echo", `{}`), "2026-07-28", "2025-11-25", 1)},
		{name: "no version in the body",
			body: `{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "echo"}}`},
		{name: "one media type accepted",
			body: call("echo", `{}`), headers: map[string]string{"Accept": "application/json"}},
		{name: "every media type accepted", body: call("echo", `{}`), headers: map[string]string{"Accept": "*/*"}},
		{name: "another content type",
			body: call("echo", `{}`), headers: map[string]string{"Content-Type": "text/plain"}},
		{name: "an argument in a header", body: call("echo", `{}`), headers: map[string]string{"Mcp-Param-X": "1"}},
		{name: "a state that is no text",
			body: strings.Replace(call("echo", `{}`), `"name"`, `"requestState": 5, "name"`, 1)},
		{name: "responses that are no object",
			body: strings.Replace(call("echo", `{}`), `"name"`, `"inputResponses": 5, "name"`, 1)},
		{name: "a response that is none",
			body: strings.Replace(call("echo", `{}`), `"name"`, `"inputResponses": {"a": 5}, "name"`, 1)},
		{name: "a response whose action is none",
			body: strings.Replace(call("echo", `{}`), `"name"`, `"inputResponses": {"a": {"action": 5}}, "name"`, 1)},
		{name: "a batch", body: "[" + call("echo", `{}`) + "]"},
		{name: "two names", body: strings.Replace(call("echo", `{}`), `"name"`, `"name": "fail", "name"`, 1)},
		{name: "two methods", body: strings.Replace(call("echo", `{}`), `"method"`, `"method": "ping", "method"`, 1)},
		{name: "a name in capitals too",
			body: strings.Replace(call("echo", `{}`), `"name"`, `"Name": "fail", "name"`, 1)},
		{name: "an id that is no whole number", body: strings.Replace(call("echo", `{}`), `"id": 7`, `"id": 7.5`, 1)},
		{name: "an id in another notation", body: strings.Replace(call("echo", `{}`), `"id": 7`, `"id": 7e0`, 1)},
		{name: "an id that no double holds",
			body: strings.Replace(call("echo", `{}`), `"id": 7`, `"id": 9007199254740993`, 1)},
		{name: "no id", body: strings.Replace(call("echo", `{}`), `"id": 7,`, ``, 1)},
		{name: "an id that is null", body: strings.Replace(call("echo", `{}`), `"id": 7`, `"id": null`, 1)},
		{name: "another member", body: strings.Replace(call("echo", `{}`), `"id"`, `"result": {}, "id"`, 1)},
		{name: "not JSON", body: "{"},
		{name: "nothing", body: ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			tester := newTester()
			server := httptest.NewServer(tester)
			defer server.Close()
			want := send(t, server.URL+"/sdk", test.body, test.headers)
			got := send(t, server.URL+"/direct", test.body, test.headers)
			if want != got {
				t.Errorf("the SDK's handler answers\n%s\nand this package\n%s", want, got)
			}
			if served := tester.taken == 1; served != test.direct {
				t.Errorf("served directly: %v", served)
			}
		})
	}
}

// send sends a call of echo, with other headers too, and returns the answer. A header that is "" is not sent.
func send(t *testing.T, url, text string, headers map[string]string) string {
	r, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(text))
	checktest.OK(t, err)
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"echo"}, "X-Caller": {"anna"}}
	for header, value := range headers {
		if r.Header.Del(header); value != "" {
			r.Header.Set(header, value)
		}
	}
	res, err := http.DefaultClient.Do(r)
	checktest.OK(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	checktest.OK(t, err)
	return fmt.Sprintf("%d %s %s\n%s", res.StatusCode, res.Header.Get("Content-Type"), res.Header.Get("Cache-Control"),
		withoutPointers(body))
}

// withoutPointers removes addresses of memory from a text.
func withoutPointers(text []byte) []byte {
	return regexp.MustCompile(`0x[0-9a-f]+`).ReplaceAll(text, nil)
}

// The call of a client that leaves is canceled.
func TestAClientThatLeaves(t *testing.T) {
	tester := newTester()
	server := httptest.NewServer(tester)
	defer server.Close()
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", server.URL+"/direct", strings.NewReader(call("wait", `{}`)))
	checktest.OK(t, err)
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"wait"}}
	done := make(chan error)
	go func() {
		_, err := http.DefaultClient.Do(r)
		done <- err
	}()
	<-tester.waits
	leave()
	<-done
	if err := <-tester.canceled; !errors.Is(err, context.Canceled) || tester.taken != 1 {
		t.Errorf("%v, served directly: %d", err, tester.taken)
	}
}

// An error after progress is an event like those before. The SDK's handler would send it as JSON between events.
func TestAnErrorAfterProgress(t *testing.T) {
	server := httptest.NewServer(newTester())
	defer server.Close()
	got := send(t, server.URL+"/direct", call("progress", `{"fail": true}`), map[string]string{"Mcp-Name": "progress"})
	const end = "event: message\ndata: " +
		`{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"too late for a status"}}` + "\n\n"
	if strings.Count(got, "event: message\n") != 4 || !strings.HasSuffix(got, end) {
		t.Error(got)
	}
}

// Whatever Read takes, the SDK reads as the same call.
func FuzzRead(f *testing.F) {
	f.Add([]byte(call("echo", `{"a": [1, 2.5e3, "\ud83d\ude00"]}`)))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"echo",` + meta + `}}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","id":1,"method":"tools/call"}]`))
	f.Add([]byte(strings.Replace(call("echo", `{}`), `"id": 7`, `"ID": 8, "id": 7`, 1)))
	f.Fuzz(func(t *testing.T, body []byte) {
		r := &http.Request{Method: "POST", Header: http.Header{"Content-Type": {"application/json"},
			"Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2026-07-28"},
			"Mcp-Method": {"tools/call"}, "Mcp-Name": {"echo"}}}
		got := direct.Read(r, body)
		if got == nil {
			return
		}
		sameCall(t, got, body)
	})
}

// sameCall checks that the SDK reads a body as this call.
func sameCall(t *testing.T, got *jsonrpc.Request, body []byte) {
	t.Helper()
	message, err := jsonrpc.DecodeMessage(body)
	if err != nil {
		t.Fatalf("the SDK does not read it: %v", err)
	}
	want, ok := message.(*jsonrpc.Request)
	if !ok || want.ID != got.ID || want.Method != got.Method || !bytes.Equal(want.Params, got.Params) {
		t.Fatalf("the SDK reads %+v, this package %+v", message, got)
	}
	var params mcp.CallToolParamsRaw
	checktest.OK(t, json.Unmarshal(got.Params, &params))
}
