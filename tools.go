package codemode

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/codemode-project/codemode/catalog"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/inforce"
	"github.com/codemode-project/codemode/registry"
	"github.com/codemode-project/codemode/upstream"
)

// A Tool is one tool that programs can call, as the catalogue knows it. Title
// and Description are the upstream's words.
type Tool struct {
	Name        string `json:"name"`
	Server      string `json:"server"`
	Raw         string `json:"tool"` // as the server spells it
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`

	// The definition as the server gave it: JSON Schemas, and its hints.
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`

	known *catalog.Tool
}

// Declarations describes tools that [Evaluator.Tools] returned in TypeScript:
// their types, and their servers' words as comments.
func Declarations(tools []Tool) string {
	known := make([]*catalog.Tool, len(tools))
	for i, t := range tools {
		known[i] = t.known
	}
	return catalog.Declarations(known)
}

// Brief declares as many of the tools as fit into room bytes, with the beginning of what their servers say, the first of the
// list before others. It returns those for which there was no room.
func Brief(tools []Tool, room int) (text string, left []Tool) {
	known := make([]*catalog.Tool, len(tools))
	for i, t := range tools {
		known[i] = t.known
	}
	text, without := catalog.Brief(known, room)
	for _, t := range tools {
		if slices.Contains(without, t.known) {
			left = append(left, t)
		}
	}
	return text, left
}

// A Query selects tools.
type Query struct {
	// Profiles leaves out what none of them would let through, whatever the
	// arguments. "" among them is the base tool. None at all selects nothing.
	Profiles []string
	// Principal, Fingerprint and Session are who asks, as in [Request]: what overlays hide from them is left out too.
	Principal, Fingerprint, Session string
	Text                            string // words to search for; "" lists by name
	Limit                           int    // zero is all
}

// Tools returns the tools that fit, best first.
func (e *Evaluator) Tools(ctx context.Context, q Query) ([]Tool, error) {
	found, err := e.search(ctx, q)
	if err != nil {
		return nil, err
	}
	tools := make([]Tool, 0, len(found))
	for _, t := range found {
		tools = append(tools, Tool{
			Name: t.Name, Server: t.Server, Raw: t.Raw, Title: t.Title, Description: t.Description,
			InputSchema: t.Input, OutputSchema: t.Output, Annotations: t.Annotations, known: t,
		})
	}
	return tools, nil
}

func (e *Evaluator) search(ctx context.Context, q Query) ([]*catalog.Tool, error) {
	if err := e.life.Enter(); err != nil {
		return nil, err
	}
	defer e.life.Running.Done()
	visible, err := e.visible(q)
	if err != nil {
		return nil, err
	}
	e.tools.Ready(ctx, registry.CheckWait)
	var found []*catalog.Tool
	for _, m := range e.tools.Catalog.Search(q.Text, q.Limit, visible) {
		found = append(found, m.Tool)
	}
	return found, nil
}

// visible accepts what at least one of the profiles might let through.
func (e *Evaluator) visible(q Query) (func(*catalog.Tool) bool, error) {
	subject, err := e.rules.Subject(e.life.Ctx, &inforce.Wish{Principal: q.Principal, Fingerprint: q.Fingerprint, Session: q.Session})
	if err != nil {
		return nil, err
	}
	var policies []*inforce.Policy
	for _, name := range q.Profiles {
		p, err := e.rules.Bind(name, subject)
		if err != nil {
			return nil, err
		}
		policies = append(policies, p)
	}
	return func(t *catalog.Tool) bool {
		return slices.ContainsFunc(policies, func(p *inforce.Policy) bool { return !p.Hidden(e.tools.Describe(t)) })
	}, nil
}

// Declarations describes tools in TypeScript: those of the given names, which may be names of servers, or, if
// there are no names, those that Query selects. A name that Query hides is a
// [*hostfns.NotFoundError] like one that does not exist.
func (e *Evaluator) Declarations(ctx context.Context, names []string, q Query) (string, error) {
	found, err := e.search(ctx, q)
	if err != nil {
		return "", err
	}
	if len(names) > 0 {
		var chosen []*catalog.Tool
		for _, name := range names {
			before := len(chosen)
			for _, t := range found {
				if t.Name == name || t.Server == name {
					chosen = append(chosen, t)
				}
			}
			if len(chosen) == before {
				return "", e.hiddenOrMissing(name, found)
			}
		}
		found = chosen
	}
	return catalog.Declarations(found), nil
}

// hiddenOrMissing does not tell the two apart; only visible names are suggested.
func (e *Evaluator) hiddenOrMissing(name string, visible []*catalog.Tool) error {
	_, err := e.tools.Catalog.Find(name)
	if err == nil {
		return &hostfns.NotFoundError{Name: name}
	}
	missing, ok := e.tools.Missing(name, err).(*hostfns.NotFoundError)
	if ok {
		missing.Nearest = slices.DeleteFunc(slices.Clone(missing.Nearest), func(near string) bool {
			return !slices.ContainsFunc(visible, func(t *catalog.Tool) bool { return t.Name == near })
		})
		return missing
	}
	return err
}

// A ServerInfo is one upstream as programs of some profiles see it.
type ServerInfo struct {
	Name    string
	State   upstream.State
	Error   string // why it is not ready
	Tools   int    // that at least one of the profiles might let through
	Example string // the name of one of them
}

// Servers lists the upstreams that programs of these profiles can use, by name,
// without waiting for any. One that has not yet said what it offers is among
// them; one with nothing for these profiles is not.
func (e *Evaluator) Servers(profiles []string) []ServerInfo {
	visible, err := e.visible(Query{Profiles: profiles})
	if err != nil {
		return nil // a profile that is gone shows nothing
	}
	tools := map[string]*ServerInfo{}
	for _, t := range e.tools.Catalog.Tools() {
		if visible(t) {
			if tools[t.Server] == nil {
				tools[t.Server] = &ServerInfo{Example: t.Name}
			}
			tools[t.Server].Tools++
		}
	}
	var servers []ServerInfo
	for _, st := range e.tools.Manager.Status() {
		listed := e.tools.IsListed(st.Name)
		info := ServerInfo{Name: st.Name, State: st.State, Error: st.Error}
		switch has := tools[st.Name]; {
		case st.State == upstream.Disabled, listed && has == nil:
			continue
		case has != nil:
			info.Tools, info.Example = has.Tools, has.Example
		}
		servers = append(servers, info)
	}
	return servers
}

// Withheld says, a sentence each, which names are no tool's because several
// tools would have them.
func (e *Evaluator) Withheld() []string {
	var out []string
	for _, c := range e.tools.Catalog.Withheld() {
		out = append(out, c.Error())
	}
	return out
}

// Status describes the upstreams, without waiting for any.
func (e *Evaluator) Status() []upstream.Status { return e.tools.Manager.Status() }

// WaitReady starts the upstreams and waits, at most so long, until each has
// said what it offers or has failed to.
func (e *Evaluator) WaitReady(ctx context.Context, wait time.Duration) {
	if e.life.Enter() == nil {
		defer e.life.Running.Done()
		e.tools.Ready(ctx, wait)
	}
}
