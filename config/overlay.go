package config

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/config/process"
	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/profiles"
)

// An Overlay narrows what some runs may do, no matter what their profile says. In the file it is an entry of
// evaluation.overlays:
//
//	{ "id": "contractor",                       // how it is called in reasons; required
//	  "principal": "sha256:9c1e...",            // who runs: a session, a role, or a principal by name or token;
//	  "program": ["sha256:41af...", "weekly"],  // which programs: digests or names of saved ones
//	  "folder": "reports",                      // or all saved programs in a folder
//	  "tool": "github__*",                      // which tools its rules are about; absent = all
//	  "until": "2026-12-01T00:00:00Z",          // then it is over; absent = it stays
//	  "profile": "readonly",                    // a profile that has to agree as well,
//	  "allowlist": ["github__get_*"],           // and rules of its own
//	  "limits": { "calls": 20 } }
//
// All its selectors must match, and it must select something besides tools: rules for everybody belong in a floor. The
// overlay and the profile decide independently, and the stricter verdict counts, so that lists intersect. The smaller
// limit counts. Nothing in an overlay can loosen anything. Its ask rules ask each time.
type Overlay struct {
	ID        string            `json:"id" key:"id"`
	Session   string            `json:"session,omitempty" key:"session"`
	Principal string            `json:"principal,omitempty" key:"principal"` // see [Fingerprint]
	Role      string            `json:"role,omitempty" key:"role"`
	Programs  []string          `json:"program,omitempty" key:"program" single:"yes" min:"1"`
	Folders   []string          `json:"folder,omitempty" key:"folder" single:"yes" min:"1"`
	Tools     []string          `json:"tool,omitempty"`
	Until     time.Time         `json:"until,omitzero" key:"until"`
	Profile   string            `json:"profile,omitempty" key:"profile"`
	Pos       settings.Position `json:"-"`

	tools  []*match.Pattern
	layers []*profiles.Layer // the layers that it adds to profiles
}

// A writtenOverlay is an overlay as written in the file, before the profiles are known.
type writtenOverlay struct {
	*Overlay
	rules *profiles.Written // nil = no rules of its own
	named strictjson.Value  // position of the profile's name
}

// A Subject says who runs a program and which program it is, if known. Overlays select by it.
//
// Every field must come from the server's own knowledge, never from a caller's argument: with an empty field, a caller
// escapes the overlays that select by it.
type Subject struct {
	Session   string // the id of the MCP session, or of one made for a role
	Principal string // the caller, or the fingerprint of their token
	Token     string // the fingerprint of the caller's token, if Principal is something else
	Role      string // the role of the session
	Program   string // the digest of the program's text: sha256:...
	Script    string // the name of the saved program with slashes, "" for other programs
}

// Fingerprint represents a caller's token in overlays and in the record: it identifies the caller and is useless as a
// token.
func Fingerprint(token string) string { return process.Fingerprint(token) }

// Layers are the rules of the overlay as layers: its own, and those of the profile that it names.
func (o *Overlay) Layers() []*profiles.Layer { return o.layers }

func (o *Overlay) lasts(now time.Time) bool {
	return o.Until.IsZero() || now.IsZero() || now.Before(o.Until)
}

// about reports whether all selectors of the overlay match.
func (o *Overlay) about(s Subject) bool {
	fits := func(want, is string) bool { return want == "" || want == is }
	principal := fits(o.Principal, s.Principal) || fits(o.Principal, s.Token)
	return principal && fits(o.Session, s.Session) && fits(o.Role, s.Role) && o.runs(s)
}

func (o *Overlay) runs(s Subject) bool {
	if len(o.Programs) == 0 && len(o.Folders) == 0 {
		return true
	}
	for _, p := range o.Programs {
		if p == s.Program || p == s.Script {
			return true
		}
	}
	script := path.Clean("/" + s.Script)
	return slices.ContainsFunc(o.Folders, func(folder string) bool {
		return strings.HasPrefix(script, strings.TrimSuffix(path.Clean("/"+folder), "/")+"/") && s.Script != ""
	})
}

// moreSpecific orders overlays: one session before one principal before a role, then one program before a folder of
// programs, then some tools before all.
func moreSpecific(a, b *Overlay) int {
	return cmp.Or(slices.Compare(b.specificity(), a.specificity()), strings.Compare(a.ID, b.ID))
}

func (o *Overlay) specificity() []int {
	has := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return []int{
		has(o.Session != ""), has(o.Principal != ""), has(o.Role != ""),
		has(o.Programs != nil), has(o.Folders != nil), has(o.Tools != nil),
	}
}
