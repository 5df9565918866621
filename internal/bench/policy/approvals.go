package policy

import (
	"fmt"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/profiles"
)

// overridden are calls that an ask rule is about, where it gives way to an allow rule for all tools that write.
func (s *subject) overridden() (all []weakness) {
	for _, r := range s.rules {
		if r.List != profiles.Asklist || !r.Soft && len(r.Unless) == 0 {
			continue
		}
		w := weakness{family: NoEffect, severity: Medium, rule: r,
			mend: `remove "unlessAllowed", or narrow the allow rule to the calls that need no question`}
		for _, t := range s.tools {
			if t.sample == nil || !t.writes() || !r.Matches(t.Name, rawName(t)) {
				continue
			}
			args := satisfied(r, t.sample, -1)
			if args == nil {
				continue
			}
			if s.decide(t, args).Verdict != call.Allow { // it decides about this one
				w.attacks = nil
				break
			}
			w.attacks = append(w.attacks, attack{tool: t, program: t.call(args), message: "the ask rule never decides: allow " +
				"rules let through all that it is about and that changes something"})
		}
		all = append(all, w)
	}
	return all
}

// approvals are questions that nobody answers, and answers that count for more than the call that was asked about.
func (s *subject) approvals() (all []weakness) {
	for _, t := range s.tools {
		args := s.decided(t, call.Ask, profiles.Asklist)
		if args == nil || !t.writes() {
			continue
		}
		d := s.decide(t, args)
		all = append(all, weakness{family: Approval, severity: Medium,
			mend: `remove "elicitationFallback": "allow": codemode then refuses what nobody answers`,
			attacks: []attack{{tool: t, program: t.call(args), by: call.ByFallback,
				message: "the profile asks about the call, and lets it through when nobody is there to answer"}}})
		if d.Remember.Args != "any" {
			continue
		}
		var mine []string
		for i := range t.arguments {
			if other := with(args, stepsOf(&t.arguments[i]), "other"); t.fits(other) && s.decide(t, other).Verdict == call.Ask {
				mine = append(mine, t.expression(literal(other)))
			}
		}
		if len(mine) == 0 {
			continue
		}
		program := fmt.Sprintf("await %s;\nreturn await %s;", t.expression(literal(args)), mine[0])
		channel := "elicitation"
		if c := s.profile.Ask().Channels; len(c) > 0 {
			channel = c[0]
		}
		all = append(all, weakness{family: Approval, severity: Medium, rule: s.remembers(t),
			mend: `remember the arguments that the person saw: write "args": "rule" or "exact" in "remember"`,
			attacks: []attack{{tool: t, program: program, least: 2, by: call.ByGrant, person: generous(channel),
				message: "after a yes to one call, the tool may be called with any other arguments, and nobody is asked"}}})
	}
	return all
}

// remembers is the rule about a tool that says how answers are remembered; nil if the profile says so.
func (s *subject) remembers(t *tool) *profiles.Rule {
	for _, r := range s.about(t) {
		if r.List == profiles.Asklist && strings.Contains(r.Text, `"remember"`) {
			return r
		}
	}
	return nil
}
