package profiles

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// assemble makes the profiles that calls are decided by, out of all files so far.
// Everything has been checked.
func (b *builder) assemble() {
	c := b.config
	c.parts = append(slices.Clip(b.before), &fileRules{
		FileInfo: c.Files[len(c.Files)-1], src: b.Src, written: b.written, order: b.order,
		defaultProfile: b.defaultName, floor: b.floorName, limits: b.fileLimits, expose: b.exposed,
		overlays: b.writtenOverlays, variables: b.variables,
	})
	b.trusted = b.trustedServers()
	b.settle()
	for _, p := range c.parts {
		switch p.Standing {
		case User: // for the profiles that do not say
			c.Limits = c.Limits.stricter(p.limits)
		case Untrusted:
			b.caps = b.caps.stricter(p.limits)
		default:
			c.Limits, b.bounds = c.Limits.stricter(p.limits), b.bounds.stricter(p.limits)
		}
		if p.expose != nil {
			c.Expose = p.expose
		}
		if p.floor != "" {
			c.Floor = p.floor
		}
		if p.defaultProfile != "" && p.Standing != Untrusted {
			c.Default = p.defaultProfile
		}
	}
	b.surrounding = c.environment()
	b.floors()
	c.profiles = map[string]*Profile{}
	if b.alone = c.environmentAlone(); b.alone {
		c.Default = cmp.Or(c.Default, EnvironmentProfile)
		c.profiles[EnvironmentProfile] = b.complete(EnvironmentProfile)
	}
	for _, p := range c.parts {
		for name := range maps.Keys(p.written) {
			if c.profiles[name] == nil && p.Standing != Untrusted {
				c.profiles[name] = b.complete(name)
			}
		}
	}
	b.shadowProfiles()
	c.base = b.baseProfile()
	b.layOverlays()
}

// settle joins what the files say about runs before they are started.
func (b *builder) settle() {
	c := b.config
	if b.base == nil {
		return
	}
	c.RequirePreflight = c.RequirePreflight || b.base.RequirePreflight
	c.PreflightLifetime = shortest(c.PreflightLifetime, b.base.PreflightLifetime)
	if b.base.AdminURL != "" {
		c.AdminURL = b.base.AdminURL
	}
	if b.base.Scripts != nil {
		c.Scripts = b.base.Scripts
	}
}

// trustedServers gives the servers whose annotations allow rules may believe: those the
// files trust, and the built-in ones unless a configured server has taken their name.
func (b *builder) trustedServers() map[string]bool {
	trusted := map[string]bool{"time": true, "filesystem": true}
	for _, s := range b.config.Servers {
		trusted[s.Name] = s.TrustAnnotations
	}
	return trusted
}

// floors makes a layer of the floor of each file that names one, and one of the environment.
func (b *builder) floors() {
	for i, p := range b.config.parts {
		if p.floor == "" {
			continue
		}
		for _, from := range slices.Backward(b.config.parts[:i+1]) {
			if w := from.written[p.floor]; w != nil {
				b.floorLayers = append(b.floorLayers, &layer{Profile: b.effective(w), what: floorLayer})
				b.floorsWritten = append(b.floorsWritten, w)
				break
			}
		}
	}
	if w := b.surrounding; w != nil {
		b.floorLayers = append(b.floorLayers, &layer{Profile: b.effective(w), what: environmentLayer})
		b.floorsWritten = append(b.floorsWritten, w)
	}
}

// complete puts a profile together from all files that have one of its name, and binds it by
// what it cannot loosen. A name that only an untrusted file has is no profile.
func (b *builder) complete(name string) *Profile {
	var own []*written
	var layers []*layer
	var managed *written
	for _, p := range b.config.parts {
		w := p.written[name]
		switch {
		case w == nil:
		case p.Standing == Managed:
			managed = w
		case p.Standing == Untrusted:
			layers = append(layers, b.untrusted(w, p))
		default:
			own = append(own, w)
		}
	}
	if name == EnvironmentProfile && b.alone {
		own = append(own, b.surrounding)
	}
	switch {
	case len(own) == 0:
		own = append(own, managed)
	case managed != nil:
		layers = append([]*layer{{Profile: b.effective(managed), what: Managed.String()}}, layers...)
	}
	w := merged(own)
	var floors []*layer
	for i, f := range b.floorLayers {
		if w != b.floorsWritten[i] { // a floor does not bind itself
			floors = append(floors, f)
		}
	}
	return b.effective(w).under(append(floors, layers...)...)
}

// merged joins what several files say about one profile.
func merged(all []*written) *written {
	if len(all) == 1 {
		return all[0]
	}
	whole := &written{name: all[0].name, pos: all[0].pos}
	for _, w := range all {
		for _, x := range w.chain {
			if !slices.Contains(whole.chain, x) {
				whole.chain = append(whole.chain, x)
			}
		}
	}
	return whole
}

// untrusted makes the layer of a profile of a file that nobody trusts: what the file itself
// says, of which only what is stricter than the rest has an effect. That there is an
// allowlist means nothing then, or a list in vain would deny all that is not on it.
func (b *builder) untrusted(w *written, p *fileRules) *layer {
	copied := &written{name: w.name, pos: w.pos}
	for _, x := range w.chain {
		if x.pos.File == p.File {
			y := *x
			y.has[allowlist] = false
			copied.chain = append(copied.chain, &y)
		}
	}
	return &layer{Profile: b.effective(copied), what: Untrusted.String(), mute: "it allows nothing: the project file is not trusted; " +
		"read it, then: codemode profiles trust " + p.File}
}

// shadowProfiles gives the profiles that name one the profile that is tried beside them.
func (b *builder) shadowProfiles() {
	c := b.config
	for _, p := range c.parts {
		for name, w := range p.written {
			if w.shadow.Kind() == strictjson.Missing || p.Standing == Untrusted || c.profiles[w.shadow.Text()] == nil {
				continue
			}
			c.profiles[name].tryBeside(c.profiles[w.shadow.Text()])
		}
	}
}

// baseProfile is what decides for the base tool: the default profile, bound by that of the
// managed file.
func (b *builder) baseProfile() *Profile {
	c := b.config
	var base *Profile
	if c.Default != "" {
		base = c.profiles[c.Default]
	} else {
		base = b.effective(&written{}).under(b.floorLayers...)
	}
	for _, p := range c.parts {
		if p.Standing == Managed && p.defaultProfile != "" && p.defaultProfile != c.Default {
			base = base.under(&layer{Profile: b.effective(p.written[p.defaultProfile]), what: Managed.String()})
		}
	}
	return base
}

// effective puts a profile together with what holds for all.
func (b *builder) effective(w *written) *Profile {
	s := surroundings{
		trusted: b.trusted, limits: b.config.Limits, bounds: b.bounds, caps: b.caps,
		requirePreflight: b.config.RequirePreflight,
	}
	for _, server := range b.config.Servers {
		if server.TrustAnnotations {
			s.trustedNames = append(s.trustedNames, server.Name)
		}
	}
	return s.effective(w)
}

// shortest is the shortest of two times of which 0 is none.
func shortest(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
