package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/profiles"
)

// What servers offer beside tools: clients get it where the keys "prompts" and "resources" of a profile name it, and
// the rules decide each use as a call of a tool that stands for it: <server>__read_resource with {"uri": ...}, and
// <server>__get_prompt with {"name": ..., "arguments": {...}}. So it passes the Gate, and nothing here decides.

// An Offer is a prompt, a resource or a template that a client gets.
type Offer struct {
	upstream.Offer
	Server string
	Shown  string // of a prompt: <server>__<prompt>, by which clients know it
}

// offering returns the policy of the one profile of a query, and what it offers of a kind: the servers that may have
// some of it, and that the rules may let through.
func (d *Directory) offering(ctx context.Context, q Query, kind upstream.Kind) (p *inforce.Policy, servers []string,
	err error) {
	subject, err := d.subject(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	if p, err = d.Rules.Bind(q.Profiles[0], subject); err != nil {
		return nil, nil, err
	}
	for _, s := range d.Tools.Manager.Status() {
		name, offers := ResourceTool(s.Name), p.OffersResources(s.Name)
		if kind == upstream.Prompts {
			name, offers = PromptTool(s.Name), p.OffersPrompts(s.Name)
		}
		// If a server has a tool of that name, nobody could tell the two apart.
		if t := d.Tools.resource(name); offers && t != nil && t.Server == s.Name && s.Transport != upstream.InProcess &&
			!d.Tools.Catalog.Has(name) && !p.Hidden(t) {
			servers = append(servers, s.Name)
		}
	}
	return p, servers, nil
}

// Offered lists what servers offer of a kind to the sender of q under its one profile, sorted. prefix, if it is not
// empty, leaves out servers whose prompts have other names. What a server does not list in time is left out.
func (d *Directory) Offered(ctx context.Context, q Query, kind upstream.Kind, prefix string, o upstream.CallOptions) (
	[]Offer, error) {
	policy, servers, err := d.offering(ctx, q, kind)
	if err != nil || len(servers) == 0 {
		return nil, err
	}
	d.Tools.ReadyOnce(ctx)
	ctx, cancel := context.WithTimeout(ctx, CheckWait)
	defer cancel()
	lists := make([][]Offer, len(servers))
	var going sync.WaitGroup
	for i, server := range servers {
		if prefix == "" || strings.HasPrefix(prefix, call.Name(server, "")) {
			going.Go(func() { lists[i] = d.listed(ctx, policy, server, kind, o) })
		}
	}
	going.Wait()
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b Offer) int {
		return cmp.Or(strings.Compare(a.Shown, b.Shown), strings.Compare(a.Server, b.Server), strings.Compare(a.URI, b.URI))
	})
	return all, nil
}

// ComparePrompts reads the prompts that any profile offers, so that a review shows those with a changed definition.
func (d *Directory) ComparePrompts(ctx context.Context) {
	cfg := d.Rules.Config()
	if cfg == nil {
		return
	}
	for _, profile := range append([]string{""}, cfg.All()...) {
		q := Query{Profiles: []string{profile}}
		if _, err := d.Offered(ctx, q, upstream.Prompts, "", upstream.CallOptions{}); err != nil {
			d.Tools.log.Warn("comparing prompts with their accepted definitions failed", "profile", profile, "error", err)
		}
	}
}

// listed lists what one server offers of a kind.
func (d *Directory) listed(ctx context.Context, p *inforce.Policy, server string, kind upstream.Kind,
	o upstream.CallOptions) (all []Offer) {
	list, err := []upstream.Offer(nil), error(nil)
	var names []string
	if kind == upstream.Prompts {
		list, err = d.Tools.prompts(ctx, server, o)
		for _, one := range list {
			names = append(names, one.Name)
		}
		names, _ = call.Names(server, names)
	} else {
		list, err = d.Tools.Manager.Offered(ctx, server, kind, o)
		names = make([]string, len(list))
	}
	if err != nil {
		d.Tools.log.Warn("upstream does not list what it offers", "list", kind, "server", server, "error", err)
	}
	for i, one := range list {
		if kind != upstream.Prompts || p.OffersPrompt(server, one.Name) {
			all = append(all, Offer{one, server, names[i]})
		}
	}
	return all
}

// MayRead reports whether a profile offers the resources of a server to the sender of q.
func (d *Directory) MayRead(ctx context.Context, q Query, server string) bool {
	_, servers, err := d.offering(ctx, q, upstream.Resources)
	return err == nil && slices.Contains(servers, server)
}

// Complete returns what a server offers to complete an argument with, for the sender of q. It sends nothing unless the
// rules allow the use whatever its arguments are: nobody is asked about the letters that a person types.
func (d *Directory) Complete(ctx context.Context, q Query, server string, c upstream.Completing, o upstream.CallOptions,
) (values []string, more bool, err error) {
	policy, _, err := d.offering(ctx, q, upstream.Prompts)
	name, args, gap := ResourceTool(server), map[string]string{"uri": c.Template}, "/uri"
	if c.Prompt != "" {
		name, args, gap = PromptTool(server), map[string]string{"name": c.Prompt}, "/arguments"
	}
	raw, _ := json.Marshal(args) // of texts
	t := d.Tools.resource(name)
	if err != nil || t == nil {
		return nil, false, err
	}
	may := policy.Profile().Foresee(policy.Call(t, call.Unread(raw), hostfns.Counters{}),
		profiles.Gaps{Unknown: []string{gap}}).Verdicts
	if !slices.Equal(may, []call.Verdict{call.Allow}) {
		return nil, false, nil
	}
	return d.Tools.Manager.Complete(ctx, server, c, o)
}

// Offering identifies what a profile offers beside tools at this moment, as far as clients have to be told of a change.
func (d *Directory) Offering(profile string, kind upstream.Kind) string {
	policy, servers, err := d.offering(context.Background(), Query{Profiles: []string{profile}}, kind) // it does not block
	if err != nil || len(servers) == 0 {
		return ""
	}
	text := policy.Digest()
	for _, name := range servers {
		text += fmt.Sprintf("\n%s %t %d", name, d.Tools.IsListed(name), d.Tools.newsOf(name))
	}
	return text
}
