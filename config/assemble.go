package config

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/profiles"
)

// An assembly makes profiles of what the files say: the readers of the files are done.
type assembly struct {
	*builder
	trusted       map[string]bool
	bounds, caps  profiles.Limits // of files that the user's limits cannot exceed
	floorLayers   []*profiles.Layer
	floorsWritten []*profiles.Written // sources of the floors
	surrounding   *profiles.Written   // the profile of the environment variables, nil if none is set
	alone         bool                // they are the whole configuration
}

// assemble makes the profiles that decide calls, from all files so far. The files have already passed all checks.
func (b *assembly) assemble() {
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
		case User: // for profiles that do not set it
			c.Limits = c.Limits.Stricter(p.limits)
		case Untrusted:
			b.caps = b.caps.Stricter(p.limits)
		default:
			c.Limits, b.bounds = c.Limits.Stricter(p.limits), b.bounds.Stricter(p.limits)
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
	c.profiles = map[string]*profiles.Profile{}
	if b.alone = c.environmentAlone(); b.alone {
		c.Default = cmp.Or(c.Default, environmentProfile)
		c.profiles[environmentProfile] = b.complete(environmentProfile)
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

// settle merges the files' settings for preflight, annotations, saved programs and the admin page.
func (b *assembly) settle() {
	c := b.config
	if b.base == nil {
		return
	}
	c.RequirePreflight = c.RequirePreflight || b.base.RequirePreflight
	c.ReturnAfter = cmp.Or(b.base.ReturnAfter, c.ReturnAfter)
	c.Surface = cmp.Or(b.base.Surface, c.Surface)
	c.Strict = c.Strict || b.base.Strict
	c.PreflightLifetime = shortest(c.PreflightLifetime, b.base.PreflightLifetime)
	if b.base.AdminURL != "" {
		c.AdminURL = b.base.AdminURL
	}
	if b.base.Scripts != nil {
		c.Scripts = b.base.Scripts
	}
}

// trustedServers returns the servers with annotations that allow rules may believe: those that the files trust, and the
// built-in ones unless a configured server has their name.
func (b *assembly) trustedServers() map[string]bool {
	trusted := map[string]bool{"time": true, "filesystem": true}
	for _, s := range b.config.Servers {
		trusted[s.Name] = s.TrustAnnotations
	}
	return trusted
}

// floors makes a layer of the floor of each file that names one, and one of the environment.
func (b *assembly) floors() {
	for i, p := range b.config.parts {
		if p.floor == "" {
			continue
		}
		for _, from := range slices.Backward(b.config.parts[:i+1]) {
			if w := from.written[p.floor]; w != nil {
				b.floorLayers = append(b.floorLayers, &profiles.Layer{Profile: b.effective(w), What: profiles.FloorLayer})
				b.floorsWritten = append(b.floorsWritten, w)
				break
			}
		}
	}
	if w := b.surrounding; w != nil {
		b.floorLayers = append(b.floorLayers, &profiles.Layer{Profile: b.effective(w), What: profiles.EnvironmentLayer})
		b.floorsWritten = append(b.floorsWritten, w)
	}
}

// complete merges the profiles of that name from all files, and adds the layers that bind it. A name that occurs only
// in an untrusted file is not a profile.
func (b *assembly) complete(name string) *profiles.Profile {
	var own []*profiles.Written
	var layers []*profiles.Layer
	var managed *profiles.Written
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
	if name == environmentProfile && b.alone {
		own = append(own, b.surrounding)
	}
	switch {
	case len(own) == 0:
		own = append(own, managed)
	case managed != nil:
		layers = append([]*profiles.Layer{{Profile: b.effective(managed), What: Managed.String()}}, layers...)
	}
	w := merged(own)
	var floors []*profiles.Layer
	for i, f := range b.floorLayers {
		if w != b.floorsWritten[i] { // a floor does not bind itself
			floors = append(floors, f)
		}
	}
	return b.effective(w).Under(append(floors, layers...)...)
}

// merged merges what several files say about one profile.
func merged(all []*profiles.Written) *profiles.Written {
	if len(all) == 1 {
		return all[0]
	}
	whole := &profiles.Written{Name: all[0].Name, Pos: all[0].Pos}
	for _, w := range all {
		for _, x := range w.Chain {
			if !slices.Contains(whole.Chain, x) {
				whole.Chain = append(whole.Chain, x)
			}
		}
	}
	return whole
}

// untrusted makes a layer of a profile in an untrusted file. Only rules that are stricter than the rest have an effect.
// The presence of an allowlist means nothing there: otherwise an ineffective list would deny everything else.
func (b *assembly) untrusted(w *profiles.Written, p *fileRules) *profiles.Layer {
	copied := &profiles.Written{Name: w.Name, Pos: w.Pos}
	for _, x := range w.Chain {
		if x.Pos.File == p.File {
			y := *x
			y.Has[profiles.Allowlist] = false
			copied.Chain = append(copied.Chain, &y)
		}
	}
	return &profiles.Layer{Profile: b.effective(copied), What: Untrusted.String(),
		Mute: "it allows nothing: the project file is not trusted; " +
			"read it, then: codemode profiles trust " + p.File}
}

// shadowProfiles attaches to each profile that names one the shadow profile tried beside it.
func (b *assembly) shadowProfiles() {
	c := b.config
	for _, p := range c.parts {
		for name, w := range p.written {
			if w.Shadow.Kind() == strictjson.Missing || p.Standing == Untrusted || c.profiles[w.Shadow.Text()] == nil {
				continue
			}
			c.profiles[name].TryBeside(c.profiles[w.Shadow.Text()])
		}
	}
}

// baseProfile decides for the base tool: it is the default profile, bound by the managed file's.
func (b *assembly) baseProfile() *profiles.Profile {
	c := b.config
	var base *profiles.Profile
	if c.Default != "" {
		base = c.profiles[c.Default]
	} else {
		base = b.effective(&profiles.Written{}).Under(b.floorLayers...)
	}
	for _, p := range c.parts {
		if p.Standing == Managed && p.defaultProfile != "" && p.defaultProfile != c.Default {
			base = base.Under(&profiles.Layer{Profile: b.effective(p.written[p.defaultProfile]), What: Managed.String()})
		}
	}
	return base
}

// effective merges a profile with the settings for all profiles.
func (b *assembly) effective(w *profiles.Written) *profiles.Profile {
	s := profiles.Surroundings{
		Trusted: b.trusted, Limits: b.config.Limits, Bounds: b.bounds, Caps: b.caps,
		RequirePreflight: b.config.RequirePreflight,
	}
	for _, server := range b.config.Servers {
		if server.TrustAnnotations {
			s.TrustedNames = append(s.TrustedNames, server.Name)
		}
	}
	return s.Effective(w)
}

// shortest is the shorter of two times; 0 means none.
func shortest(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// layOverlays makes the layers of the overlays of all files, after the profiles exist.
func (b *assembly) layOverlays() {
	c := b.config
	for _, p := range c.parts {
		for _, o := range p.overlays {
			c.overlays = append(c.overlays, b.lay(o, p))
		}
	}
	slices.SortStableFunc(c.overlays, moreSpecific)
}

// lay makes an overlay's layers. It does not change the written overlay: a later file may still change the layers.
func (b *assembly) lay(written writtenOverlay, from *fileRules) *Overlay {
	o := *written.Overlay
	lay := func(p *profiles.Profile, mute string) {
		if from.Standing == Untrusted { // which says whom it is about, and so where the settings of a profile apply
			p = p.AsStranger()
		}
		o.layers = append(o.layers, &profiles.Layer{Profile: p, What: "overlay " + o.ID, Tools: o.tools, Mute: mute})
	}
	if written.rules != nil {
		lay(b.effective(written.rules), "")
	}
	if written.named.Kind() == strictjson.Missing {
		return &o
	}
	named := b.config.profiles[o.Profile]
	if named == nil { // only an untrusted file has it, and narrowing needs no trust
		named = b.effective(from.written[o.Profile])
	}
	lay(named, "")
	for _, l := range named.Layers() {
		// which bind every profile under the overlay
		if l.What != profiles.FloorLayer && l.What != profiles.EnvironmentLayer {
			lay(l.Profile, l.Mute)
		}
	}
	return &o
}
