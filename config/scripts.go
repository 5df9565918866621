package config

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/codemode-project/codemode/internal/profiles/pattern"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/profiles"
)

// Scripts are the saved programs that callers may run by name. No program or model can add one: only a program that a
// person put into the folder and named here may run.
type Scripts struct {
	Root  string // their folder, as written; relative to the file
	Allow []Script
	Pos   settings.Position
}

// A Script allows one saved program, or those of a folder.
type Script struct {
	File   string // path below the root, with slashes; "" = see Folder
	SHA256 string // of the content of File, in lower case hexadecimal

	Folder  string // path below the root, "." for the root itself; only its own files, not those of subfolders
	Pattern string // of their names

	Profile     string          // the program's profile; "" = the default profile
	Input       json.RawMessage // JSON Schema of its input; nil = no input
	Limits      profiles.Limits // besides the profile's: the smaller one counts
	Description string
	Pos         settings.Position

	glob *pattern.Pattern
}

// Covers reports whether the rule is about the program at that path below the root.
func (s *Script) Covers(name string) bool {
	if s.File != "" {
		return name == s.File
	}
	return fs.ValidPath(name) && path.Dir(name) == s.Folder && s.glob.Match(path.Base(name))
}

var hash = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (b *builder) scripts(n strictjson.Value) {
	s := &Scripts{Pos: b.Position(n.KeyOffset())}
	ok := b.Object(n, `"scripts"`, []settings.Field{
		settings.Key("root", func(n strictjson.Value) { s.Root, _ = b.Text(n, `"root"`) }),
		settings.Key("allow", func(n strictjson.Value) {
			for child := range b.Elements(n, `"allow"`, true) {
				if x, ok := b.script(child); ok {
					s.Allow = append(s.Allow, x)
				}
			}
		}),
	})
	if ok && settings.Member(n, "root").Kind() == strictjson.Missing {
		b.Wrong(n, `write {"root": "scripts", "allow": [...]}`,
			`"scripts" needs a root: the folder that the saved programs are in`)
	}
	if b.outOfPlace(n, b.base != nil && b.base.Scripts != nil) {
		return
	}
	b.config.Scripts = s
}

func (b *builder) script(n strictjson.Value) (s Script, ok bool) {
	s.Pos = b.Position(n.Offset())
	ok = b.Object(n, "an allowed script", []settings.Field{
		settings.Key("file", func(n strictjson.Value) { s.File = b.below(n, `"file"`) }),
		settings.Key("sha256", func(n strictjson.Value) {
			word, ok := b.Text(n, `"sha256"`)
			if s.SHA256 = strings.ToLower(strings.TrimPrefix(word, "sha256:")); ok && !hash.MatchString(s.SHA256) {
				b.Wrong(n, "sha256sum FILE prints it", `"sha256" must be the 64 hexadecimal digits of the file's SHA-256`)
			}
		}),
		settings.Key("folder", func(n strictjson.Value) { s.Folder = b.below(n, `"folder"`) }),
		settings.Key("pattern", func(n strictjson.Value) {
			if text, ok := b.Text(n, `"pattern"`); ok {
				s.Pattern, s.glob = text, pattern.Read(b.Reader, n, pattern.ParseName)
			}
			if strings.Contains(s.Pattern, "/") {
				b.Wrong(n, `name the folder in "folder"`, `"pattern" is about the names of files, which have no "/"`)
			}
		}),
		settings.Key("profile", func(n strictjson.Value) {
			s.Profile, _ = b.profileNamed(n, `"profile"`)
			b.scriptProfiles = append(b.scriptProfiles, n)
		}),
		settings.Key("input", func(n strictjson.Value) {
			if n.Kind() != strictjson.Object && n.Kind() != strictjson.True {
				b.Wrong(n, `write {"type": "object", "properties": {...}}, or true for any input`,
					`"input" must be a JSON Schema, this is %s`, n.Kind())
				return
			}
			b.UniqueBelow(n)
			s.Input = settings.Source(n)
		}),
		settings.Key("limits", func(n strictjson.Value) { s.Limits = b.Limits(n, `"limits"`) }),
		settings.Key("description", func(n strictjson.Value) { s.Description, _ = b.Text(n, `"description"`) }),
	})
	if !ok {
		return s, false
	}
	has := func(key string) bool { return settings.Member(n, key).Kind() != strictjson.Missing }
	switch {
	case has("file") == has("folder"):
		b.Wrong(n, `write {"file": "report.ts", "sha256": "..."} or {"folder": "reports", "pattern": "*.ts"}`,
			"an allowed script is either a file or a folder")
	case has("file") && !has("sha256"):
		b.Wrong(n, "sha256sum FILE prints it; or allow a folder, whose files may change",
			"a file is allowed with the SHA-256 of its content")
	case has("folder") && !has("pattern"):
		b.Wrong(n, `write "pattern": "*.ts"`, "a folder is allowed with a pattern for the names of its files")
	case has("file") && has("pattern"), has("folder") && has("sha256"):
		b.Wrong(n, `"sha256" belongs to "file", "pattern" to "folder"`, "an allowed script is either a file or a folder")
	}
	if !has("profile") {
		b.scriptsWithout = append(b.scriptsWithout, n)
	}
	return s, true
}

// below reads a path inside the root. A path has only one spelling, so that a rule means one file.
func (b *builder) below(n strictjson.Value, what string) string {
	text, ok := b.Text(n, what)
	if !ok {
		return ""
	}
	clean := path.Clean(text)
	switch {
	case strings.HasPrefix(text, "/") || strings.Contains(text, `\`) || clean == ".." || strings.HasPrefix(clean, "../"):
		b.Wrong(n, `it is relative to "root" and has slashes, such as "reports/weekly.ts"`, "%s must be inside the root",
			what)
	case clean != text:
		b.Wrong(n, fmt.Sprintf("write %q", clean), "%s must be written in the shortest way", what)
	}
	return text
}

// finishScripts checks what depends on the profiles.
func (b *builder) finishScripts() {
	for _, n := range b.scriptProfiles {
		if n.Kind() == strictjson.String && n.Text() != "" {
			b.known(n, `"profile"`)
		}
	}
	for _, n := range b.scriptsWithout {
		if b.defaultAt.Kind() == strictjson.Missing && (b.base == nil || b.base.Default == "") {
			b.Wrong(n, `write "profile": "...", or set "defaultProfile"`, "no profile says what this script may do")
		}
	}
}
