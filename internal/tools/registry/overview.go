package registry

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/profiles"
)

// What a model needs before its first program: the servers, what the rules say about their tools, and the limits of a
// program.

// Reachable names the configured upstreams that the rules of these profiles can reach. It waits for none. The result
// does not change when one becomes ready or fails, so that the descriptions of tools change only with the
// configuration.
func (d *Directory) Reachable(names []string) []string {
	var within []*profiles.Profile
	for _, name := range names {
		if p, err := d.Rules.Bind(name, config.Subject{}); err == nil && p.Profile() != nil {
			within = append(within, p.Profile())
		}
	}
	var servers []string
	for _, s := range d.Tools.Manager.Status() {
		reaches := func(p *profiles.Profile) bool { return p.Reaches(s.Name) }
		if s.State != upstream.Disabled && slices.ContainsFunc(within, reaches) {
			servers = append(servers, s.Name)
		}
	}
	return servers
}

// Limits returns the limits of a program under a profile in one line; "" is the profile of the base tool.
func (d *Directory) Limits(profile string) string {
	var p *profiles.Profile
	if bound, err := d.Rules.Bind(profile, config.Subject{}); err == nil {
		p = bound.Profile()
	}
	l, reply := d.Rules.Limits(p, "")
	wall, cpu, each := visible.Duration(l.Wall), visible.Duration(l.CPU), visible.Duration(d.Rules.CallTimeout(p))
	return fmt.Sprintf(
		"%s in all without the time of people, %s of them computing; %d calls, %d at once, %s each; answer %s",
		wall, cpu, l.Calls, l.InFlight, each, size(reply))
}

func size(bytes int) string {
	if bytes >= 1<<10 && bytes%(1<<10) == 0 {
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// ServerRules are the current verdicts of a profile about the tools of one upstream.
type ServerRules struct {
	Server  string
	Allowed int
	Asked   []string // tools that always ask a person, as the server spells them
	Depends []string // tools with a verdict that depends on the arguments
	Denied  int      // tools that are denied for all arguments
}

// Overview returns the verdicts of the query's first profile about the tools of these upstreams, or of all if servers
// is empty.
func (d *Directory) Overview(q Query, servers []string) ([]ServerRules, error) {
	if len(q.Profiles) == 0 {
		return nil, nil
	}
	subject, err := d.subject(context.Background(), q) // the rules bound the lookup of a session
	if err != nil {
		return nil, err
	}
	policy, err := d.Rules.Bind(q.Profiles[0], subject)
	if err != nil {
		return nil, err
	}
	profile := policy.Profile()
	if profile == nil {
		return nil, nil
	}
	of := map[string]*ServerRules{}
	var all []*ServerRules
	for _, t := range d.Tools.Catalog.Tools() {
		if len(servers) > 0 && !slices.Contains(servers, t.Server) {
			continue
		}
		if of[t.Server] == nil {
			of[t.Server] = &ServerRules{Server: t.Server}
			all = append(all, of[t.Server])
		}
		of[t.Server].add(t, d.foresee(policy, profile, t))
	}
	slices.SortFunc(all, func(a, b *ServerRules) int { return strings.Compare(a.Server, b.Server) })
	var out []ServerRules
	for _, p := range all {
		if p.Allowed+len(p.Asked)+len(p.Depends) > 0 { // otherwise it does not exist for the profile
			out = append(out, *p)
		}
	}
	return out, nil
}

// foresee returns the possible verdicts on calls of a tool, depending on their arguments.
func (d *Directory) foresee(policy *inforce.Policy, profile *profiles.Profile, t *catalog.Tool) []call.Verdict {
	c := policy.Call(d.Tools.Describe(t), call.Arguments{}, hostfns.Counters{})
	if !profile.Visible(c) {
		return []call.Verdict{call.Deny}
	}
	forecast := profile.Foresee(c, profiles.Gaps{Unknown: []string{""}})
	if len(forecast.Verdicts) < 2 {
		return []call.Verdict{forecast.Decision.Verdict}
	}
	return forecast.Verdicts
}

func (p *ServerRules) add(t *catalog.Tool, verdicts []call.Verdict) {
	switch {
	case len(verdicts) > 1:
		p.Depends = append(p.Depends, t.Raw)
	case verdicts[0] == call.Allow:
		p.Allowed++
	case verdicts[0] == call.Ask:
		p.Asked = append(p.Asked, t.Raw)
	default:
		p.Denied++
	}
}

// sentenceRunes bounds the names in a line about a server.
const sentenceRunes = 300

// namedTools is how many tools of one server a line names.
const namedTools = 8

// String is one line.
func (p ServerRules) String() string {
	all := p.Allowed + len(p.Asked) + len(p.Depends) + p.Denied
	var parts []string
	number := func(n int, what string) {
		switch {
		case n == all && n > 1:
			parts = append(parts, fmt.Sprintf("all %d %s", n, what))
		case n > 0:
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	named := func(names []string, what string) {
		switch {
		case len(names) == all && all > 1:
			number(all, what)
		case len(names) > namedTools:
			some := visible.Short(strings.Join(names[:namedTools], ", "), sentenceRunes)
			parts = append(parts, fmt.Sprintf("%d %s: %s and others", len(names), what, some))
		case len(names) > 0:
			parts = append(parts, what+": "+visible.Short(strings.Join(names, ", "), sentenceRunes))
		}
	}
	number(p.Allowed, "allowed")
	named(p.Asked, "asked about")
	named(p.Depends, "by their arguments")
	number(p.Denied, "denied")
	return visible.Short(p.Server, 80) + ": " + strings.Join(parts, "; ")
}
