package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/visible"
)

// What servers offer beside tools: clients get it where the keys "prompts" and "resources" of a profile name it, and the
// rules decide each use as a call of a tool that stands for it: <server>__read_resource with {"uri": ...}, and
// <server>__get_prompt with {"name": ..., "arguments": {...}}. So it passes the Gate, and nothing here decides.

// PromptTool returns the name by which rules know the use of a server's prompts: <server>__get_prompt.
func PromptTool(server string) string { return call.Name(server, inforce.GetPrompt) }

// An Offer is a prompt, a resource or a template that a client gets.
type Offer struct {
	upstream.Offer
	Server string
	Shown  string // of a prompt: <server>__<prompt>, by which clients know it
}

// prompt returns the tool that stands for getting a server's prompts.
func (g *Registry) prompt(server, name string) *call.Tool {
	return &call.Tool{
		Server: server, Raw: inforce.GetPrompt, Name: name, Title: "Get a prompt of " + server,
		Annotations: map[string]any{"readOnlyHint": true}, Digest: "prompts/get",
		Timeout: g.rules.Server(server).Timeout, Resource: true,
		Validate: func(_ context.Context, args call.Arguments) error { _, _, err := promptIn(args); return err },
	}
}

// promptIn reads {"name": "...", "arguments": {"...": "..."}}.
func promptIn(args call.Arguments) (name string, given map[string]string, err error) {
	const want = `{"name": "...", "arguments": {"...": "..."}}`
	wrong := func(path, expected string, got strictjson.Value) (string, map[string]string, error) {
		return "", nil, &hostfns.ArgumentError{Path: path, Expected: expected, Got: visible.Short(got.Source(), 60)}
	}
	tree, bad := args.Tree()
	if bad != nil || tree.Kind() != strictjson.Object {
		return "", nil, &hostfns.ArgumentError{Expected: want, Got: visible.Short(args.String(), 60)}
	}
	for key, value := range tree.Members() {
		switch {
		case key == "name" && value.Kind() == strictjson.String && value.Text() != "":
			name = value.Text()
		case key == "arguments" && value.Kind() == strictjson.Object:
			given = map[string]string{}
			for argument, text := range value.Members() {
				if text.Kind() != strictjson.String {
					return wrong("/arguments/"+argument, "a text", text)
				}
				given[argument] = text.Text()
			}
		default:
			return wrong("/"+key, want, value)
		}
	}
	if name == "" {
		return wrong("/name", "the name of a prompt", tree)
	}
	return name, given, nil
}

// accepted returns an error for a prompt that its server does not offer, or not in the definition that people accepted.
func (s sender) accepted(ctx context.Context, server, name string) error {
	list, err := s.prompts(ctx, server, upstream.CallOptions{Principal: s.principal, Token: s.token()})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(o upstream.Offer) bool { return o.Name == name }) {
		return &hostfns.ArgumentError{Path: "/name", Got: visible.Short(name, 60),
			Expected: "a prompt that the server offers, in the definition that a person has accepted (codemode review)"}
	}
	return nil
}

// prompts lists the prompts of a server whose definitions are those that people accepted, as of tools the first ones.
func (g *Registry) prompts(ctx context.Context, server string, o upstream.CallOptions) ([]upstream.Offer, error) {
	list, err := g.Manager.Offered(ctx, server, upstream.Prompts, o)
	if err != nil {
		return nil, err
	}
	pins := make([]catalog.Tool, len(list))
	seen := ""
	for i, p := range list {
		input, _ := json.Marshal(p.Arguments) // of texts
		pins[i] = catalog.Tool{Server: server, Name: PromptTool(server) + "/" + p.Name, Raw: inforce.GetPrompt + "/" + p.Name,
			Title: p.Title, Description: p.Description, Input: input}
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

// offersChanged notes that the prompts or resources of a server have changed.
func (g *Registry) offersChanged(server string) {
	g.mu.Lock()
	g.news[server]++
	g.mu.Unlock()
	g.changed()
}

// offers reports whether a profile offers anything of a kind that a server has, and the rules may let it through.
func (d *Directory) offers(p *inforce.Policy, s upstream.Status, kind upstream.Kind) bool {
	tool, offered := ResourceTool(s.Name), p.OffersResources(s.Name)
	if kind == upstream.Prompts {
		tool, offered = PromptTool(s.Name), p.OffersPrompts(s.Name)
	}
	if !offered || s.State == upstream.Disabled || s.Transport == upstream.InProcess || d.Tools.Catalog.Has(tool) {
		return false // of a server with a tool of that name, nobody could tell the two apart
	}
	t := d.Tools.resource(tool)
	return t != nil && t.Server == s.Name && !p.Hidden(t)
}

// Offered lists what servers offer of a kind to the sender of q under its one profile, sorted. prefix, if it is not
// empty, leaves out servers whose prompts have other names. What a server does not list in time is left out.
func (d *Directory) Offered(ctx context.Context, q Query, kind upstream.Kind, prefix string, o upstream.CallOptions) (
	[]Offer, error) {
	policy, err := d.bind(ctx, q)
	if err != nil || !policy.OffersAny(kind == upstream.Prompts) {
		return nil, err
	}
	d.Tools.ReadyOnce(ctx)
	ctx, cancel := context.WithTimeout(ctx, CheckWait)
	defer cancel()
	var going sync.WaitGroup
	var mu sync.Mutex
	all := []Offer{}
	for _, s := range d.Tools.Manager.Status() {
		if !d.offers(policy, s, kind) || prefix != "" && !strings.HasPrefix(prefix, call.Name(s.Name, "")) {
			continue
		}
		going.Go(func() {
			list, err := d.listed(ctx, policy, s.Name, kind, o)
			if err != nil {
				d.Tools.log.Warn("upstream does not list what it offers", "list", kind, "server", s.Name, "error", err)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, list...)
		})
	}
	going.Wait()
	slices.SortFunc(all, func(a, b Offer) int {
		return cmp.Or(strings.Compare(a.Shown, b.Shown), strings.Compare(a.Server, b.Server), strings.Compare(a.URI, b.URI))
	})
	return all, nil
}

// listed lists what one server offers of a kind.
func (d *Directory) listed(ctx context.Context, p *inforce.Policy, server string, kind upstream.Kind,
	o upstream.CallOptions) (all []Offer, err error) {
	if kind != upstream.Prompts {
		list, err := d.Tools.Manager.Offered(ctx, server, kind, o)
		for _, one := range list {
			all = append(all, Offer{one, server, ""})
		}
		return all, err
	}
	list, err := d.Tools.prompts(ctx, server, o)
	raws := make([]string, len(list))
	for i, one := range list {
		raws[i] = one.Name
	}
	names, _ := call.Names(server, raws)
	for i, one := range list {
		if p.OffersPrompt(server, one.Name) {
			all = append(all, Offer{one, server, names[i]})
		}
	}
	return all, err
}

// MayRead reports whether a profile offers the resources of a server to the sender of q.
func (d *Directory) MayRead(ctx context.Context, q Query, server string) bool {
	policy, err := d.bind(ctx, q)
	return err == nil && slices.ContainsFunc(d.Tools.Manager.Status(), func(s upstream.Status) bool {
		return s.Name == server && d.offers(policy, s, upstream.Resources)
	})
}

// Complete returns what a server offers to complete an argument with, for the sender of q. It sends nothing unless the
// rules allow the use as it is written so far: what a person has to be asked about is not sent while they type.
func (d *Directory) Complete(ctx context.Context, q Query, server string, c upstream.Completing, o upstream.CallOptions) (
	values []string, more bool, err error) {
	policy, err := d.bind(ctx, q)
	if err != nil {
		return nil, false, err
	}
	name, args := ResourceTool(server), map[string]any{"uri": c.Template}
	if c.Prompt != "" {
		given := map[string]string{c.Argument: c.Value}
		for key, value := range c.Given {
			given[key] = cmp.Or(given[key], value)
		}
		name, args = PromptTool(server), map[string]any{"name": c.Prompt, "arguments": given}
	}
	raw, err := json.Marshal(args)
	t := d.Tools.resource(name)
	if err != nil || t == nil {
		return nil, false, fmt.Errorf("there is no server %q", server)
	}
	if policy.Decide(t, call.Unread(raw), hostfns.Counters{}).Verdict != call.Allow {
		return nil, false, nil
	}
	return d.Tools.Manager.Complete(ctx, server, c, o)
}

// Offering identifies what a profile offers beside tools at this moment, as far as clients have to be told of a change.
func (d *Directory) Offering(profile string, kind upstream.Kind) string {
	policy, err := d.bind(context.Background(), Query{Profiles: []string{profile}}) // without a session it does not block
	if err != nil || !policy.OffersAny(kind == upstream.Prompts) {
		return ""
	}
	text := policy.Digest()
	for _, s := range d.Tools.Manager.Status() {
		if d.offers(policy, s, kind) {
			listed := d.Tools.IsListed(s.Name)
			d.Tools.mu.Lock()
			text += fmt.Sprintf("\n%s %t %d", s.Name, listed, d.Tools.news[s.Name])
			d.Tools.mu.Unlock()
		}
	}
	return text
}

// bind returns the policy of the one profile of a query.
func (d *Directory) bind(ctx context.Context, q Query) (*inforce.Policy, error) {
	subject, err := d.subject(ctx, q)
	if err != nil {
		return nil, err
	}
	return d.Rules.Bind(q.Profiles[0], subject)
}
