package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
)

// A tool is a tool of this server: how clients see it, and what serves its calls. Each is in a file of its own,
// tool_<name>.go, and in the list of [toolset.now].
type tool struct {
	mcp.Tool
	schema *schema
	// digest and schema identify the tool's current behaviour, if that depends on the configuration: the server notifies
	// clients of a change.
	digest string
	// asks reports whether a call may ask the person at the client, and so wait for the answer; nil is never.
	asks func(*arguments) bool
	// serve answers one call. Its error is for the model, so it becomes a result and not an error of the protocol.
	serve func(context.Context, *conversation, *arguments) (*mcp.CallToolResult, error)
}

// A toolset makes the tools of this server, and serves their calls.
type toolset struct {
	evaluator *codemode.Evaluator
	exposed   *exposure
	options   Options
	log       *slog.Logger
	fixed     []*tool // tools that no configuration removes; tests add some
}

// now lists the tools that the configuration exposes at this moment.
func (s *toolset) now() []*tool {
	all := slices.Clone(s.fixed)
	for _, profile := range s.exposed.offered(everyProfile) {
		all = append(all, s.evalTool(profile))
	}
	if s.exposed.offersScripts() {
		all = append(all, s.scriptTool())
	}
	helpers := []*tool{s.askTool(), s.checkTool(), s.searchTool(), s.getTool()}
	if s.exposed.hasSessions() {
		helpers = append(helpers, s.sessionTool())
	}
	for _, t := range helpers {
		if s.exposed.exposes(t.Name) {
			all = append(all, t)
		}
	}
	return all
}

// offer updates the tools of the SDK's server. A tool that the configuration removed takes no new calls. Its calls in
// progress finish, and their clients come back to them through it.
func (s *Server) offer() {
	s.list.mu.Lock()
	defer s.list.mu.Unlock()
	if s.list.closed {
		return
	}
	if text := s.evaluator.Checker().SecretWarning(); text != "" {
		s.warned.Do(func() { s.log.Warn(text) })
	}
	want := map[string]string{}
	for _, t := range s.tools.now() {
		digest := t.digest + string(t.schema.text)
		want[t.Name] = digest
		if had, ok := s.list.tools[t.Name]; !ok || had != digest {
			t.InputSchema = t.schema.text
			s.mcp.AddTool(&t.Tool, s.handlerOf(t))
		}
	}
	if gone := s.list.replace(want, s.exchanges.tools()); len(gone) > 0 {
		s.mcp.RemoveTools(gone...)
	}
	s.offerTypes()
}

// A handler serves one call with its parsed arguments.
type handler func(context.Context, *conversation) *mcp.CallToolResult

// handlerOf makes the function that the SDK calls for a tool.
func (s *Server) handlerOf(t *tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		args, wrong := t.schema.read(req.Params.Arguments)
		serve := s.surviving(func(ctx context.Context, c *conversation) *mcp.CallToolResult {
			if wrong != nil {
				return failed(wrong)
			}
			result, err := t.serve(ctx, c, args)
			if err != nil {
				return failed(err)
			}
			return result
		})
		if t.asks != nil && (wrong != nil || t.asks(args)) { // check a returning request against its state first
			return s.interact(ctx, req, serve)
		}
		return serve(ctx, s.newConversation(req, s.senderOf(req), nil)), nil
	}
}

// surviving turns a panic into the end of one call, not of the process.
func (s *Server) surviving(do handler) handler {
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
