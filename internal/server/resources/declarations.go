package resources

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/tools/registry"
)

// The declarations of tools are resources too: codemode://types/<server>.d.ts, and index.d.ts, which refers to the
// others. The list depends on the configuration alone, as descriptions of tools do: it is the same whichever servers are
// ready. Reading one waits for servers that start, and hides what get_tools hides.

// TypesURI begins the URIs of declarations.
const TypesURI = "codemode://types/"

const typesMIME = "text/typescript"

// TypeFiles names the files of declarations for callers who may use these profiles: the index first, then those of the
// servers that the profiles can reach.
func TypeFiles(e *codemode.Evaluator, profiles []string) []string {
	var names []string
	for _, server := range e.Discovery().Reachable(profiles) {
		names = append(names, catalog.FileOf(server))
	}
	slices.Sort(names)
	return append([]string{catalog.Index}, slices.Compact(names)...)
}

// Types describes a file of declarations.
func Types(file string) *mcp.Resource {
	title := "What programs can use, in TypeScript"
	if file != catalog.Index {
		title = "Tools of " + strings.TrimSuffix(file, ".d.ts") + ", in TypeScript"
	}
	return &mcp.Resource{URI: TypesURI + file, Name: file, Title: title, MIMEType: typesMIME}
}

// AnyTypes describes the files of declarations together.
func AnyTypes() *mcp.ResourceTemplate {
	return &mcp.ResourceTemplate{URITemplate: TypesURI + "{file}", Name: "types",
		Title: "Declarations of tools in TypeScript", MIMEType: typesMIME}
}

// ReadTypes reads one of the files for the sender of a query. A server without a tool for the sender has a file without
// a member; a name that is not among files is not found.
func ReadTypes(ctx context.Context, e *codemode.Evaluator, q registry.Query, files []string, uri string) (
	*mcp.ReadResourceResult, error) {
	name, ok := strings.CutPrefix(uri, TypesURI)
	if !ok || !slices.Contains(files, name) {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	declared, err := e.Discovery().Files(ctx, q)
	if err != nil {
		return nil, err
	}
	text := ""
	for _, f := range declared {
		if f.Name == name {
			text = f.Text
		}
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: typesMIME,
		Text: cmp.Or(text, "interface Codemode {\n}\n")}}}, nil
}
