package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/visible"
)

// Clients get prompts and resources of servers, on every surface, where the keys "prompts" and "resources" of the
// profile say so. It is the profile of calls without programs.

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
func (s *shared) offered(ctx context.Context, req mcp.Request, kind upstream.Kind, prefix string) ([]registry.Offer,
	error) {
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
				Size: o.Size, Meta: viewMeta(o.Meta.UI)})
		}
		return err
	case *mcp.ListResourceTemplatesResult:
		list, err := s.offered(ctx, req, upstream.Templates, "")
		r.ResourceTemplates = slices.Clone(r.ResourceTemplates)
		for _, o := range list {
			r.ResourceTemplates = append(r.ResourceTemplates, &mcp.ResourceTemplate{URITemplate: uriOf(o.Server, o.URI),
				Name: visible.Line(o.Name), Title: visible.Line(o.Title), Description: visible.Text(o.Description),
				MIMEType: visible.Line(o.MIMEType), Meta: viewMeta(o.Meta.UI)})
		}
		return err
	}
	return nil
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
