package registry

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/visible"
)

// PromptTool returns the name by which rules know the use of a server's prompts: <server>__get_prompt.
func PromptTool(server string) string { return call.Name(server, inforce.GetPrompt) }

// prompt returns the tool that stands for getting a server's prompts.
func (g *Registry) prompt(server string) *call.Tool {
	return &call.Tool{
		Server: server, Raw: inforce.GetPrompt, Name: PromptTool(server), Title: "Get a prompt of " + server,
		Annotations: map[string]any{"readOnlyHint": true}, Digest: "prompts/get",
		Timeout: g.rules.Server(server).Timeout, Resource: true,
	}
}

// promptIn reads {"name": "...", "arguments": {"...": "..."}}.
func promptIn(args call.Arguments) (name string, given map[string]string, err error) {
	tree, bad := args.Tree()
	named, _ := tree.Member("name")
	values, _ := tree.Member("arguments")
	known := 0
	for _, one := range []strictjson.Value{named, values} {
		if one.Kind() != strictjson.Missing {
			known++
		}
	}
	if bad != nil || tree.Kind() != strictjson.Object || tree.Len() != known || named.Kind() != strictjson.String ||
		named.Text() == "" || known == 2 && json.Unmarshal([]byte(values.Source()), &given) != nil {
		return "", nil, &hostfns.ArgumentError{Expected: `{"name": "...", "arguments": {"...": "..."}}`,
			Got: visible.Short(args.String(), 60)}
	}
	return named.Text(), given, nil
}

// accepted returns an error for a prompt that its server does not offer, or not in the definition that people accepted.
func (g *Registry) accepted(ctx context.Context, server, name string, o upstream.CallOptions) error {
	list, err := g.prompts(ctx, server, o)
	if err == nil && !slices.ContainsFunc(list, func(o upstream.Offer) bool { return o.Name == name }) {
		err = &hostfns.ArgumentError{Path: "/name", Got: visible.Short(name, 60),
			Expected: "a prompt that the server offers, in the definition that a person has accepted (codemode review)"}
	}
	return err
}

// prompts lists the prompts of a server whose definitions are those that people accepted, as of tools the first ones.
func (g *Registry) prompts(ctx context.Context, server string, o upstream.CallOptions) ([]upstream.Offer, error) {
	list, err := g.Manager.Offered(ctx, server, upstream.Prompts, o)
	if err != nil {
		return nil, err
	}
	pins, seen := make([]catalog.Tool, len(list)), ""
	for i, p := range list {
		input, _ := json.Marshal(p.Arguments) // of texts
		pins[i] = catalog.Tool{Server: server, Name: PromptTool(server) + "/" + p.Name,
			Raw: inforce.GetPrompt + "/" + p.Name, Title: p.Title, Description: p.Description, Input: input}
		pins[i].Digest = pins[i].Definition()
		seen += pins[i].Digest
	}
	g.compare(server, seen, pins)
	var accepted []upstream.Offer
	for i, p := range list {
		if !g.rules.Pins.Changed(pins[i].Name, pins[i].Digest, math.MaxUint64) {
			accepted = append(accepted, p)
		}
	}
	return accepted, nil
}

// compare pins the definitions of a server's prompts, unless they are those that were compared last.
func (g *Registry) compare(server, definitions string, pins []catalog.Tool) {
	g.comparing.Lock()
	defer g.comparing.Unlock()
	identity := g.rules.Server(server).Identity
	if definitions = identity + definitions; identity == "" || g.compared[server] == definitions {
		return
	}
	changed, err := g.rules.Pins.ObservePrompts(server, identity, pins)
	for _, name := range changed {
		g.log.Warn("the definition of a prompt has changed since a person accepted it; clients do not get it, and "+
			"codemode review shows the change", "prompt", name)
	}
	if err != nil {
		g.log.Error("comparing prompts with their accepted definitions failed", "server", server, "error", err)
		return
	}
	g.compared[server] = definitions
}
