package inforce

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/profiles"
)

// A Policy decides the calls of one run by the profile with its name in the current configuration.
type Policy struct {
	Rules   *Rules
	Name    string
	subject config.Subject                   // selects the overlays that apply
	Owner   string                           // the owner that provides the share of questions
	within  profiles.Limits                  // of a saved program, in addition to those of its profile
	began   uint64                           // when it was bound, as pins count
	ruled   bool                             // without a name, it needs a default profile
	last    atomic.Pointer[profiles.Profile] // the last version of the profile seen
	Now     func() time.Time
	shadows shadows
}

// Bind returns the policy of an existing profile, for runs of subject.
func (r *Rules) Bind(name string, subject config.Subject) (*Policy, error) {
	p := &Policy{Rules: r, Name: name, subject: subject, began: r.Pins.Now(), Now: r.time}
	cfg := r.Config()
	if cfg == nil && name == "" {
		return p, nil // nothing is configured, so nothing is allowed
	}
	if p.Profile() == nil {
		unknown := &UnknownProfileError{Name: name}
		if cfg != nil {
			unknown.Names = cfg.Names()
		}
		return nil, unknown
	}
	return p, nil
}

// ErrNoProfile says that no rules apply to a request, and that it does not say [Wish.Unrestricted].
var ErrNoProfile = errors.New(`the request names no profile, and the configuration has no "defaultProfile"`)

// noProfile is ErrNoProfile with what to do.
func noProfile(cfg *config.Config) error {
	const way = "set Unrestricted to run without a profile"
	if names := cfg.All(); len(names) > 0 {
		return fmt.Errorf("%w: set Profile to one of %s, or %s", ErrNoProfile, strings.Join(names, ", "), way)
	}
	return fmt.Errorf("%w: write a profile, or %s", ErrNoProfile, way)
}

// An UnknownProfileError says that the configuration has no such profile.
type UnknownProfileError struct {
	Name  string
	Names []string // those it has
}

func (e *UnknownProfileError) Error() string {
	if len(e.Names) == 0 {
		return fmt.Sprintf("there is no profile %q; the configuration has none", e.Name)
	}
	return fmt.Sprintf("there is no profile %q; there are %s", e.Name, strings.Join(e.Names, ", "))
}

// Profile returns the current profile with the overlays in force, or its last version: see current.
func (p *Policy) Profile() *profiles.Profile {
	profile, _ := p.current()
	return profile
}

// current returns the current profile with the overlays in force. If the configuration no longer has it, current
// returns the last version, because its limits and masks still apply to runs that began under it. removed is then true:
// the profile allows nothing.
func (p *Policy) current() (profile *profiles.Profile, removed bool) {
	cfg := p.Rules.Config()
	if cfg == nil {
		return p.last.Load(), false
	}
	now := cfg.Narrowed(p.Name, p.subject, p.Now())
	if p.ruled && p.Name == "" && cfg.Default == "" {
		now = nil // the default profile is gone
	}
	if now != nil {
		p.last.Store(now.Within(p.within))
		return p.last.Load(), false
	}
	return p.last.Load(), true
}

// ProfileName is the name of the profile in the configuration. The profile of the base tool has one too.
func (p *Policy) ProfileName() string {
	if profile := p.Profile(); profile != nil {
		return profile.Name()
	}
	return ""
}

// Reaches reports whether the profile may allow calls of a server with unknown tools.
func (p *Policy) Reaches(server string) bool {
	profile, removed := p.current()
	return profile != nil && !removed && profile.Reaches(server)
}

// Digest changes when the profile changes, or anything that narrows it.
func (p *Policy) Digest() string {
	if profile := p.Profile(); profile != nil {
		return profile.Digest()
	}
	return ""
}

// Call describes a call for profiles to decide: with its time, the state of its run and the questions of its owner.
func (p *Policy) Call(t *call.Tool, args call.Arguments, n hostfns.Counters) profiles.Call {
	lastMinute, pending := p.Rules.Asks.Count(p.Now(), p.Owner)
	if n.Asked { // later questions do not count against this call
		n.Asks, lastMinute, pending = 0, 0, 0
	}
	return profiles.Call{
		Server: t.Server, Tool: t.Raw, Name: t.Name, Args: args, Annotations: t.Annotations, Time: p.Now(),
		Believed: p.Rules.Server(t.Server).Believed,
		Tainted:  n.Tainted, Taint: n.Taint, DefinitionChanged: p.Rules.Pins.Changed(t.Name, t.Digest, p.began),
		Counters: profiles.Counters{
			Calls: n.Calls, Repeat: n.Repeat, Asks: n.Asks, Refusals: n.Refusals,
			AsksLastMinute: lastMinute, Pending: pending,
		},
	}
}

// Decide decides by the current profile.
func (p *Policy) Decide(t *call.Tool, args call.Arguments, n hostfns.Counters) call.Decision {
	profile, removed := p.current()
	switch {
	case profile == nil:
		return denial("nothing is configured, so nothing is allowed")
	case removed: // without a digest: earlier approvals were given under other rules
		return denial(fmt.Sprintf("the profile %s was removed from the configuration while this program ran under it, "+
			"so nothing is allowed any more", profile.Name()))
	}
	if t.Resource && t.Raw == GetPrompt {
		tree, _ := args.Tree() // what is no object offers nothing
		if name, _ := tree.Member("name"); !offersPrompt(profile, t.Server, name.Text()) {
			return denial(fmt.Sprintf("the profile %s does not offer this prompt: its key \"prompts\" does not match it",
				profile.Name()))
		}
	}
	c := p.Call(t, args, n)
	d := profile.Decide(c)
	p.shadows.compare(p.Rules.log, profile, c, d)
	return d
}

// denial is a decision without a profile.
func denial(why string) call.Decision {
	return call.Decision{Reasons: []call.Reason{{List: "configuration", Text: why}}}
}

// Hidden reports whether the profile denies the tool with any arguments.
func (p *Policy) Hidden(t *call.Tool) bool {
	profile, removed := p.current()
	return profile == nil || removed || t.Resource && t.Raw == GetPrompt && len(profile.Prompts) == 0 ||
		!profile.Visible(p.Call(t, call.Arguments{}, hostfns.Counters{}))
}

// GetPrompt is what stands for getting a prompt of a server: rules, people and the record know it as the tool
// <server>__get_prompt. Beside the rules, the key "prompts" of the profile has to offer the prompt.
const GetPrompt = "get_prompt"

// OffersResources reports whether the profile offers the resources of a server to clients.
func (p *Policy) OffersResources(server string) bool {
	profile, removed := p.current()
	return profile != nil && !removed && profile.Resources.Match(call.Name(server, hostfns.ReadResource),
		server+call.Separator+hostfns.ReadResource)
}

// OffersPrompts reports whether the profile may offer a prompt of a server to clients.
func (p *Policy) OffersPrompts(server string) bool {
	profile, removed := p.current()
	return profile != nil && !removed && (profile.Prompts.MayBegin(call.Name(server, "")) ||
		profile.Prompts.MayBegin(server+call.Separator))
}

// OffersPrompt reports whether the profile offers a prompt to clients, by the name that its server gives it.
func (p *Policy) OffersPrompt(server, prompt string) bool {
	profile, removed := p.current()
	return profile != nil && !removed && offersPrompt(profile, server, prompt)
}

func offersPrompt(profile *profiles.Profile, server, prompt string) bool {
	return prompt != "" && profile.Prompts.Match(call.Name(server, prompt), server+call.Separator+prompt)
}

// shadows logs where the shadow profile ("shadow" in the configuration) would decide otherwise. It has no effect on the
// call.
type shadows struct {
	noted sync.Map // logged differences: a call is decided several times
}

func (s *shadows) compare(log *slog.Logger, live *profiles.Profile, c profiles.Call, d call.Decision) {
	beside := live.Shadow()
	if beside == nil {
		return
	}
	difference := profiles.Differ(d, beside.Decide(c))
	if difference == "" {
		return
	}
	if _, again := s.noted.LoadOrStore(c.Name+"\x00"+c.Args.String()+"\x00"+difference, true); !again {
		log.Warn("the shadow profile would decide otherwise", "profile", live.Name(), "shadow", beside.Name(), "tool", c.Name,
			"difference", difference)
	}
}

// Prepare finds the program of a request, and the policy for it. The saved program is nil when the request brings its
// own.
func (r *Rules) Prepare(ctx context.Context, q *Wish) (*Policy, *SavedProgram, error) {
	var saved *SavedProgram
	if q.Script != "" {
		var err error
		if saved, err = r.load(q); err != nil {
			return nil, nil, err
		}
	}
	if len(q.Role) > maxRole {
		return nil, nil, fmt.Errorf("the role has %d bytes, the limit is %d", len(q.Role), maxRole)
	}
	if cfg := r.Config(); q.Profile == "" && !q.Unrestricted && cfg != nil && cfg.Default == "" {
		return nil, nil, noProfile(cfg)
	}
	subject, err := r.Subject(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	policy, err := r.Bind(q.Profile, subject)
	if err != nil {
		return nil, nil, err
	}
	policy.Owner, policy.ruled = q.Owner(), !q.Unrestricted
	if saved != nil {
		policy.within = saved.rule.Limits
	}
	return policy, saved, nil
}
