package config

import "github.com/codemode-project/codemode/profiles"

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
