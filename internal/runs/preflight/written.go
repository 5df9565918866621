package preflight

import (
	"bytes"
	"encoding/json"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/profiles"
)

// Written lists the calls of a text with their arguments, so that the Gate can distinguish arguments that the author
// wrote from arguments that come from an answer. It is nil where the profile does not use this.
func Written(p *analysis.Program, profile *profiles.Profile) []hostfns.WrittenCall {
	if p == nil || profile == nil || !profile.RaisesTaint() {
		return nil
	}
	all := []hostfns.WrittenCall{}
	for _, c := range p.Calls {
		if w, ok := writtenCall(c); ok {
			all = append(all, w)
		}
	}
	return all
}

// writtenCall reports false if the text does not show the names of all arguments of a call.
func writtenCall(c analysis.Call) (hostfns.WrittenCall, bool) {
	if c.Name == hostfns.ReadResource {
		var ok bool
		if c, ok = ResourceCall(c); !ok {
			return hostfns.WrittenCall{}, false
		}
	}
	w := hostfns.WrittenCall{Tool: c.Name, Args: c.Args}
	if o := c.Outline; o != nil {
		if len(o.Open) > 0 {
			return w, false
		}
		w.Args, w.Unknown = o.Shown, o.Unknown
	}
	if c.Outline == nil && bytes.Equal(w.Args, []byte("null")) {
		w.Args = json.RawMessage("{}") // as the Gate takes a call without arguments
	}
	return w, true
}

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
