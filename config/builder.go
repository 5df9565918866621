package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/profiles"
)

// A builder reads one configuration file into a Config.
type builder struct {
	*settings.Reader
	config   *Config
	standing Standing
	base     *Config                      // the files that this one builds on, nil = none
	before   []*fileRules                 // their settings of profiles
	written  map[string]*profiles.Written // the profiles as written in the file
	order    []*profiles.Written

	variables *profiles.Written           // of a variable of the environment
	env       func(string) (string, bool) // variables of servers; nil knows none

	defaultName, floorName string
	exposed                []string
	fileLimits             profiles.Limits
	defaultAt, floorAt     strictjson.Value
	scriptProfiles         []strictjson.Value // positions in scripts that name one
	scriptsWithout         []strictjson.Value
	named                  []namedProfile
	writtenOverlays        []writtenOverlay
}

// A namedProfile is the place of a name, and what it leads to if there is no such profile.
type namedProfile struct {
	at     strictjson.Value
	effect string
}

// inherit starts a configuration from the earlier files.
func (b *builder) inherit(base *Config) {
	if base == nil {
		return
	}
	c := b.config
	b.base, b.before = base, base.parts
	c.Files = slices.Concat(base.Files, c.Files)
	c.Digest = profiles.Digest([]byte(base.Digest), []byte("\n"+b.standing.String()+" "+c.Digest))
	if b.standing != User {
		c.Path = base.Path
	}
	c.Servers, c.OutputValidation = slices.Clone(base.Servers), base.OutputValidation
	c.SecretFiles = slices.Clone(base.SecretFiles)
	c.Keys = base.Keys
	b.Earlier = base.Warnings
}

// elsewhere reports whether an earlier file has the profile.
func (b *builder) elsewhere(name string) bool { return b.findBefore(name) != nil }

// find returns a profile as this file defines it, else as the nearest earlier file does.
func (b *builder) find(name string) *profiles.Written {
	if w := b.written[name]; w != nil {
		return w
	}
	return b.findBefore(name)
}

func (b *builder) findBefore(name string) *profiles.Written {
	for _, p := range slices.Backward(b.before) {
		if w := p.written[name]; w != nil && p.Standing != Untrusted {
			return w
		}
	}
	if b.base != nil && name == environmentProfile && b.base.environmentAlone() {
		return b.base.environment()
	}
	return nil
}

// profileNames returns the profiles that this file can refer to.
func (b *builder) profileNames() []string {
	names := slices.Collect(maps.Keys(b.written))
	for _, p := range b.before {
		for name := range p.written {
			if p.Standing != Untrusted {
				names = append(names, name)
			}
		}
	}
	if b.base != nil && b.base.environmentAlone() {
		names = append(names, environmentProfile)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// known reports a name that is not a profile.
func (b *builder) known(n strictjson.Value, what string) bool {
	if b.find(n.Text()) != nil {
		return true
	}
	names := b.profileNames()
	hint := "there are no profiles"
	if near := visible.Nearest(n.Text(), names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	} else if len(names) > 0 {
		hint = "there are " + settings.QuotedList(names, "and")
	}
	b.Wrong(n, hint, "%s names the profile %q, which does not exist", what, n.Text())
	return false
}

// project reports whether the file is a project's.
func (b *builder) project() bool { return b.standing == Untrusted || b.standing == Trusted }

// withoutSay warns of a key without effect in a project's file.
func (b *builder) withoutSay(n strictjson.Value, what string) {
	if b.standing == Trusted {
		b.Warn(b.Position(n.KeyOffset()), len(n.Key())+2, "say it in your own file", "%s has no effect in a project file",
			what)
		return
	}
	b.NoEffect(n, what)
}

// outOfPlace warns of a key that has no effect in its file: a project's file cannot set what concerns the process as a
// whole, and an earlier file's setting stays.
func (b *builder) outOfPlace(n strictjson.Value, settled bool) bool {
	switch {
	case b.project():
		b.withoutSay(n, fmt.Sprintf("%q", n.Key()))
		return true
	case settled:
		b.Warn(b.Position(n.KeyOffset()), len(n.Key())+2, "remove it", "%q has no effect: the %s says it already", n.Key(),
			b.before[0].Standing)
		return true
	}
	return false
}
