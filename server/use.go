package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/visible"
)

// using serves the use of what servers offer beside tools. Each is a program of one line, as a call of a tool is.
type using struct{ *calling }

func (s *using) offer() {
	s.calling.offer()
	s.offerOthers()
}

// offerOthers makes the SDK's server take the use of prompts and resources, and tells clients when those have changed.
// The caller holds list.mu.
func (s *using) offerOthers() {
	var prompts, others string
	for _, profile := range s.exposed.offered(everyProfile) {
		d := s.evaluator.Discovery()
		prompts += d.Offering(profile, upstream.Prompts) + "\n"
		others += d.Offering(profile, upstream.Resources) + "\n"
	}
	if s.list.prompts != prompts {
		s.list.prompts = prompts
		s.mcp.AddPrompt(&mcp.Prompt{Name: offeredPrompt}, s.getPrompt)
	}
	if s.list.others != others {
		s.list.others = others
		s.mcp.AddResource(&mcp.Resource{Name: "servers", URI: serversURI}, s.readOffered)
	}
}

// readOffered serves resources/read of a resource of a server.
func (s *using) readOffered(ctx context.Context, _ *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	req, ok := ctx.Value(calledKey{}).(*mcp.ReadResourceRequest)
	if !ok {
		return nil, mcp.ResourceNotFoundError(serversURI)
	}
	p := req.Params
	server, uri, ok := ownURI(p.URI)
	q, _, err := s.offering(req)
	if !ok || err != nil || !s.evaluator.Discovery().MayRead(ctx, q, server) {
		return nil, mcp.ResourceNotFoundError(p.URI)
	}
	result, got, err := s.use(ctx, q.Profiles[0], registry.ResourceTool(server), map[string]any{"uri": uri},
		&mcp.CallToolRequest{Session: req.Session, Extra: req.Extra, Params: &mcp.CallToolParamsRaw{Meta: p.Meta,
			Name: "resources/read", InputResponses: p.InputResponses, RequestState: p.RequestState}})
	if err != nil || got == nil {
		return &mcp.ReadResourceResult{InputRequests: result.InputRequests, RequestState: result.RequestState}, err
	}
	var blocks []struct{ Resource *mcp.ResourceContents }
	if err := json.Unmarshal(got.Content, &blocks); err != nil {
		return nil, errors.New("the server answered with something that is no resource")
	}
	contents := []*mcp.ResourceContents{}
	for _, b := range blocks {
		if b.Resource == nil {
			continue
		}
		b.Resource.URI = uriOf(server, cmp.Or(b.Resource.URI, uri))
		ui, shown := b.Resource.Meta["ui"]
		if b.Resource.Meta = nil; shown {
			b.Resource.Meta = mcp.Meta{"ui": ui}
		}
		contents = append(contents, b.Resource)
	}
	return &mcp.ReadResourceResult{Contents: contents}, nil
}

// getPrompt serves prompts/get.
func (s *using) getPrompt(ctx context.Context, _ *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	req, ok := ctx.Value(calledKey{}).(*mcp.GetPromptRequest)
	if !ok {
		return nil, unknownOffer("prompt", offeredPrompt)
	}
	p := req.Params
	prompt, err := s.promptOf(ctx, req, p.Name)
	if err != nil {
		return nil, err
	}
	q, _, err := s.offering(req)
	if err != nil {
		return nil, unknownOffer("prompt", p.Name)
	}
	args := map[string]any{"name": prompt.Name}
	if len(p.Arguments) > 0 {
		args["arguments"] = p.Arguments
	}
	result, got, err := s.use(ctx, q.Profiles[0], registry.PromptTool(prompt.Server), args,
		&mcp.CallToolRequest{Session: req.Session, Extra: req.Extra, Params: &mcp.CallToolParamsRaw{Meta: p.Meta,
			Name: "prompts/get", InputResponses: p.InputResponses, RequestState: p.RequestState}})
	if err != nil || got == nil {
		return &mcp.GetPromptResult{InputRequests: result.InputRequests, RequestState: result.RequestState}, err
	}
	var said struct {
		Description string
		Messages    []*mcp.PromptMessage
	}
	if err := json.Unmarshal(got.Structured, &said); err != nil || slices.Contains(said.Messages, nil) {
		return nil, errors.New("the server answered with something that is no prompt")
	}
	return &mcp.GetPromptResult{Description: visible.Text(said.Description),
		Messages: append([]*mcp.PromptMessage{}, said.Messages...)}, nil
}

// use uses what a server offers, as a call of the tool that stands for it. Without an answer of the server, the result
// asks the client for more. call has what the client sent, under a name that no tool has.
func (s *using) use(ctx context.Context, profile, tool string, args map[string]any, call *mcp.CallToolRequest) (
	result *mcp.CallToolResult, got *upstream.Result, err error) {
	input, err := json.Marshal(args)
	if err == nil {
		call.Params.Arguments, err = json.Marshal([]any{tool, json.RawMessage(input)})
	}
	if err != nil {
		return &mcp.CallToolResult{}, nil, err
	}
	result, err = s.interact(ctx, call, s.surviving(func(ctx context.Context, c *conversation) *mcp.CallToolResult {
		r, err := s.request(c, &arguments{Input: input})
		if err != nil {
			return failed(err)
		}
		r.Profile, r.Tool, r.Code = profile, tool, fmt.Sprintf("await codemode[%q](input)", tool)
		r.IdempotencyKey = "" // a client that comes back asks again, which changes nothing
		r.Thread, c.single = s.threads.of(c, profile), &use{}
		c.asksFor(&r)
		if s.options.Trace != nil {
			ctx = s.options.Trace(ctx, r.Caller.Meta)
		}
		response, err := c.evaluate(ctx, r)
		return s.answer(c, response, err)
	}))
	switch {
	case err != nil:
		return &mcp.CallToolResult{}, nil, err
	case result.IsError:
		text := "it failed"
		if said, ok := result.Content[0].(*mcp.TextContent); ok {
			text = strings.TrimPrefix(said.Text, "error: ")
		}
		return &mcp.CallToolResult{}, nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: text}
	}
	got, _ = result.StructuredContent.(*upstream.Result)
	return result, got, nil
}

// A use makes the result of the use of something other than a tool. Its structured content is what the server answered.
type use struct{ answer }

func (u *use) result(response *codemode.Response, err error) *mcp.CallToolResult {
	u.mu.Lock()
	defer u.mu.Unlock()
	failure, _ := response.OfOneCall()
	switch {
	case err != nil:
		return failed(errors.New(cmp.Or(visible.Text(failure.Text), response.Text(err))))
	case u.got == nil:
		return failed(errors.New("another process has got the answer of the server: ask for it again"))
	case len(u.got.Content)+len(u.got.Structured) > wholeBytes:
		return failed(fmt.Errorf("the answer of the server has more than %d MiB", wholeBytes>>20))
	}
	return &mcp.CallToolResult{StructuredContent: u.got}
}
