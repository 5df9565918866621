package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/isolation"
)

// Programs of codemode call tools as codemode.server__tool, with one object. The prelude gives them codemode.tool, with
// any JSON. Everything else of codemode is as it was.
const (
	server  = "harness"
	prelude = `const codemode = ((all) => {
		const result = async (reply) => (await reply).value;
		const tool = (f) => new Proxy(f, { apply: (_, self, args) => result(f({ value: args[0] })) });
		const own = {
			__proto__: null, echo: tool(all.harness__echo), slow: tool(all.harness__slow), fail: tool(all.harness__fail),
			secret: tool(all.harness__secret),
		};
		return new Proxy(all, { get: (_, name) => (name in own ? own[name] : all[name]) });
	})(globalThis.codemode);`
	wrapping = len(`{"value":}`)
)

// A toolServer is an MCP server with the tools of the protocol, on a loopback address.
type toolServer struct {
	http  *http.Server
	url   string
	calls sync.Map // of isolation.Caller, by the trace of their run
}

func serveTools() (*toolServer, error) {
	t := &toolServer{}
	s := mcp.NewServer(&mcp.Implementation{Name: server, Version: "1"}, nil)
	for _, name := range []string{"echo", "slow", "fail", "secret"} {
		tool := &mcp.Tool{Name: name, Description: "A tool of the harness.", InputSchema: json.RawMessage(`{"type":"object"}`)}
		s.AddTool(tool, t.call)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t.url = "http://" + listener.Addr().String()
	t.http = &http.Server{Handler: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{MaxRequestBodyBytes: -1, PropagateRequestCancellation: true})}
	go func() { _ = t.http.Serve(listener) }() // until close
	return t, nil
}

func (t *toolServer) close() error { return t.http.Close() }

// call passes a call on to the harness. An error is the failure of the tool.
func (t *toolServer) call(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	value, err := t.ask(ctx, r)
	result := &mcp.CallToolResult{}
	if err != nil {
		result.SetError(err)
		return result, nil
	}
	result.StructuredContent = map[string]json.RawMessage{"value": value}
	return result, nil
}

func (t *toolServer) ask(ctx context.Context, r *mcp.CallToolRequest) (json.RawMessage, error) {
	call, ok := t.calls.Load(r.Params.Meta["traceparent"])
	if !ok {
		return nil, errors.New("the run of this call has ended")
	}
	var in struct {
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
		return nil, err
	}
	nothing := in.Value == nil || string(in.Value) == "null" // as programs of codemode see it
	switch {
	case nothing && r.Params.Name == "echo":
		in.Value = json.RawMessage("null")
	case nothing:
		in.Value = json.RawMessage("{}")
	}
	return call.(isolation.Caller)(ctx, r.Params.Name, in.Value)
}

// trace is the trace context of a run, which codemode passes on with its calls. A late call of an earlier run is not
// taken for one of this run.
func trace(run int) string { return fmt.Sprintf("00-%032x-%016x-00", run+1, run+1) }
