package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/profiles"
)

// A Standing is the authority of a configuration file. The zero value is the least.
type Standing int

const (
	// Untrusted is a project's file that nobody has vouched for. Its denials, questions and limits apply; its
	// permissions do not, and codemode does not start its servers.
	Untrusted Standing = iota
	// Trusted is a project's file that its user trusts in its current form: its rules join those of the user's profiles
	// of the same name. It cannot name a floor.
	Trusted
	// User is the user's own file.
	User
	// Managed is the machine administrator's file: no other file can loosen it.
	Managed
	// Narrowing is a file with only overlays, written by an admin page.
	Narrowing
	// Environment is a variable of the environment, see [ReadEnvironment]. Beside a user file or a managed file it only
	// tightens.
	Environment
)

func (s Standing) String() string {
	return [...]string{
		"project file", "trusted project file", "user file", profiles.ManagedLayer, "overlay file", "environment",
	}[s]
}

// MarshalText writes a standing as people read it.
func (s Standing) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// A Source is a configuration file's content with its standing.
type Source struct {
	File     string // the name to use in messages
	Data     []byte
	Standing Standing
}

// ParseAll checks files that apply together, and merges them into one configuration. Pass binding files before the
// files that they bind: managed, user, variables of the environment, project, overlays. The error is [Problems] if one
// of them is invalid; then ParseAll uses none.
//
// For a profile in several files, all of them decide: the user's cannot loosen the managed one, an untrusted project's
// cannot loosen either, and the rules of a trusted project join the user's. Every floor binds every profile, and so do
// variables of the environment.
//
// env has the variables for servers; nil has none.
func ParseAll(env func(string) (string, bool), sources ...Source) (*Config, error) {
	var c *Config
	var wrong settings.Problems // variables, which ParseAll reports together
	for i, s := range sources {
		for _, before := range sources[:i] {
			if before.File == s.File {
				return nil, fmt.Errorf("the configuration %s is used twice, as %s and as %s: name it once", s.File, before.Standing,
					s.Standing)
			}
		}
		if len(wrong) > 0 && s.Standing != Environment {
			break
		}
		next, err := parseSource(s, c, env)
		if some, ok := err.(settings.Problems); ok && s.Standing == Environment {
			wrong = append(wrong, some...)
			continue
		}
		if err != nil {
			return nil, err
		}
		c = next
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	if c == nil {
		return nil, errors.New("there is no configuration file")
	}
	return c, nil
}

// A FileInfo is a source file of a configuration.
type FileInfo struct {
	File     string
	Digest   string // of its bytes: sha256:...
	Standing Standing
}

// fileRules keep what one file says about profiles, so that later files can build on it.
type fileRules struct {
	FileInfo
	src            string // its text, for excerpts
	written        map[string]*profiles.Written
	order          []*profiles.Written
	defaultProfile string
	floor          string
	limits         profiles.Limits
	expose         []string
	overlays       []writtenOverlay
	variables      *profiles.Written // the setting of an environment variable, nil for a file
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
	var names []string
	for name := range b.written {
		names = append(names, name)
	}
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
