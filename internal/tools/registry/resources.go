package registry

import (
	"context"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/visible"
)

// ResourceTool returns the name by which policies know calls of codemode.read_resource: <server>__read_resource.
func ResourceTool(server string) string { return call.Name(server, hostfns.ReadResource) }

// resource returns the tool with that name that stands for reading a server's resources, nil if there is no such
// server.
func (g *Registry) resource(name string) *call.Tool {
	for _, s := range g.Manager.Status() {
		if s.State == upstream.Disabled || ResourceTool(s.Name) != name {
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
