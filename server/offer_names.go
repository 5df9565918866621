package server

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/tools/catalog"
)

// A resource of a server has its URI behind one of these and the name of the server. Two servers may have the same URI,
// and one may have what looks like another's. The URI itself stays as it is, so that a template stays one: what a
// client expands is read with what it expanded. Hosts of MCP Apps take only views whose URI begins with ui://.
const (
	serversURI = "codemode://servers/"
	viewsURI   = "ui://servers/"
)

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
