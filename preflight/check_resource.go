package preflight

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/registry"
)

// ResourceCall turns a reading of a resource that the text shows into the call
// that the Gate will decide about. Only the first argument is known of it. It
// reports false where the text does not show of which server.
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

// foresee adds what is known of a call of a host function: most have nothing to decide.
func (f *Foresight) foresee(plan *Plan, c analysis.Call) {
	switch {
	case c.Host && c.How == analysis.Value:
		f.handedOn(plan, c)
	case !HostFunctions[c.Name]:
		f.plan(plan, c)
	case c.Name == hostfns.ReadResource:
		if read, ok := ResourceCall(c); ok {
			plan.Calls = append(plan.Calls, f.Call(read))
		} else {
			plan.Dynamic = append(plan.Dynamic, analysis.Position{Line: c.Line, Column: c.Column})
		}
	}
}

// handedOn looks at a server's tools, or a function of the host, that the program uses as a value. Neither is a call.
// The place is among the dynamic ones, which is right unless the function decides nothing.
func (f *Foresight) handedOn(plan *Plan, c analysis.Call) {
	if server, _ := f.tools.ServerOf(c.Name + "__"); server.Name != "" || !HostFunctions[c.Name] || c.Name == hostfns.ReadResource {
		return
	}
	plan.Dynamic = slices.DeleteFunc(plan.Dynamic, func(at analysis.Position) bool { return at == c.Position })
}

// plan adds a call of a tool. A tool that the program only holds may never be called, so it is no error that there is none.
func (f *Foresight) plan(plan *Plan, c analysis.Call) {
	planned := f.Call(c)
	if c.How != analysis.Value || planned.Verdict != VerdictUnknownTool {
		plan.Calls = append(plan.Calls, planned)
		return
	}
	warning := fmt.Sprintf("line %d: the program holds %s and may call it; %s", c.Line, visible.Short(c.Name, 80), visible.Short(planned.Problem, sentenceRunes))
	plan.Warnings = append(plan.Warnings, warning)
}
