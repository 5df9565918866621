package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/config/process"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/profiles"
)

// Parse checks a configuration file; file is the name to use in messages. The error is [Problems] with everything that
// is wrong. Then callers must not use any part of the file.
func Parse(file string, data []byte) (*Config, error) {
	return ParseAll(nil, Source{File: file, Data: data, Standing: User})
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

// With returns the configuration with another file after its own ones, as [ParseAll] does.
func (c *Config) With(s Source) (*Config, error) { return parseSource(s, c, nil) }

// parseSource checks one file that builds on the files before it.
func parseSource(s Source, base *Config, env func(string) (string, bool)) (*Config, error) {
	file, data := s.File, s.Data
	var r *settings.Reader
	if s.Standing == Environment {
		r = &settings.Reader{File: file, Src: string(data)}
	} else {
		var problems error
		if r, problems = Read(file, data); problems != nil {
			return nil, problems
		}
	}
	c := &Config{Path: file, Digest: profiles.Digest(data)}
	c.Files = []FileInfo{{file, c.Digest, s.Standing}}
	r.Untrusted, r.Managed = s.Standing == Untrusted, s.Standing == Managed
	b := builder{Reader: r, config: c,
		standing: s.Standing, written: map[string]*profiles.Written{}, env: settings.Unread(env)}
	b.inherit(base)
	if s.Standing == Environment {
		if base == nil {
			c.Path = environmentPath
		}
		b.variable()
	} else {
		b.read()
	}
	b.finish()
	if len(r.Problems) > 0 {
		r.Problems.Sort()
		return nil, r.Problems
	}
	r.Warnings.Sort()
	c.Warnings = slices.Concat(r.Earlier, r.Warnings)
	return c, nil
}

// Read parses a file, and checks nothing but its syntax; the error is [Problems].
func Read(file string, data []byte) (*settings.Reader, error) {
	src := strings.TrimPrefix(string(data), "\ufeff") // some editors write a byte order mark
	r := &settings.Reader{File: file, Src: src}
	if hint := encodingHint(data); hint != "" {
		r.Report(0, 0, hint, "the file is not text in UTF-8")
		return nil, r.Problems
	}
	root, bad := settings.ParseFile(src)
	if bad != nil {
		r.Report(bad.Offset, bad.Offset+max(bad.Length, 1), bad.Hint, "%s", bad.Message)
		return nil, r.Problems
	}
	r.Root = root
	return r, nil
}

// encodingHint recognises files that are not UTF-8.
func encodingHint(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}), bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return "it looks like UTF-16: save it as UTF-8"
	case bytes.IndexByte(data, 0) >= 0:
		return "it looks like a binary file or UTF-16: save it as UTF-8"
	}
	return ""
}

// Standard converts JSON with comments and trailing commas, as people write it, into standard JSON, for tools that read
// the files of other programs. file is the name to use in messages. The error is [Problems].
func Standard(file string, data []byte) (json.RawMessage, error) {
	r, problems := Read(file, data)
	if problems != nil {
		return nil, problems
	}
	return settings.Source(r.Root), nil
}

// finish processes what depends on the whole file.
func (b *builder) finish() {
	if b.defaultAt.Kind() != strictjson.Missing {
		b.known(b.defaultAt, `"defaultProfile"`)
	}
	if b.floorAt.Kind() != strictjson.Missing {
		b.known(b.floorAt, `"floor"`)
	}
	if at := b.config.evaluation.Exposed; at.Kind() != strictjson.Missing {
		b.expose(at)
	}
	b.finishScripts()
	if len(b.Problems) == 0 {
		b.Add(process.Conflicts(&b.config.Keys)...)
	}
	for _, o := range b.writtenOverlays {
		if o.named.Kind() != strictjson.Missing {
			b.known(o.named, `"profile"`)
		}
	}
	for _, w := range b.order {
		if w.Shadow.Kind() != strictjson.Missing && b.known(w.Shadow, `"shadow"`) && w.Shadow.Text() == w.Name {
			b.Wrong(w.Shadow, "name the profile that is to take its place", "the profile %q is its own shadow", w.Name)
		}
		b.ancestors(w)
		if b.standing == Trusted && b.elsewhere(w.Name) {
			b.uniqueIDs(merged([]*profiles.Written{b.findBefore(w.Name), w}))
		}
	}
	if len(b.Problems) > 0 {
		return
	}
	a := &assembly{builder: b}
	a.assemble()
	a.warn()
}
