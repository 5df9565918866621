package profiles

import (
	"fmt"
	"slices"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// A Written profile is one profile as written in the file, before extends and floor.
type Written struct {
	Name   string
	Pos    settings.Position
	Source []byte // of the deciding keys, as standard JSON
	Lists  [3][]*Rule
	Has    [3]bool // the list exists, perhaps empty

	Common
	Fallback         *call.Verdict      `key:"elicitationFallback" words:"deny allow"`
	Parents          []strictjson.Value `key:"extends" form:"name" min:"1" each:"the name of a parent profile"`
	Ask              Asking             `key:"ask"`
	Remembered       remembered         `key:"remember"`
	Redact           Redact             `key:"redact" firm:"yes"`
	Raise            raised             `key:"raise"`
	Shadow           strictjson.Value   `key:"shadow" form:"name"`
	KeepResults      *bool              `key:"keepResults"`
	Sessions         *bool              `key:"sessions"`
	RequirePreflight bool               `key:"requirePreflight"`
	Prompts          Patterns           `key:"prompts"`
	Resources        Patterns           `key:"resources"`

	Depth int        // of its extends: 0 = none
	Chain []*Written // its ancestors and itself, ancestors first, each once
	State int        // of the search for cycles: unvisited, in progress, done
}

// Common are the keys that profiles and overlays have.
type Common struct {
	Allowlist strictjson.Value `key:"allowlist"`
	Denylist  strictjson.Value `key:"denylist"`
	Asklist   strictjson.Value `key:"asklist"`
	Unmatched *call.Verdict    `key:"unmatched" words:"deny ask allow"`
	Limits    Limits           `key:"limits"`
}

// Read reads a profile.
func Read(b *settings.Reader, n strictjson.Value) *Written {
	w := &Written{Name: n.Key(), Source: deciding(b, n), Pos: b.Position(n.KeyOffset())}
	b.Decode(n, "a profile", w)
	w.Parents = slices.DeleteFunc(w.Parents, func(n strictjson.Value) bool { return n.Kind() == strictjson.Missing })
	ReadLists(b, w)
	return w
}

// ReadLists reads the rules of a profile whose keys were read.
func ReadLists(b *settings.Reader, w *Written) {
	for l, at := range [...]strictjson.Value{Denylist: w.Denylist, Asklist: w.Asklist, Allowlist: w.Allowlist} {
		if w.Has[l] = at.Kind() != strictjson.Missing; w.Has[l] {
			w.Lists[l] = readRules(b, at, List(l), w.Name)
		}
	}
}

// deciding is the text of a profile without the keys that change no decision: approvals under a profile stay valid when
// somebody changes its shadow.
func deciding(b *settings.Reader, n strictjson.Value) []byte {
	var source []byte
	for child := range settings.Children(n) {
		if child.Key() != "shadow" {
			source = append(source, b.Src[child.KeyOffset():child.KeyEnd()]...)
			source = append(append(append(source, ':'), child.Compact()...), ',')
		}
	}
	return source
}

// The keys of "raise" make a call stricter regardless of the rules. Hints that make a tool look harmless are not among
// them.
var raisers = []string{"destructiveHint", "openWorldHint", "tainted", "approval"}

// raised is the key "raise".
type raised map[string]call.Verdict

// ReadKey reads the value of the key.
func (x *raised) ReadKey(r *settings.Reader, n strictjson.Value, what string, _ *settings.Spec) {
	*x = raised{}
	var fields []settings.Field
	for _, name := range raisers {
		fields = append(fields, settings.Key(name, func(n strictjson.Value) {
			(*x)[name] = r.Verdict(n, fmt.Sprintf("%q", name), "ask", "deny")
		}))
	}
	r.Object(n, what, fields)
}
