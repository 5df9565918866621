package process

import (
	"encoding/json"
	"io/fs"
	"path"
	"strings"

	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/profiles"
)

// Scripts are the saved programs that callers may run by name. No program or model can add one: only a program that a
// person put into the folder and named here may run.
type Scripts struct {
	// The folder they are in, relative to this file.
	Root  string   `key:"root" need:"write {'root': 'scripts', 'allow': [...]}"`
	Allow []Script `key:"allow" each:"an allowed script"` // Which of them may be run.

	Pos settings.Position
}

// A Script allows one saved program, or those of a folder. Only the files of the folder itself count, and not those of
// its subfolders.
type Script struct {
	File        string          `key:"file" form:"below"`    // Path below the root.
	SHA256      string          `key:"sha256" form:"sha256"` // Of the file's content.
	Folder      string          `key:"folder" form:"below"`  // Path below the root, "." for the root itself.
	Pattern     string          `key:"pattern"`              // Of the names of its files.
	Profile     string          `key:"profile" form:"named"` // What it runs under; the default profile if left out.
	Description string          `key:"description"`
	Limits      profiles.Limits `key:"limits"`
	// JSON Schema of its input; without it the program takes none.
	Input json.RawMessage `key:"input" schema:"{'anyOf': [{'type': 'object'}, {'const': true}]}"`

	Pos  settings.Position
	glob *match.Pattern
}

// Covers reports whether the rule is about the program at that path below the root.
func (s *Script) Covers(name string) bool {
	if s.File != "" {
		return name == s.File
	}
	return fs.ValidPath(name) && path.Dir(name) == s.Folder && s.glob.Match(path.Base(name))
}

// Check reports a script that is neither a file nor a folder.
func (s *Script) Check(r *settings.Reader, n strictjson.Value, _ string) {
	s.Pos = r.Position(n.Offset())
	s.SHA256 = strings.ToLower(strings.TrimPrefix(s.SHA256, "sha256:"))
	if s.Pattern != "" {
		s.glob = match.ReadPattern(r, settings.Member(n, "pattern"), match.ParseName)
	}
	if strings.Contains(s.Pattern, "/") {
		r.Wrong(settings.Member(n, "pattern"), `name the folder in "folder"`,
			`"pattern" is about the names of files, which have no "/"`)
	}
	in := settings.Member(n, "input")
	if s.Input != nil && in.Kind() != strictjson.Object && in.Kind() != strictjson.True {
		r.Wrong(in, `write {"type": "object", "properties": {...}}, or true for any input`,
			`"input" must be a JSON Schema, this is %s`, in.Kind())
	}
	has := func(key string) bool { return settings.Member(n, key).Kind() != strictjson.Missing }
	switch {
	case has("file") == has("folder"):
		r.Wrong(n, `write {"file": "report.ts", "sha256": "..."} or {"folder": "reports", "pattern": "*.ts"}`,
			"an allowed script is either a file or a folder")
	case has("file") && !has("sha256"):
		r.Wrong(n, "sha256sum FILE prints it; or allow a folder, whose files may change",
			"a file is allowed with the SHA-256 of its content")
	case has("folder") && !has("pattern"):
		r.Wrong(n, `write "pattern": "*.ts"`, "a folder is allowed with a pattern for the names of its files")
	case has("file") && has("pattern"), has("folder") && has("sha256"):
		r.Wrong(n, `"sha256" belongs to "file", "pattern" to "folder"`, "an allowed script is either a file or a folder")
	}
}

// Schema is what its JSON Schema has besides the keys.
func (Script) Schema() string {
	return `"oneOf": [{"required": ["file", "sha256"]}, {"required": ["folder", "pattern"]}],
		"dependentRequired": {"sha256": ["file"], "pattern": ["folder"]}`
}
