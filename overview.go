package codemode

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/catalog"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/inforce"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/profiles"
	"github.com/codemode-project/codemode/upstream"
)

// What a model is told before its first program: which servers there are, what the rules say about their tools, and what a
// program may take.

// Reachable names the configured upstreams that programs of these profiles could use, as far as the rules show. It waits for
// none, and does not change when one is ready or fails: descriptions made of it are the same until the configuration changes.
func (e *Evaluator) Reachable(names []string) []string {
	var within []*profiles.Profile
	for _, name := range names {
		if p, err := e.rules.Bind(name, config.Subject{}); err == nil && p.Profile() != nil {
			within = append(within, p.Profile())
		}
	}
	var servers []string
	for _, s := range e.tools.Manager.Status() {
		if s.State != upstream.Disabled && slices.ContainsFunc(within, func(p *profiles.Profile) bool { return p.Reaches(s.Name) }) {
			servers = append(servers, s.Name)
		}
	}
	return servers
}

// Limits says in a line what a program may take under a profile of the configuration; "" is the one of the base tool.
func (e *Evaluator) Limits(profile string) string {
	var p *profiles.Profile
	if bound, err := e.rules.Bind(profile, config.Subject{}); err == nil {
		p = bound.Profile()
	}
	l, reply := e.rules.Limits(p)
	return fmt.Sprintf("%s in all without the time of people, %s of them computing; %d calls, %d at once, %s each; answer %s",
		brief(l.Wall), brief(l.CPU), l.Calls, l.InFlight, brief(e.rules.CallTimeout(p)), size(reply))
}

// brief writes a duration without its zeros: 1m, 90s.
func brief(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

func size(bytes int) string {
	if bytes >= 1<<10 && bytes%(1<<10) == 0 {
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// ServerRules are what the rules of a profile say about the tools of one upstream, as they are now.
type ServerRules struct {
	Server  string
	Allowed int
	Asked   []string // tools about which a person is asked, as the server spells them
	Depends []string // tools for which it depends on the arguments
	Denied  int      // whatever the arguments
}

// Rules says what the rules of the query's first profile say about the tools of these upstreams, or of all if there are none.
func (e *Evaluator) Rules(q Query, servers []string) ([]ServerRules, error) {
	if len(q.Profiles) == 0 {
		return nil, nil
	}
	subject, err := e.rules.Subject(e.life.Ctx, &inforce.Wish{Principal: q.Principal, Session: q.Session, Fingerprint: q.Fingerprint})
	if err != nil {
		return nil, err
	}
	policy, err := e.rules.Bind(q.Profiles[0], subject)
	if err != nil {
		return nil, err
	}
	profile := policy.Profile()
	if profile == nil {
		return nil, nil
	}
	of := map[string]*ServerRules{}
	var all []*ServerRules
	for _, t := range e.tools.Catalog.Tools() {
		if len(servers) > 0 && !slices.Contains(servers, t.Server) {
			continue
		}
		if of[t.Server] == nil {
			of[t.Server] = &ServerRules{Server: t.Server}
			all = append(all, of[t.Server])
		}
		of[t.Server].add(t, e.foresee(policy, profile, t))
	}
	slices.SortFunc(all, func(a, b *ServerRules) int { return strings.Compare(a.Server, b.Server) })
	var out []ServerRules
	for _, p := range all {
		if p.Allowed+len(p.Asked)+len(p.Depends) > 0 { // else it does not exist for the profile
			out = append(out, *p)
		}
	}
	return out, nil
}

// foresee gives the verdicts that calls of a tool may get, whatever their arguments.
func (e *Evaluator) foresee(policy *inforce.Policy, profile *profiles.Profile, t *catalog.Tool) []call.Verdict {
	c := policy.Call(e.tools.Describe(t), call.Arguments{}, hostfns.Counters{})
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

// sentenceRunes is how much of a line about a server is shown.
const sentenceRunes = 300

// namedTools is how many tools of one server are named.
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
			parts = append(parts, fmt.Sprintf("%d %s: %s and others", len(names), what, visible.Short(strings.Join(names[:namedTools], ", "), sentenceRunes)))
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
