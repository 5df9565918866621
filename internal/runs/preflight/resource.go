package preflight

import (
	"encoding/json"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/internal/tools/registry"
)

// ResourceCall converts a call of read_resource in a text to the call that the Gate decides. It reports false where the
// text does not show the server.
func ResourceCall(c analysis.Call) (analysis.Call, bool) {
	var server string
	var both struct{ Server, URI string }
	args, whole := c.Args, c.Outline == nil
	if !whole {
		args = c.Outline.Shown
	}
	c.Outline = &analysis.Outline{Shown: json.RawMessage(`{"uri":null}`), Unknown: []string{"/uri"}}
	switch {
	case json.Unmarshal(args, &server) == nil && server != "":
	case json.Unmarshal(args, &both) == nil && both.Server != "" && !whole:
		server = both.Server
	case json.Unmarshal(args, &both) == nil && both.Server != "" && both.URI != "":
		server = both.Server
		uri, err := json.Marshal(both.URI)
		if err != nil { // cannot happen: a string always encodes
			return c, false
		}
		c.Outline = nil
		c.Args = append(append([]byte(`{"uri":`), uri...), '}')
	default:
		return c, false
	}
	c.Name = registry.ResourceTool(server)
	return c, true
}
