package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/catalog"
)

// The declarations of tools are resources too: codemode://types/<server>.d.ts, and index.d.ts, which refers to the
// others. The list depends on the configuration alone, as descriptions do: it is the same whichever servers are ready.
// Reading one waits for servers that start, and hides what get_tools hides.

const typesURI = "codemode://types/"

// offerTypes updates the resources of the SDK's server, which tells clients if the list changed. The caller holds s.mu.
func (s *Server) offerTypes() {
	want := strings.Join(s.typeFiles(everyProfile), "\n")
	switch {
	case want == s.types:
		return
	case want == "":
		s.mcp.RemoveResources(typesURI + catalog.Index)
		s.mcp.RemoveResourceTemplates(typesURI + "{file}")
	default:
		s.mcp.AddResource(typesResource(catalog.Index), s.readTypes)
		s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: typesURI + "{file}", Name: "types",
			Title: "Declarations of tools in TypeScript", MIMEType: typesMIME}, s.readTypes)
	}
	s.types = want
}

// typeFiles names the files that a caller sees: the index first, then those of the servers that its profiles can reach.
// Without get_tools there are none.
func (s *Server) typeFiles(by reach) []string {
	if cfg := s.evaluator.Config(); cfg != nil && !cfg.Exposes(getToolName) {
		return nil
	}
	var names []string
	for _, server := range s.evaluator.Discovery().Reachable(s.offered(by)) {
		names = append(names, catalog.FileOf(server))
	}
	slices.Sort(names)
	return append([]string{catalog.Index}, slices.Compact(names)...)
}

const typesMIME = "text/typescript"

func typesResource(file string) *mcp.Resource {
	title := "What programs can use, in TypeScript"
	if file != catalog.Index {
		title = "Tools of " + strings.TrimSuffix(file, ".d.ts") + ", in TypeScript"
	}
	return &mcp.Resource{URI: typesURI + file, Name: file, Title: title, MIMEType: typesMIME}
}

// typesFor is the list of resources for a caller.
func (s *Server) typesFor(by reach) []*mcp.Resource {
	list := []*mcp.Resource{} // not null
	for _, file := range s.typeFiles(by) {
		list = append(list, typesResource(file))
	}
	return list
}

// readTypes answers resources/read. A server without a tool for the caller has a file without a member; any other name
// is not found.
func (s *Server) readTypes(ctx context.Context, req *mcp.ReadResourceRequest) (res *mcp.ReadResourceResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("declaring tools crashed", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			res, err = nil, errors.New(
				"declaring the tools crashed, which is a mistake in codemode; the log of the server says where")
		}
	}()
	name, ok := strings.CutPrefix(req.Params.URI, typesURI)
	from := s.senderOf(req)
	if !ok || !slices.Contains(s.typeFiles(from.reach), name) {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	files, err := s.evaluator.Discovery().Files(ctx, s.query(from, "", 0))
	if err != nil {
		return nil, err
	}
	text := ""
	for _, f := range files {
		if f.Name == name {
			text = f.Text
		}
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: typesMIME,
		Text: cmp.Or(text, "interface Codemode {\n}\n")}}}, nil
}
