package profiles

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// A Profile is what a person allows: the rules of one profile of the file, of those it extends, and of the floor. It
// never changes, so any number of goroutines may use it, and a new file does not affect a run that began under it.
type Profile struct {
	ruleSet
	terms
	layers  []*Layer        // the floor first
	trusted map[string]bool // servers with annotations that allow rules may believe
	raise   map[string]call.Verdict
	shadow  *Profile // the shadow profile; nil = none
	digest  string
}

// A ruleSet is the rules of a profile, which decide by themselves.
type ruleSet struct {
	name          string
	pos           settings.Position
	rules         []*Rule // denylist, asklist, allowlist; in each, ancestors first
	index         *index
	unmatched     call.Verdict
	unmatchedSaid bool // by "unmatched", not only because there is an allowlist
}

// The terms of a profile are what it says besides rules: how people are asked, what is remembered, limits.
type terms struct {
	fallback, noFallback bool // allowed; forbidden explicitly

	ask        Asking
	remembers  []*call.Remember
	ownLimits  Limits // without the file's and the floor's
	limits     Limits
	caps       Limits // of overlays and other files: they lower the limits and the defaults
	redact     Redact
	preflight  bool
	forgets    bool
	noSessions bool
}

// Name is the profile's name; "" for the base tool without a default profile.
func (p *ruleSet) Name() string { return p.name }

// Pos is the profile's position in the file.
func (p *ruleSet) Pos() settings.Position { return p.pos }

// Digest changes whenever the profile, what it extends or its floor changes in meaning, and only then. What an approval
// rests on is less: see [call.Decision.Basis].
func (p *Profile) Digest() string { return p.digest }

// Fallback reports whether calls with the verdict ask may happen when nobody can answer (elicitationFallback "allow").
// Do not apply it to decisions that are Unknown, come from the Floor, or have high or critical risk.
func (t *terms) Fallback() bool { return t.fallback }

// SaysFallback reports whether a file says what happens when nobody can answer, either way.
func (t *terms) SaysFallback() bool { return t.fallback || t.noFallback }

// Limits are the limits of the profile; a zero field means that the file does not set it.
//
// [Profile.Bounded] replaces zero fields with defaults.
func (t *terms) Limits() Limits { return t.limits.Stricter(t.caps) }

// Bounded returns the limits to use, with defaults for those that no file sets. Overlays and other files can lower a
// default but never raise it.
func (t *terms) Bounded(defaults Limits) Limits { return t.limits.or(defaults).Stricter(t.caps) }

// Ask says how to ask people.
func (t *terms) Ask() Asking { return t.ask }

// Redact says what not to show or record in clear.
func (t *terms) Redact() Redact { return t.redact }

// RequirePreflight reports whether a program needs a check before it runs.
func (t *terms) RequirePreflight() bool { return t.preflight }

// KeepsResults reports whether results of programs under the profile may be kept for later programs.
func (t *terms) KeepsResults() bool { return !t.forgets }

// HasSessions reports whether programs under the profile may run in sessions.
func (t *terms) HasSessions() bool { return !t.noSessions }

// Shadow is the profile tried beside this one ("shadow" in the file), nil if none is. Its decisions change nothing; the
// deciding code records differences, see [Differ].
func (p *Profile) Shadow() *Profile { return p.shadow }

// Unrestricted reports whether the profile allows every call.
func (p *Profile) Unrestricted() bool {
	return len(p.rules) == 0 && p.unmatched == call.Allow && len(p.raise) == 0 && p.Limits() == Limits{} &&
		!slices.ContainsFunc(p.layers, func(l *Layer) bool { return !l.Unrestricted() })
}

// Decide says what may happen to a call, and why. It is a pure function of the profile and
// the call: no clock, no memory, no network.
func (p *Profile) Decide(c Call) call.Decision {
	d := p.decide(&view{call: c})
	d.Profile, d.Digest = p.name, p.digest
	if d.Verdict == call.Ask {
		d.Timeout, d.Asking = p.ask.Timeout, p.asking()
		bound(&d)
		d.Fallback = p.fallback && !d.Firm && !d.Risk.Grave()
	}
	return d
}

// asking describes who may answer, how, and what they do not see. How long they have makes no difference to an answer.
func (t *terms) asking() string {
	ask := t.ask
	edit := ask.Edit != nil && *ask.Edit
	return fmt.Sprintf("%q %t %v %t %t %+v", ask.Channels, ask.Channels == nil, ask.MinHuman, ask.OtherOnly, edit, t.redact)
}

func (p *Profile) decide(v *view) call.Decision {
	if bad := p.prepare(v); bad != "" {
		reason := call.Reason{List: "arguments", Pos: p.pos, Result: "true", Text: bad, Profile: p.name}
		return call.Decision{Code: call.CodeBadArguments, Reasons: []call.Reason{reason}}
	}
	var space, layerSpace [16]judgement
	own := p.judge(v, space[:0])
	d := p.decision(v, &own)
	for _, l := range p.layers {
		if l.applies(v) {
			u := l.judge(v, layerSpace[:0])
			d = stricter(d, l.decision(v, &u))
		}
	}
	return p.tighten(v, d)
}

// maxArguments is the limit of a call's argument bytes if the file sets none.
const maxArguments = 1 << 20

// A view is a call in the form that rules evaluate.
type view struct {
	call Call
	args *match.Arguments // separate, so that the rest needs no heap allocation
	names
	trusted bool
}

// prepare parses the arguments once. It refuses arguments that two parsers could read differently; the result says why.
func (p *Profile) prepare(v *view) (bad string) {
	c := &v.call
	v.trusted = p.trusted[c.Server] || c.Believed
	canonical := c.Name
	if canonical == "" {
		canonical = call.Name(c.Server, c.Tool)
	}
	raw := canonical
	if !isJoined(canonical, c.Server, c.Tool) && c.Server+c.Tool != "" {
		raw = c.Server + call.Separator + c.Tool
	}
	v.names = newNames(canonical, raw)
	most := least(cmp.Or(p.limits.ArgumentBytes, maxArguments), p.caps.ArgumentBytes)
	if len(c.Args.JSON()) > most {
		return fmt.Sprintf("the arguments are longer than %d bytes", most)
	}
	root, err := c.Args.Tree()
	if err != nil {
		return "the arguments cannot be judged: " + err.Message
	}
	if kind := root.Kind(); kind != strictjson.Object {
		return "the arguments cannot be judged: they are " + kind.String() + ", not an object"
	}
	v.args = &match.Arguments{Root: root}
	return ""
}

// isJoined reports whether name is server__tool, without building that text.
func isJoined(name, server, tool string) bool {
	return len(name) == len(server)+2+len(tool) && strings.HasPrefix(name, server) &&
		name[len(server):len(server)+2] == "__" && strings.HasSuffix(name, tool)
}

// Rules returns the rules of the profile and its ancestors, in the order of evaluation. The rules of the floor are in
// the floor's profile.
func (p *ruleSet) Rules() []*Rule { return p.rules }

// TryBeside makes another profile the shadow of p, only for the record.
func (p *Profile) TryBeside(other *Profile) {
	beside := *other
	beside.shadow = nil // try only it, not its own shadow
	p.shadow = &beside
}

// Layers returns the layers that bind the profile, the floor first.
func (p *Profile) Layers() []*Layer { return p.layers }

// AsStranger is the profile for an untrusted file: it may narrow, but cannot influence what people see, where they get
// questions and how soon.
func (p *Profile) AsStranger() *Profile {
	q := *p
	q.redact, q.ask.Channels = Redact{}, nil
	if q.ask.MinHuman < usualMinHuman {
		q.ask.MinHuman = 0
	}
	return &q
}

// ByDefault is the verdict on calls that no rule mentions.
func (p *ruleSet) ByDefault() call.Verdict { return p.unmatched }

// Within returns the profile with additional limits: the smaller one of each counts.
func (p *Profile) Within(l Limits) *Profile {
	if l == (Limits{}) {
		return p
	}
	q := *p
	q.limits = q.limits.Stricter(l)
	q.digest = Digest([]byte(p.digest), fmt.Appendf(nil, "\nwithin %v", l))
	return &q
}
