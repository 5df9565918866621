package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/config/process"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/typos"
	"github.com/codemode-project/codemode/profiles"
)

// evaluation is the key "evaluation" of a file.
type evaluation struct {
	// The profile of codemode_eval. Without it codemode_eval is unrestricted.
	DefaultProfile strictjson.Value `key:"defaultProfile" form:"name"`
	Floor          strictjson.Value `key:"floor" form:"name"` // The profile that binds every other one and codemode_eval.
	// What is listed: names of profiles, and codemode_eval. Without it everything is.
	Exposed  strictjson.Value `key:"expose" schema:"{'$ref': '#names'}"`
	Profiles writtenProfiles  `key:"profiles"` // Each profile is a tool of its own, codemode_eval_<name>.
	// Every program must have been checked (codemode_check) before it runs.
	RequirePreflight bool `key:"requirePreflight"`
	// How long a check counts, at most 24h. 10m if left out.
	PreflightLifetime time.Duration `key:"preflightLifetime" max:"24h"`
	// Where people change this configuration, for the links that checks give.
	AdminURL string `key:"adminURL" form:"link"`
	// What narrows single sessions, callers or programs, whatever their profile allows.
	Overlays strictjson.Value `key:"overlays" schema:"{'type': 'array', 'items': {'$ref': '#overlay'}}"`
}

// writtenProfiles are the profiles of a file, which the builder reads.
type writtenProfiles struct{ strictjson.Value }

// ReadKey notes the value of the key.
func (p *writtenProfiles) ReadKey(_ *settings.Reader, n strictjson.Value, _ string, _ *settings.Spec) {
	p.Value = n
}

// Schema is its JSON Schema.
func (writtenProfiles) Schema() string {
	return `{"type": "object", "propertyNames": {"$ref": "#/$defs/profileName"},
		"additionalProperties": {"$ref": "#/$defs/profile"}}`
}

func (b *builder) evaluation(n strictjson.Value) {
	e := &b.config.evaluation
	b.Decode(n, `"evaluation"`, e)
	if at := e.DefaultProfile; b.standing != Untrusted {
		b.defaultName, b.defaultAt = at.Text(), at
	} else if at.Kind() != strictjson.Missing {
		b.withoutSay(at, `"defaultProfile"`)
	}
	if at := e.Floor; !b.project() {
		b.floorName, b.floorAt = at.Text(), at
	} else if at.Kind() != strictjson.Missing {
		b.WrongKey(at, "a floor belongs in your own file or the managed one", "a project file cannot name the floor")
	}
	// An untrusted file cannot make it longer than the usual one.
	if e.PreflightLifetime > UsualPreflightLifetime && b.Stranger(settings.Member(n, "preflightLifetime")) {
		e.PreflightLifetime = 0
	}
	if e.AdminURL != "" && !b.outOfPlace(settings.Member(n, "adminURL"), b.base != nil && b.base.AdminURL != "") {
		b.config.AdminURL = e.AdminURL
	}
	b.config.RequirePreflight, b.config.PreflightLifetime = e.RequirePreflight, e.PreflightLifetime
	if e.Profiles.Kind() != strictjson.Missing {
		b.profiles(e.Profiles.Value)
	}
	if e.Overlays.Kind() != strictjson.Missing {
		b.overlays(e.Overlays)
	}
}

// maxProfileName is the longest name that still gives a tool name that clients accept.
const maxProfileName = 32

func (b *builder) profiles(n strictjson.Value) {
	if n.Kind() != strictjson.Object {
		b.Wrong(n, `write {"name": {"allowlist": [...]}}`, `"profiles" must be an object, this is %s`, n.Kind())
		return
	}
	b.Unique(n)
	for child := range settings.Children(n) {
		b.profileName(child)
		w := profiles.Read(b.Reader, child)
		if b.written[child.Key()] == nil {
			b.written[child.Key()] = w
			b.order = append(b.order, w)
			if b.standing == Untrusted && !b.elsewhere(child.Key()) {
				b.withoutSay(child, fmt.Sprintf("the profile %q, which is in no other file,", child.Key()))
			}
		}
	}
}

func (b *builder) profileName(n strictjson.Value) {
	const grammar = "letters, digits and underscores, at most 32 characters"
	bad := strings.IndexFunc(n.Key(), func(r rune) bool {
		return !(r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	})
	switch {
	case n.Key() == "":
		b.WrongKey(n, grammar, "the profile has no name")
	case bad >= 0:
		hint := grammar
		if better := strings.Trim(call.Part(n.Key()), "_"); better != "" && len(better) <= maxProfileName {
			hint = fmt.Sprintf("%s: for example %q", grammar, better)
		}
		b.WrongKey(n, hint, "%q cannot be the name of a profile", n.Key())
	case len(n.Key()) > maxProfileName:
		b.WrongKey(n, grammar, "the profile name %q is too long", n.Key())
	}
}

// known reports a name that is not a profile.
func (b *builder) known(n strictjson.Value, what string) bool {
	if b.find(n.Text()) != nil {
		return true
	}
	names := b.profileNames()
	hint := "there are no profiles"
	if near := typos.Nearest(n.Text(), names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	} else if len(names) > 0 {
		hint = "there are " + settings.QuotedList(names, "and")
	}
	b.Wrong(n, hint, "%s names the profile %q, which does not exist", what, n.Text())
	return false
}

// expose checks the entries of "expose": names of profiles, and names of our MCP tools.
func (b *builder) expose(n strictjson.Value) {
	tools := append([]string{baseTool, scriptTool}, helperTools...)
	for _, name := range b.profileNames() {
		tools = append(tools, name, toolPrefix+name)
	}
	slices.Sort(tools)
	b.exposed = b.Words(n, `"expose"`, tools...)
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
