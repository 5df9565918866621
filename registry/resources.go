package registry

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/upstream"
)

// ResourceTool names what codemode.read_resource calls as far as policies are
// concerned: <server>__read_resource.
func ResourceTool(server string) string { return call.Name(server, hostfns.ReadResource) }

// resource returns the tool of that name that stands for reading a server's
// resources, nil if there is no such server.
func (g *Registry) resource(name string) *hostfns.Tool {
	for _, s := range g.Manager.Status() {
		if s.State == upstream.Disabled || ResourceTool(s.Name) != name {
			continue
		}
		return &hostfns.Tool{
			Server: s.Name, Raw: hostfns.ReadResource, Name: name, Title: "Read a resource of " + s.Name,
			Annotations: map[string]any{"readOnlyHint": true}, Digest: "resources/read",
			Timeout: g.rules.Server(s.Name).Timeout, Validate: validateURI, Resource: true,
		}
	}
	return nil
}

// validateURI checks {"uri": "..."}.
func validateURI(_ context.Context, args json.RawMessage) error {
	var object map[string]json.RawMessage
	if json.Unmarshal(args, &object) != nil {
		return &hostfns.ArgumentError{Expected: `{"uri": "..."}`, Got: visible.Short(string(args), 60)}
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if key != "uri" {
			return &hostfns.ArgumentError{Path: "/" + key, Expected: "no key but uri", Got: visible.Short(string(object[key]), 60)}
		}
	}
	var uri string
	if json.Unmarshal(object["uri"], &uri) != nil || uri == "" {
		return &hostfns.ArgumentError{Path: "/uri", Expected: "the URI of a resource", Got: visible.Short(string(object["uri"]), 60)}
	}
	return nil
}
