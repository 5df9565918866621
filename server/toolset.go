package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
)

// A tool is a tool of this server: how clients see it, and what serves its calls. Each is in a file of its own,
// tool_<name>.go, and in the list of [toolset.now].
type tool struct {
	mcp.Tool
	schema *schema
	// digest, schema and annotations identify the tool's current behaviour, if that depends on the configuration: the
	// server notifies clients of a change.
	digest string
	// asks reports whether a call may ask the person at the client, and so wait for the answer; nil is never.
	asks func(*arguments) bool
	// serve answers one call. Its error is for the model, so it becomes a result and not an error of the protocol.
	serve func(context.Context, *conversation, *arguments) (*mcp.CallToolResult, error)
}

// A toolset makes the tools of this server, and serves their calls.
type toolset struct {
	*shared
	exchanges *exchanges
	detached  detachedRuns
	calling   interface { // of tools without programs
		tool() *tool
		offer()
	}
	fixed []*tool // tools that no configuration removes; tests add some
}

// request begins the request of a call. The role is only for the record.
func (s *toolset) request(c *conversation, a *arguments) (codemode.Request, error) {
	key, err := idempotencyKey(c.request)
	if err == nil && a.SessionWait && a.Session == "" {
		err = errors.New(`the argument "sessionWait" needs a "session" to wait for`)
	}
	return codemode.Request{
		Unrestricted:   true, // the base tool without a default profile, where it is listed
		IdempotencyKey: key, Principal: c.from.principal, Fingerprint: c.from.fingerprint, ClientSession: c.from.session,
		Client: c.from.client, Role: a.Role, Preflight: strings.TrimSpace(a.Preflight), Tool: c.request.Params.Name,
		Input: a.Input, Unchecked: c.from.unchecked, EveryCall: a.ListCalls,
		Session: a.Session, SessionWait: a.SessionWait, Bound: s.options.Profile != "",
		Local: s.options.Local && c.from.local,
	}, err
}

// surviving turns a panic into the end of one call, not of the process.
func (s *toolset) surviving(do handler) handler {
	return func(ctx context.Context, c *conversation) (result *mcp.CallToolResult) {
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("serving a call crashed", "tool", c.request.Params.Name,
					"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				result = failed(errors.New(
					"serving this call crashed, which is a mistake in codemode; the log of the server says where"))
			}
		}()
		return do(ctx, c)
	}
}

// failed is the result of a call that the server could not serve.
func failed(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "error: " + err.Error()}}}
}

// textOf is a result with one text.
func textOf(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// contentOf decodes one content block as an upstream sent it.
func contentOf(block []byte) (mcp.Content, error) {
	var r mcp.CallToolResult
	if err := json.Unmarshal(fmt.Appendf(nil, `{"content":[%s]}`, block), &r); err != nil {
		return nil, err
	}
	if len(r.Content) != 1 {
		return nil, errors.New("not one content block")
	}
	return r.Content[0], nil
}

// readOnly are the hints of a tool that runs no program.
func readOnly() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(false)}
}

func always(*arguments) bool { return true }
