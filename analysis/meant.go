package analysis

import (
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
)

// Names says what the names of a text mean. Means returns the canonical name of a tool, a server or a function, "" for
// codemode itself and for a function that takes the name of a tool; global says that the name stands alone. Hint is the
// message about one that means nothing; nil and "" are none.
type Names struct {
	Means func(name string, global bool) (canonical string, ok bool)
	Hint  func(name string) string
}

// Meant returns p with the names that its calls have where it runs. declared are the names of its session. Calls gets
// the calls behind undeclared names that mean something, which Free no longer has.
func (p *Program) Meant(names Names, declared []string) *Program {
	if len(p.Calls)+len(p.Free)+len(p.Perhaps) == 0 {
		return p
	}
	in := *p
	in.Calls, in.Free, in.Perhaps = slices.Clone(p.Calls), nil, nil
	for i := range in.Calls {
		in.Calls[i].mean(names)
	}
	meant := map[string]bool{}
	for _, u := range p.Free {
		if !slices.Contains(declared, u.Name) && !p.Opaque {
			_, meant[u.Name] = names.Means(u.Name, true)
		}
		if !meant[u.Name] {
			if names.Hint != nil {
				u.Hint = names.Hint(u.Name)
			}
			in.Free = append(in.Free, u)
		}
	}
	for _, m := range p.Perhaps {
		switch {
		case !meant[m.Free]:
		case m.Call == nil:
			in.Dynamic = append(slices.Clip(in.Dynamic), m.At)
		default:
			c := *m.Call
			c.mean(names)
			in.Calls = append(in.Calls, c)
		}
	}
	if len(in.Dynamic) > len(p.Dynamic) {
		slices.SortFunc(in.Dynamic, comparePositions)
		in.Dynamic = slices.Compact(in.Dynamic)
	}
	in.Results = slices.DeleteFunc(slices.Clone(p.Results), func(r ResultRead) bool { return r.Free != "" && !meant[r.Free] })
	for i := range in.Results {
		if name, ok := names.Means(in.Results[i].Tool, false); ok && name != "" {
			in.Results[i].Tool = name
		}
	}
	slices.SortStableFunc(in.Calls, func(a, b Call) int { return comparePositions(a.Position, b.Position) })
	return &in
}

// mean gives a call the name that it has where the program runs.
func (c *Call) mean(names Names) {
	if c.Via != "" { // a server may have the name
		if server, ok := names.Means(c.Via, false); ok && server == c.Via {
			c.Name = c.Via + call.Separator + c.Name
		}
	}
	if name, ok := names.Means(c.Name, false); ok && name != "" {
		c.Name = name
	}
	c.Host = !strings.Contains(c.Name, call.Separator)
}
