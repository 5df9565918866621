package preflight

import (
	"bytes"
	"encoding/json"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/profiles"
)

// Written lists the calls that the text of a program shows as far as they tell where arguments come from. It is nil where the profile
// does not look at that: then answers need not be remembered.
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

// writtenCall reports false for a call whose text leaves open what its arguments are called.
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
