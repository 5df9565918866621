package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/visible"
)

// Find finds a tool for the Gate. It waits while the server in the name is starting: programs may run before the
// upstreams are ready.
func (g *Registry) Find(ctx context.Context, name string) (*call.Tool, error) {
	t, err := g.Catalog.Find(name)
	for deadline := time.Now().Add(startWait); err != nil; {
		// The state is read before the catalogue, so that a list that comes in between is found.
		wait := g.starting(name) && ctx.Err() == nil && time.Now().Before(deadline)
		if g.Catalog.Has(name) || !wait {
			t, err = g.Catalog.Find(name)
			break
		}
		hostfns.Next(ctx)
		select {
		case <-time.After(startPoll):
		case <-ctx.Done():
		}
	}
	if err == nil {
		return g.Describe(t), nil
	}
	if _, ok := errors.AsType[*catalog.NotFoundError](err); ok {
		if t := g.resource(name); t != nil {
			return t, nil
		}
	}
	return nil, g.Missing(name, err)
}

// starting reports whether the server of a canonical name has not listed its tools yet.
func (g *Registry) starting(name string) bool {
	s, ok := g.ServerOf(name)
	return ok && (s.State == upstream.Starting || s.State == upstream.Stopped || s.State == upstream.Ready)
}

// ServerOf finds the server in a canonical name, if its tools are unknown.
func (g *Registry) ServerOf(name string) (upstream.Status, bool) {
	for _, s := range g.Manager.Status() {
		if strings.HasPrefix(name, call.Name(s.Name, "")) || strings.HasPrefix(name, s.Name+call.Separator) {
			return s, !g.IsListed(s.Name)
		}
	}
	return upstream.Status{}, false
}

// Missing says for programs why a name has no tool.
func (g *Registry) Missing(name string, err error) error {
	if w, ok := errors.AsType[*catalog.WithheldError](err); ok {
		n := &hostfns.NotFoundError{Name: name, Reason: w.Code, Detail: w.Error()}
		if w.Tool != nil {
			n.Withheld = g.Describe(w.Tool)
		}
		return n
	}
	n := &hostfns.NotFoundError{Name: name}
	if missing, ok := errors.AsType[*catalog.NotFoundError](err); ok {
		n.Nearest = missing.Nearest
	}
	s, ok := g.ServerOf(name)
	if !ok {
		return n
	}
	switch s.State {
	case upstream.Starting, upstream.Ready: // it is about to list them
		return &hostfns.StartingError{Name: name, Server: s.Name}
	case upstream.Failed:
		n.Reason = hostfns.ReasonFailed
		n.Detail = fmt.Sprintf("there is no tool %q, because the server %q could not be started: %s", name, s.Name, s.Error)
	case upstream.Disabled:
		n.Reason = hostfns.ReasonDisabled
		n.Detail = fmt.Sprintf("there is no tool %q, because the server %q is disabled in the configuration", name, s.Name)
	default:
		n.Detail = fmt.Sprintf("there is no tool %q: the server %q %s", name, s.Name, s.State.Verb())
	}
	return n
}

// Describe converts a tool of the catalogue for the Gate.
func (g *Registry) Describe(t *catalog.Tool) *call.Tool {
	server := g.rules.Server(t.Server)
	tool := &call.Tool{
		Server: t.Server, Raw: t.Raw, Name: t.Name, Title: t.Title, Description: t.Description,
		Input: t.InputSchema, Annotations: t.Hints, Digest: t.Digest, Trusted: server.Trusted,
		Timeout: server.Timeout,
		Validate: func(ctx context.Context, args call.Arguments) error {
			return ArgumentError(t.Validate(ctx, args))
		},
		WithoutNulls: t.WithoutNulls,
	}
	g.checkOutput(t, tool)
	return tool
}

// Search, Tools and Declarations make the registry the Gate's Library.
func (g *Registry) Search(ctx context.Context, query string, limit int, visible func(*call.Tool) bool) []*call.Tool {
	g.ReadyOnce(ctx)
	var found []*call.Tool
	for _, m := range g.Catalog.Search(query, limit, func(t *catalog.Tool) bool { return visible(g.Describe(t)) }) {
		found = append(found, g.Describe(m.Tool))
	}
	return found
}

func (g *Registry) Tools(ctx context.Context) []*call.Tool {
	g.ReadyOnce(ctx)
	var tools []*call.Tool
	for _, t := range g.Catalog.Tools() {
		tools = append(tools, g.Describe(t))
	}
	return tools
}

func (g *Registry) Declarations(names []string) string {
	var tools []*catalog.Tool
	for _, name := range names {
		if t, err := g.Catalog.Find(name); err == nil {
			tools = append(tools, t)
		}
	}
	return catalog.Declarations(tools)
}

// The ways to handle results that do not match the output schema of their tool ("outputValidation" in the
// configuration).
const (
	outputOff    = "off"    // they are not checked
	outputWarn   = "warn"   // the program gets them, and the reply says so
	outputStrict = "strict" // the program gets an InvalidResultError
)

// outputValidation returns the configured way for the tools of a server.
func outputValidation(cfg *config.Config, server string) string {
	if cfg == nil {
		return outputWarn
	}
	for _, s := range cfg.Servers {
		if s.Name == server && s.OutputValidation != "" {
			return s.OutputValidation
		}
	}
	return cmp.Or(cfg.OutputValidation, outputWarn)
}

// checkOutput tells the Gate how results of a tool are checked.
func (g *Registry) checkOutput(t *catalog.Tool, to *call.Tool) {
	if t.Source == nil && len(t.Output) == 0 {
		return
	}
	want := outputValidation(g.rules.Config(), t.Server)
	if want == outputOff || t.Source != nil && want != outputStrict { // APIs answer more loosely than they are described
		return
	}
	to.StrictOutput = want == outputStrict
	to.ValidateOutput = func(ctx context.Context, structured json.RawMessage) error {
		err := t.ValidateResult(ctx, structured)
		if wrong, ok := errors.AsType[*catalog.ResultError](err); ok {
			return &hostfns.ArgumentError{Path: wrong.Path, Expected: wrong.Want, Got: wrong.Got}
		}
		return err
	}
}

// ResourceTool returns the name by which policies know calls of codemode.read_resource: <server>__read_resource.
func ResourceTool(server string) string { return call.Name(server, hostfns.ReadResource) }

// resource returns the tool with that name that stands for reading a server's resources, or for getting its prompts.
// Without such a server it is nil.
func (g *Registry) resource(name string) *call.Tool {
	for _, s := range g.Manager.Status() {
		switch {
		case s.State == upstream.Disabled:
			continue
		case PromptTool(s.Name) == name && s.Transport != upstream.InProcess:
			return g.prompt(s.Name)
		case ResourceTool(s.Name) != name:
			continue
		}
		return &call.Tool{
			Server: s.Name, Raw: hostfns.ReadResource, Name: name, Title: "Read a resource of " + s.Name,
			Annotations: map[string]any{"readOnlyHint": true}, Digest: "resources/read",
			Timeout: g.rules.Server(s.Name).Timeout, Validate: validateURI, Resource: true,
		}
	}
	return nil
}

// validateURI checks {"uri": "..."}.
func validateURI(_ context.Context, args call.Arguments) error {
	tree, bad := args.Tree()
	if bad != nil || tree.Kind() != strictjson.Object {
		return &hostfns.ArgumentError{Expected: `{"uri": "..."}`, Got: visible.Short(args.String(), 60)}
	}
	for name, value := range tree.Members() {
		if name != "uri" {
			return &hostfns.ArgumentError{Path: "/" + name, Expected: "no key but uri",
				Got: visible.Short(value.Source(), 60)}
		}
	}
	if uri, _ := tree.Member("uri"); uri.Kind() != strictjson.String || uri.Text() == "" {
		return &hostfns.ArgumentError{Path: "/uri", Expected: "the URI of a resource",
			Got: visible.Short(uri.Source(), 60)}
	}
	return nil
}
