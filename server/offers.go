package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/visible"
)

// Clients get prompts and resources of servers, on every surface, where the keys "prompts" and "resources" of the profile
// say so. It is the profile of calls without programs. Each use is a program of one line, as a call of a tool is.

// A resource of a server has its URI behind one of these and the name of the server. Two servers may have the same URI,
// and one may have what looks like another's. The URI itself stays as it is, so that a template stays a template: what a
// client expands is read with what it expanded. Hosts of MCP Apps take only views whose URI begins with ui://.
const (
	serversURI = "codemode://servers/"
	viewsURI   = "ui://servers/"
)

// offeredPrompt is the SDK's name for all prompts, and serversURI that for all resources of servers.
const offeredPrompt = "codemode.offered"

func uriOf(server, uri string) string {
	prefix := serversURI
	if strings.HasPrefix(uri, catalog.ViewScheme) {
		prefix = viewsURI
	}
	return prefix + url.PathEscape(server) + "/" + uri
}

// ownURI is the server, and its own URI, that a client means; ok is false for what uriOf never gives.
func ownURI(uri string) (server, own string, ok bool) {
	rest, ok := strings.CutPrefix(uri, serversURI)
	if !ok {
		rest, _ = strings.CutPrefix(uri, viewsURI)
	}
	escaped, own, _ := strings.Cut(rest, "/")
	server, err := url.PathUnescape(escaped)
	return server, own, err == nil && server != "" && own != "" && uriOf(server, own) == uri
}

// offering is how the sender of a request gets what servers offer. The error says why it gets nothing.
func (s *shared) offering(req mcp.Request) (q registry.Query, o upstream.CallOptions, err error) {
	from := s.senderOf(req)
	profile, err := s.exposed.ofCalls(from.reach)
	q = s.exposed.query(from, "", 0)
	q.Profiles = []string{profile}
	if !from.unchecked {
		o.Principal = from.principal
	}
	if h := httpRequestOf(req); h != nil {
		o.Token = h.token
	}
	return q, o, err
}

// offered lists what servers offer of a kind to the sender of a request.
func (s *shared) offered(ctx context.Context, req mcp.Request, kind upstream.Kind, prefix string) ([]registry.Offer, error) {
	q, o, err := s.offering(req)
	if err != nil {
		return nil, nil // its address names no profile
	}
	return s.evaluator.Discovery().Offered(ctx, q, kind, prefix, o)
}

// addOffers adds what servers offer to a list, in place of the names that the SDK's server has for it.
func (s *shared) addOffers(ctx context.Context, req mcp.Request, res mcp.Result) error {
	switch r := res.(type) {
	case *mcp.ListPromptsResult:
		list, err := s.offered(ctx, req, upstream.Prompts, "")
		r.CacheScope, r.Prompts = private, []*mcp.Prompt{} // not null
		for _, o := range list {
			p := &mcp.Prompt{Name: o.Shown, Title: visible.Line(o.Title), Description: visible.Text(o.Description)}
			for _, a := range o.Arguments {
				p.Arguments = append(p.Arguments, &mcp.PromptArgument{Name: a.Name, Title: visible.Line(a.Title),
					Description: visible.Text(a.Description), Required: a.Required})
			}
			r.Prompts = append(r.Prompts, p)
		}
		return err
	case *mcp.ListResourcesResult:
		list, err := s.offered(ctx, req, upstream.Resources, "")
		for _, o := range list {
			r.Resources = append(r.Resources, &mcp.Resource{URI: uriOf(o.Server, o.URI), Name: visible.Line(o.Name),
				Title: visible.Line(o.Title), Description: visible.Text(o.Description), MIMEType: visible.Line(o.MIMEType),
				Size: o.Size, Meta: viewMeta(o.UI)})
		}
		return err
	case *mcp.ListResourceTemplatesResult:
		list, err := s.offered(ctx, req, upstream.Templates, "")
		r.ResourceTemplates = slices.Clone(r.ResourceTemplates)
		for _, o := range list {
			r.ResourceTemplates = append(r.ResourceTemplates, &mcp.ResourceTemplate{URITemplate: uriOf(o.Server, o.URI),
				Name: visible.Line(o.Name), Title: visible.Line(o.Title), Description: visible.Text(o.Description),
				MIMEType: visible.Line(o.MIMEType), Meta: viewMeta(o.UI)})
		}
		return err
	}
	return nil
}

// viewMeta is what a host of MCP Apps reads of a resource.
func viewMeta(ui json.RawMessage) mcp.Meta {
	if ui == nil {
		return nil
	}
	return mcp.Meta{"ui": ui}
}

// toolMeta is what a host of MCP Apps reads of a tool: the view of its results, if the client may read it, and who may
// call the tool.
func toolMeta(t *catalog.Tool, reads bool) mcp.Meta {
	meta, ui := mcp.Meta{}, map[string]any{}
	if len(t.Visibility) > 0 {
		ui["visibility"] = t.Visibility
	}
	if t.View != "" && reads {
		ui["resourceUri"] = uriOf(t.Server, t.View)
		meta["ui/resourceUri"] = ui["resourceUri"] // for older hosts
	}
	if len(ui) == 0 {
		return nil
	}
	meta["ui"] = ui
	return meta
}

// offerOthers makes the SDK's server take the use of prompts and resources, and tells clients when those have changed.
// The caller holds list.mu.
func (s *calling) offerOthers() {
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

// used makes the use of what a server offers a request that the SDK's server knows.
func used(ctx context.Context, req mcp.Request) (context.Context, mcp.Request) {
	switch r := req.(type) {
	case *mcp.GetPromptRequest:
		own, params := *r, *r.Params
		own.Params, params.Name = &params, offeredPrompt
		return context.WithValue(ctx, calledKey{}, req), &own
	case *mcp.ReadResourceRequest:
		if strings.HasPrefix(r.Params.URI, serversURI) || strings.HasPrefix(r.Params.URI, viewsURI) {
			own, params := *r, *r.Params
			own.Params, params.URI = &params, serversURI
			return context.WithValue(ctx, calledKey{}, req), &own
		}
	}
	return ctx, req
}

// isUse reports whether a request that is served as a call of a tool is another one.
func isUse(ctx context.Context) bool {
	switch ctx.Value(calledKey{}).(type) {
	case *mcp.GetPromptRequest, *mcp.ReadResourceRequest:
		return true
	}
	return false
}

// readOffered serves resources/read of a resource of a server.
func (s *calling) readOffered(ctx context.Context, _ *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
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

// promptOf finds a prompt by the name that clients know.
func (s *shared) promptOf(ctx context.Context, req mcp.Request, name string) (registry.Offer, error) {
	list, err := s.offered(ctx, req, upstream.Prompts, name)
	if at := slices.IndexFunc(list, func(o registry.Offer) bool { return o.Shown == name }); at >= 0 {
		return list[at], nil
	}
	return registry.Offer{}, cmp.Or(err, error(unknownOffer("prompt", name)))
}

func unknownOffer(what, name string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown %s %.200q", what, name)}
}

// getPrompt serves prompts/get.
func (s *calling) getPrompt(ctx context.Context, _ *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
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
func (s *calling) use(ctx context.Context, profile, tool string, args map[string]any, call *mcp.CallToolRequest) (
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

// complete serves completion/complete, for an argument of a prompt or of a template.
func (s *shared) complete(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	p := req.Params
	c := upstream.Completing{Argument: p.Argument.Name, Value: p.Argument.Value}
	if p.Context != nil {
		c.Given = p.Context.Arguments
	}
	q, o, err := s.offering(req)
	server, template, ok := ownURI(p.Ref.URI)
	switch {
	case p.Ref.Type == "ref/prompt":
		prompt, err := s.promptOf(ctx, req, p.Ref.Name)
		if err != nil {
			return nil, err
		}
		server, c.Prompt = prompt.Server, prompt.Name
	case !ok || err != nil || !s.evaluator.Discovery().MayRead(ctx, q, server):
		return nil, unknownOffer("resource template", p.Ref.URI)
	default:
		c.Template = template
	}
	values, more, err := s.evaluator.Discovery().Complete(ctx, q, server, c, o)
	if err != nil {
		s.log.Debug("a server completed nothing", "server", server, "error", err) // clients ask with each letter
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: append([]string{}, values...),
		HasMore: more}}, nil
}
