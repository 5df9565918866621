package codemode

import (
	"encoding/json"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/hostfns"
)

// resourceCall turns a reading of a resource that the text shows into the call
// that the Gate will decide about. Only the first argument is known of it. It
// reports false where the text does not show of which server.
func resourceCall(c analysis.Call) (analysis.Call, bool) {
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
	c.Name = resourceTool(server)
	return c, true
}

// foresee adds what is known of a call of a host function: most have nothing to decide.
func (f *foresight) foresee(plan *Plan, c analysis.Call) {
	switch {
	case !hostFunctions[c.Name]:
		plan.Calls = append(plan.Calls, f.call(c))
	case c.Name == hostfns.ReadResource:
		if read, ok := resourceCall(c); ok {
			plan.Calls = append(plan.Calls, f.call(read))
		} else {
			plan.Dynamic = append(plan.Dynamic, analysis.Position{Line: c.Line, Column: c.Column})
		}
	}
}
