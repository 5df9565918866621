package registry

import (
	"slices"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/profiles"
)

// Powers say what programs under a profile can do at most, with the rules and the tools of this moment.
type Powers struct {
	Write   bool // call a tool that may change something, be it after a question
	Destroy bool // call one that may destroy something, and nobody is asked
	Reach   bool // call one that may reach what no server controls, be it after a question
}

// everything is what an unknown tool can do.
var everything = Powers{Write: true, Destroy: true, Reach: true}

// Powers returns those of a profile; "" is the profile of the base tool. Where a server offers nothing yet, its
// accepted definitions count, so that the powers do not depend on which servers are ready. Without any, and where the
// configuration wants strict annotations, they are everything. A hint that makes a tool harmless counts where allow
// rules may believe it. What narrows single sessions or callers changes nothing, and neither does a definition that
// waits for its review.
func (d *Directory) Powers(profile string) Powers {
	policy := d.derives(profile)
	if policy == nil {
		return everything
	}
	tools, known := d.Tools.Catalog.Tools(), map[string]bool{}
	for _, t := range tools {
		known[t.Server] = true
	}
	for _, s := range d.Tools.Manager.Status() {
		if known[s.Name] || s.State == upstream.Disabled || s.State == upstream.Ready || !policy.Profile().Reaches(s.Name) {
			continue
		}
		accepted := d.Rules.Pins.AcceptedOf(s.Name, d.Rules.Server(s.Name).Identity)
		if own := named(s.Name, d.Tools.Manager.InProcess(s.Name)); len(own) > 0 {
			accepted = own
		}
		if len(accepted) == 0 {
			return everything
		}
		for i := range accepted {
			tools = append(tools, &accepted[i])
		}
	}
	var all Powers
	for _, t := range tools {
		if all == everything {
			break
		}
		all.add(policy.Profile(), d.callOf(policy, t), t)
	}
	return all
}

// PowersOf returns what calls of one tool can do under a profile.
func (d *Directory) PowersOf(profile string, t *catalog.Tool) Powers {
	policy := d.derives(profile)
	if policy == nil {
		return everything
	}
	var p Powers
	p.add(policy.Profile(), d.callOf(policy, t), t)
	return p
}

// derives is the policy that powers derive from; nil if they are everything.
func (d *Directory) derives(profile string) *inforce.Policy {
	policy, err := d.Rules.Bind(profile, config.Subject{})
	if cfg := d.Rules.Config(); err != nil || policy.Profile() == nil || cfg != nil && cfg.Strict {
		return nil
	}
	return policy
}

// callOf is a first call of a tool with an accepted definition.
func (d *Directory) callOf(policy *inforce.Policy, t *catalog.Tool) profiles.Call {
	c := policy.Call(d.Tools.Describe(t), call.Arguments{}, hostfns.Counters{})
	c.DefinitionChanged, c.Counters = false, profiles.Counters{}
	return c
}

// add adds what calls of a tool can do, whatever their arguments are.
func (p *Powers) add(profile *profiles.Profile, c profiles.Call, t *catalog.Tool) {
	may := profile.Foresee(c, profiles.Gaps{Unknown: []string{""}}).Verdicts
	if !profile.Visible(c) || !slices.Contains(may, call.Allow) && !slices.Contains(may, call.Ask) {
		return
	}
	hinted := func(hint string, is bool) bool { return profile.Believes(c) && t.Hints[hint] == is }
	reads := hinted("readOnlyHint", true)
	p.Write = p.Write || !reads
	p.Reach = p.Reach || !hinted("openWorldHint", false)
	unasked := slices.Contains(may, call.Allow) || profile.Fallback()
	p.Destroy = p.Destroy || unasked && !reads && !hinted("destructiveHint", false)
}
