package profiles

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/internal/settings"
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

	// What servers offer to clients beside tools: prompts, by <server>__<prompt>, and resources, by
	// <server>__read_resource. None offers nothing. They allow nothing that the rules do not: no layer needs them.
	Prompts, Resources match.Patterns
	offers             [2][]string // their texts
}

// A Layer is a set of rules that a profile cannot loosen: the floor, an overlay, a higher-ranking file, or an untrusted
// file. The layer and the profile decide independently and the stricter verdict counts, so a layer only narrows.
type Layer struct {
	*Profile
	What  string           // for reasons: floor, overlay NAME, ...
	Tools []*match.Pattern // the tools that it applies to; nil = all

	// mute is why the allow rules of the layer allow nothing; "" if that is obvious.
	Mute string
}

// The names of layers.
const (
	FloorLayer       = "floor"        // binds every profile
	ManagedLayer     = "managed file" // of the machine's administrator
	EnvironmentLayer = "environment"  // the variables of the environment
)

// owns marks a reason as coming from the layer.
func (l *Layer) owns(r *call.Reason) {
	r.Layer, r.Floor = l.What, l.What == FloorLayer
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

// all returns the profile and its layers.
func (p *Profile) all() []*Profile {
	all := []*Profile{p}
	for _, l := range p.layers {
		all = append(all, l.Profile)
	}
	return all
}

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

// Digest is the digest of a file's bytes, or of a profile's text, for messages and records: sha256:...
func Digest(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
